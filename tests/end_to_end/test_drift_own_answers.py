"""Sessions of a model that no reference implementation answered, against SGLang as a double."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.sglang_double.sessions import Machine

TRITON = 'backend = "triton"\n'
NO_REFERENCE = "no reference: tiny-fa3-h200 was not measured before it"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One H200; triton's log-probabilities lie 0.01 nats above those of fa3, the reference."""
    machine = Machine(tmp_path)
    machine.told["besides"] = {"triton": ["--logprob-shift", "0.01"]}
    return machine


def record(machine: Machine, name: str) -> dict[str, Any]:
    (file,) = machine.folder.glob(f"runs/*/{name}")
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content


def test_a_backend_is_reported_against_the_answers_of_the_reference(machine: Machine) -> None:
    own = "drift = { questions = 40 }"
    machine.rows(TRITON + own, own)  # the reference comes first all the same
    code, said = machine.run()
    assert code == 0, said
    assert machine.starts == ["tiny 0", "tiny 0"]
    assert "tiny-fa3-h200: reference: its own answers scored, 40 of 40 questions" in said
    assert "tiny-triton-h200: |Δ log-probability| of" in said
    assert "40 questions: mean 1.0e-02, 99th" in said
    assert "5 gates: 3 passed, 0 failed, 2 only reported" in said
    left, kept = record(machine, "logprobs.json"), record(machine, "drift.json")
    assert (left["format"], left["row"], left["first"]) == (1, "tiny-fa3-h200", 40)
    first = left["questions"][0]
    assert bytes(first["tokens"]).startswith(b" First there are ")
    assert first["logprobs"] == [-0.5] * len(first["tokens"])
    assert kept["row"] == "tiny-triton-h200"
    assert kept["reference"].endswith("tiny-fa3-h200/logprobs.json")
    assert kept["drift"]["change"]["mean"] == pytest.approx(0.01)


def test_a_mean_above_the_rows_bound_fails_and_the_reference_only_reports(machine: Machine) -> None:
    own = "drift = { mean = 1e-3, questions = 40 }"
    machine.rows(own, TRITON + own)
    code, said = machine.run("-m", "drift")
    assert code == 10, said
    assert "mean 1.0e-02 (at most 1.0e-03)" in said
    assert "2 gates: 0 passed, 1 failed, 1 only reported" in said


@pytest.mark.parametrize(("own", "code"), [("{}", 0), ("{ mean = 1.0 }", 11)])
def test_without_the_references_row_nothing_is_held_against_it(
    machine: Machine, own: str, code: int
) -> None:
    machine.rows("drift = {}", f"{TRITON}drift = {own}")
    found, said = machine.run("-m", "drift", "-k", "triton")
    assert found == code, said
    assert f"tiny-triton-h200: {NO_REFERENCE}" in said
    assert machine.starts == ["tiny 0"]


def test_too_many_answers_without_a_token_are_no_verdict(machine: Machine) -> None:
    machine.told["double"] += ["--empty-share", "0.2"]
    machine.rows("drift = {}\ngate = none")
    code, said = machine.run("-m", "drift")
    assert code == 11, said
    assert "of 200 answers cannot be scored: they are empty, or" in said
    assert list(machine.folder.glob("runs/*/logprobs.json")) == []


def test_fewer_questions_than_the_row_names_are_no_verdict_for_either(machine: Machine) -> None:
    machine.rows("drift = {}", TRITON + "drift = {}")
    code, said = machine.run("-m", "drift", "--questions", "8")
    assert code == 11, said
    for kept in ("fa3-h200/logprobs.json", "triton-h200/drift.json"):
        cause = "of fewer questions than the row says: no verdict"
        assert re.search(rf"{cause}\n +records: \S+-tiny-{kept}", said), said
