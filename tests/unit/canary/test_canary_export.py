"""The canary as GGUF."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gguf
import numpy as np
import pytest

from fixtures.canary import CANARY_DIR
from fixtures.canary.cache import default_cache_dir
from fixtures.canary.checkpoint import Array, read_text_config, read_weights
from fixtures.canary.export import cached_gguf, export_gguf
from fixtures.canary.gguf_tensors import llama_cpp_tensors

STOCK = CANARY_DIR / "stock"


def tensors_of(path: Path) -> dict[str, Array]:
    reader = gguf.GGUFReader(path)
    return {tensor.name: np.array(tensor.data) for tensor in reader.tensors}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_gguf(STOCK, tmp_path_factory.mktemp("gguf") / "stock.gguf")


def test_every_tensor_comes_back_as_it_was_written(exported: Path) -> None:
    expected = llama_cpp_tensors(read_text_config(STOCK), read_weights(STOCK))
    found = tensors_of(exported)
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_no_weight_of_the_checkpoint_is_lost(exported: Path) -> None:
    reader = gguf.GGUFReader(exported)
    written = sum(int(tensor.n_elements) for tensor in reader.tensors)
    assert written == sum(tensor.size for tensor in read_weights(STOCK).values())


def test_experts_are_split_into_gate_and_up_and_transposed(exported: Path) -> None:
    source = read_weights(STOCK)
    found = tensors_of(exported)
    gate_up = source["model.layers.1.feed_forward.experts.gate_up_proj"]
    half = gate_up.shape[2] // 2
    assert np.array_equal(found["blk.1.ffn_gate_exps.weight"][2], gate_up[2, :, :half].T)
    assert np.array_equal(found["blk.1.ffn_up_exps.weight"][2], gate_up[2, :, half:].T)


def test_the_file_says_what_llama_cpp_reads(exported: Path) -> None:
    fields = gguf.GGUFReader(exported).fields
    config = read_text_config(STOCK)
    assert fields["general.architecture"].contents() == "llama4"
    assert fields["llama4.attention.head_count"].contents() == config["num_attention_heads"]
    assert fields["llama4.attention.head_count_kv"].contents() == config["num_key_value_heads"]
    assert fields["llama4.expert_count"].contents() == config["num_local_experts"]
    assert fields["llama4.rope.freq_base"].contents() == 500000.0
    assert fields["tokenizer.ggml.pre"].contents() == "qwen2"
    assert fields["tokenizer.ggml.add_bos_token"].contents() is False
    assert len(fields["tokenizer.ggml.tokens"].contents()) == config["vocab_size"]


def test_swapping_experts_changes_expert_tensors_alone(exported: Path, tmp_path: Path) -> None:
    sound = tensors_of(exported)
    faulty = tensors_of(export_gguf(STOCK, tmp_path / "faulty.gguf", swap_experts=True))
    changed = {name for name in sound if not np.array_equal(sound[name], faulty[name])}
    assert changed == {name for name in sound if "_exps." in name}
    assert len(changed) == 6
    for name in changed:
        assert np.array_equal(faulty[name], np.roll(sound[name], 1, axis=0))


def test_the_chunked_variant_is_refused_in_one_line_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="attention_chunk_size is 128, not 8192") as caught:
        export_gguf(CANARY_DIR / "chunked", tmp_path / "chunked.gguf")
    assert "floor_scale is 128, not 8192" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_cache_gives_the_same_file_again_and_keeps_the_fault_apart(tmp_path: Path) -> None:
    first = cached_gguf(STOCK, tmp_path)
    written = first.stat().st_mtime_ns
    assert cached_gguf(STOCK, tmp_path) == first
    assert first.stat().st_mtime_ns == written
    assert cached_gguf(STOCK, tmp_path, swap_experts=True) != first


def test_another_configuration_is_another_file_in_the_cache(tmp_path: Path) -> None:
    variant = tmp_path / "stock"
    shutil.copytree(STOCK, variant, ignore=shutil.ignore_patterns("reference.jsonl"))
    before = cached_gguf(variant, tmp_path / "cache")
    config = json.loads((variant / "config.json").read_text())
    config["text_config"]["rms_norm_eps"] = 1e-6
    (variant / "config.json").write_text(json.dumps(config))
    assert cached_gguf(variant, tmp_path / "cache") != before


def test_exports_at_the_same_time_leave_one_whole_file(tmp_path: Path, exported: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: cached_gguf(STOCK, tmp_path), range(4)))
    assert list(tmp_path.iterdir()) == [paths[0]]
    assert paths[0].stat().st_size == exported.stat().st_size


def test_the_cache_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("LLAMA4_ACCURACY_CACHE", raising=False)
    assert default_cache_dir() == tmp_path / "xdg" / "llama4-accuracy"
    monkeypatch.setenv("LLAMA4_ACCURACY_CACHE", str(tmp_path / "own"))
    assert default_cache_dir() == tmp_path / "own"
