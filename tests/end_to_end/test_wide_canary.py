"""The widened canary under real llama.cpp: 40 and 8 heads, and stock's answers."""

import json
from pathlib import Path

import pytest

from fixtures.canary.checkpoint import read_text_config
from tests.canary_rows import CANARY, matrix
from tests.sessions import run_session

pytest.importorskip("xllamacpp")

QUESTIONS = 24


def test_its_texts_are_those_of_stocks_reference(tmp_path: Path) -> None:
    options = (*matrix(tmp_path, "fa_off"), "--questions", str(QUESTIONS))
    file = tmp_path / "matrix.toml"
    file.write_text(file.read_text().replace("path =", "attention_copies = 8\npath ="))
    cache = tmp_path / "cache"
    environment = {"LLAMA4_ACCURACY_CACHE": str(cache)}
    session = run_session(*options, runs_dir=tmp_path / "runs", environment=environment)
    assert session.exit_code == 11  # a partial run
    (folder,) = (path for path in cache.iterdir() if path.is_dir())
    assert read_text_config(folder)["num_key_value_heads"] == 8
    assert Path(session.run.about["server"]["facts"]["model_path"]).name.startswith(
        f"canary-{folder.name}-"
    )
    lines = (CANARY / "reference.jsonl").read_text("utf-8").splitlines()
    wanted = {row["id"]: row["text"].rstrip() for row in map(json.loads, lines)}
    answers = session.run.answers
    assert len(answers) == QUESTIONS
    same = [answer for answer in answers if answer["text"].rstrip() == wanted[answer["id"]]]
    assert len(same) >= QUESTIONS - 1  # the order of summation may tip one
