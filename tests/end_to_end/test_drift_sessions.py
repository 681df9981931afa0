"""Sessions that hold log-probabilities against a reference's: llama.cpp, and SGLang as a double."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evals.drift import TokenLogprobs
from fixtures.canary.logprobs import write_logprobs
from tests.canary_rows import BODY, CANARY, HEAD
from tests.sessions import run_session
from tests.sglang_double.sessions import Machine

QUESTIONS = 1319
ANSWER = TokenLogprobs((314, 1023, 281), (-0.5, -0.25, -0.125))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One H200 whose canary has a reference, which its server repeats to the digit."""
    machine = Machine(tmp_path)
    file = tmp_path / "tiny" / "logprobs.npz"
    write_logprobs(file, [ANSWER] * QUESTIONS)
    shutil.copy(CANARY / "reference.jsonl", file.parent)
    machine.told["double"] += ["--logprobs", str(file)]
    machine.rows("drift = { mean = 1e-3, questions = 40 }")
    return machine


def record(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("runs/*/drift.json")
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content


def test_a_server_that_gives_the_references_log_probabilities_passes(machine: Machine) -> None:
    code, said = machine.run("-m", "drift")
    assert code == 0, said
    assert (
        "tiny-fa3-h200: |Δ log-probability| of 120 of 120 tokens of 40 questions: mean 0.0e+00 "
        "(at most 1.0e-03)" in said
    )
    assert "no text parts" in said
    assert record(machine.folder)["outcome"] == "pass"


def test_a_mean_above_the_bound_fails(machine: Machine) -> None:
    machine.told["double"] += ["--logprob-shift", "0.01"]
    code, said = machine.run("-m", "drift")
    assert code == 10, said
    assert "mean 1.0e-02 (at most 1.0e-03)" in said
    assert "too far from the reference" in said
    kept = record(machine.folder)
    assert kept["outcome"] == "fail"
    assert kept["drift"]["change"]["mean"] == pytest.approx(0.01)
    assert kept["questions"][39] == {
        "id": "test-0039",
        "parts_at": None,
        "logprobs": pytest.approx([-0.49, -0.24, -0.115]),
    }


def test_without_a_bound_it_is_reported_whatever_it_is(machine: Machine) -> None:
    machine.rows("drift = { questions = 40 }")
    machine.told["double"] += ["--logprob-shift", "0.01"]
    code, said = machine.run("-m", "drift")
    assert code == 0, said
    assert "mean 1.0e-02, 99th" in said
    assert "1 gate: 0 passed, 0 failed, 1 only reported" in said


def test_other_tokens_than_were_sent_are_no_verdict(machine: Machine) -> None:
    machine.told["double"] += ["--other-tokens"]
    code, said = machine.run("-m", "drift")
    assert code == 11, said
    assert "log-probabilities of other tokens than it was sent" in said
    assert list(machine.folder.glob("runs/*/drift.json")) == []


def test_fewer_questions_than_the_row_names_are_no_verdict(machine: Machine) -> None:
    code, said = machine.run("-m", "drift", "--questions", "8")
    assert code == 11, said
    assert "of 8 questions" in said
    assert "fewer questions than the row" in said


def test_a_damaged_reference_is_no_verdict(machine: Machine) -> None:
    (machine.folder / "tiny" / "logprobs.npz").rename(machine.folder / "elsewhere.npz")
    (machine.folder / "tiny" / "logprobs.npz").write_text("none")
    machine.told["double"][-1] = str(machine.folder / "elsewhere.npz")
    code, said = machine.run("-m", "drift")
    assert code == 11, said
    assert "logprobs.npz is no file of log-probabilities" in said


@pytest.mark.parametrize(("swap_experts", "code"), [(False, 0), (True, 10)])
def test_llama_cpp_is_near_the_reference_unless_its_experts_are_swapped(
    tmp_path: Path, swap_experts: bool, code: int
) -> None:
    row = BODY.format(backend="fa_off", swap_experts=str(swap_experts).lower())
    (tmp_path / "matrix.toml").write_text(HEAD + row + "drift = { mean = 1e-5, questions = 20 }\n")
    options = ("-m", "drift and cpu", f"--matrix={tmp_path / 'matrix.toml'}")
    session = run_session(*options, runs_dir=tmp_path / "runs")
    assert session.exit_code == code, session.output
    kept = record(tmp_path)
    assert (kept["drift"]["change"]["mean"] > 1e-3) == swap_experts
    assert (kept["drift"]["parted"] > 10) == swap_experts
    assert (kept["drift"]["tokens"] < kept["drift"]["of"]) == swap_experts


def test_a_reference_that_answered_other_prompts_is_no_measure_of_the_model(
    machine: Machine,
) -> None:
    machine.rows("drift = { mean = 1e-3, questions = 40 }\nshots = 3\nreference_texts = 1319")
    code, said = machine.run()
    assert code == 11, said
    assert "tiny-fa3-h200  PASS" in said
    told = "reference.jsonl answers other prompts than were asked (other questions, shots or"
    assert said.count(f"{told} protocol): test-0000 and 1318 more") >= 2
    assert list(machine.folder.glob("runs/*/drift.json")) == []
