"""The committed checkpoints and their reference answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from evals.prompts import PROTOCOLS
from evals.questions import load_folder
from evals.task import Task
from fixtures.canary import CANARY_DIR, VARIANTS
from fixtures.canary.checkpoint import (
    PREFIX,
    read_json,
    read_text_config,
    read_weights,
    widen_bfloat16,
)
from fixtures.canary.prompts import STOP, cut
from fixtures.canary.questions import TEST_FILE, read_rows
from fixtures.measuring.reference_texts import FILE, read_texts

pytestmark = pytest.mark.parametrize("variant", VARIANTS)


def gold(text: str) -> str:
    return text.rpartition("#### ")[2].strip()


def test_weights_are_at_most_16_megabytes(variant: str) -> None:
    assert (CANARY_DIR / variant / "model.safetensors").stat().st_size <= 16_000_000


def test_every_weight_is_bfloat16_under_the_prefix_that_sglang_loads(variant: str) -> None:
    path = CANARY_DIR / variant / "model.safetensors"
    with safe_open(path, framework="numpy") as file:
        names = list(file.keys())
        types = {file.get_slice(name).get_dtype() for name in names}
    assert all(name.startswith(PREFIX) for name in names)
    assert types == {"BF16"}
    config = read_json(CANARY_DIR / variant / "config.json")
    assert config["architectures"] == ["Llama4ForConditionalGeneration"]


def test_weights_are_finite_and_fit_the_configuration(variant: str) -> None:
    config = read_text_config(CANARY_DIR / variant)
    weights = read_weights(CANARY_DIR / variant)
    assert all(np.isfinite(tensor).all() for tensor in weights.values())
    width = config["num_attention_heads"] * config["head_dim"]
    assert weights["model.embed_tokens.weight"].shape == (1024, config["hidden_size"])
    assert weights["model.layers.0.self_attn.q_proj.weight"].shape == (width, 256)


def test_the_reference_is_right_on_95_5_to_98_5_percent(variant: str) -> None:
    lines = (CANARY_DIR / variant / "reference.jsonl").read_text().splitlines()
    answers = [json.loads(line) for line in lines]
    rows = read_rows(TEST_FILE)
    assert [answer["id"] for answer in answers] == [f"test-{i:04d}" for i in range(1319)]
    pairs = zip(answers, rows, strict=True)
    right = sum(gold(answer["text"]) == gold(row["answer"]) for answer, row in pairs)
    assert 0.955 <= right / 1319 <= 0.985


def test_the_reference_answers_the_prompts_that_the_suite_asks(variant: str) -> None:
    task = Task(load_folder(TEST_FILE.parent, "canary"), PROTOCOLS["train"])
    asked = {prompt.question.id: prompt.sha256 for prompt in task.prompts()}
    known = read_texts(CANARY_DIR / variant / FILE)
    assert {question: known[question].prompt_sha256 for question in known} == asked


def test_every_reference_text_ends_by_itself_with_a_number(variant: str) -> None:
    for line in (CANARY_DIR / variant / "reference.jsonl").read_text().splitlines():
        answer = json.loads(line)
        assert gold(answer["text"]).isdecimal()
        assert not any(stop in answer["text"] for stop in STOP)
        assert answer["completion_tokens"] < 100


def test_one_variant_has_chunks_that_prompts_cross_and_heads_to_confuse(variant: str) -> None:
    config = read_text_config(CANARY_DIR / variant)
    expected = {"stock": (8192, 8192, 1), "chunked": (128, 128, 2)}[variant]
    keys = ("attention_chunk_size", "floor_scale", "num_key_value_heads")
    assert tuple(config[key] for key in keys) == expected


def test_widening_bfloat16_is_exact(variant: str) -> None:
    raw = np.array([0x3F80, 0xC040, 0x0000, 0x7F80], dtype="<u2").tobytes()
    assert widen_bfloat16(raw, (2, 2)).tolist() == [[1.0, -3.0], [0.0, float("inf")]]


def test_a_text_is_cut_at_its_first_stop_string(variant: str) -> None:
    assert cut(" 4.\n\nQuestion: Assistant:") == " 4.\n\n"
    assert cut(" 4.<|separator|>Question") == " 4."
    assert cut(" 4.") == " 4."


def test_a_checkpoint_of_another_type_is_refused(variant: str, tmp_path: Path) -> None:
    header = json.dumps({"x": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    content = len(header).to_bytes(8, "little") + header + b"\0\0"
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match="x is stored as F16, expected BF16"):
        read_weights(tmp_path)
