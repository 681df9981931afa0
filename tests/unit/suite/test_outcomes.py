"""The exit code of a session, from the verdicts of its gates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.verdict import Outcome
from fixtures.measuring.told import VERDICT, VERDICT_FILE
from fixtures.outcomes import Outcomes, resumable

PASS, FAIL, OPEN, REPORT = Outcome.PASS, Outcome.FAIL, Outcome.NO_VERDICT, Outcome.REPORT
OK, FAILED, INTERRUPTED, INTERNAL, USAGE, NONE = range(6)  # pytest's own


def report(
    node: str, outcome: Outcome | None, *, file: str | None = None, when: Any = "call"
) -> pytest.TestReport:
    """What one phase of a test hands over."""
    properties = [] if outcome is None else [(VERDICT, outcome.value)]
    if file is not None:
        properties.append((VERDICT_FILE, file))
    where = ("test_gsm8k.py", 1, node)
    return pytest.TestReport(node, where, {}, "passed", None, when, user_properties=properties)


def outcomes_of(*verdicts: Outcome | None) -> Outcomes:
    outcomes = Outcomes()
    outcomes.expect(str(number) for number in range(len(verdicts)))
    for number, verdict in enumerate(verdicts):
        outcomes.learn(report(str(number), verdict))
    return outcomes


@pytest.mark.parametrize(
    ("verdicts", "own", "code"),
    [
        ((), OK, OK),
        ((), FAILED, FAILED),
        ((), NONE, NONE),
        ((PASS,), OK, OK),
        ((PASS, REPORT), OK, OK),
        ((PASS, PASS), FAILED, FAILED),  # a test that is no gate failed
        ((FAIL,), FAILED, 10),
        ((PASS, FAIL), FAILED, 10),
        ((FAIL, OPEN), FAILED, 10),
        ((OPEN, FAIL), FAILED, 10),
        ((OPEN,), FAILED, 11),
        ((PASS, OPEN), FAILED, 11),
        ((PASS, None), OK, 11),  # skipped
        ((None,), NONE, 11),
        ((None,), INTERRUPTED, INTERRUPTED),
        ((OPEN,), INTERRUPTED, INTERRUPTED),
        ((FAIL,), INTERRUPTED, 10),
        ((OPEN,), INTERNAL, INTERNAL),
        ((FAIL,), INTERNAL, 10),
        ((None,), USAGE, USAGE),
        ((PASS,), INTERRUPTED, INTERRUPTED),
    ],
)
def test_the_exit_code_by_precedence(
    verdicts: tuple[Outcome | None, ...], own: int, code: int
) -> None:
    assert outcomes_of(*verdicts).exit_code(own) == code


def test_a_gate_that_was_selected_and_never_ran_is_open() -> None:
    outcomes = outcomes_of(PASS)
    outcomes.expect(["never ran"])
    assert outcomes.open == ["never ran"]
    assert outcomes.exit_code(OK) == 11


def test_a_server_that_cannot_be_stopped_takes_a_pass_back_but_no_fail() -> None:
    outcomes = outcomes_of(PASS, FAIL)
    for node in ("0", "1"):
        outcomes.learn(report(node, OPEN))
    assert outcomes.open == ["0"]
    assert outcomes.exit_code(FAILED) == 10


def test_a_report_without_a_verdict_changes_none() -> None:
    outcomes = outcomes_of(PASS)
    outcomes.learn(report("0", None))
    assert outcomes.exit_code(OK) == OK


def test_the_session_is_told_in_one_line() -> None:
    told = outcomes_of(PASS, FAIL, OPEN, None).told(FAILED)
    assert told == "4 gates: 1 passed, 1 failed, 2 without a verdict; exit code 10"


@pytest.mark.parametrize(
    ("of_workers", "code"),
    [((OPEN, PASS), 11), ((PASS, OPEN), 11), ((OPEN, FAIL), 10), ((FAIL, PASS), 10)],
)
def test_the_worst_of_several_workers_counts(of_workers: tuple[Outcome, ...], code: int) -> None:
    outcomes = outcomes_of(None)
    for outcome in of_workers:
        outcomes.learn(report("0", outcome))
    assert outcomes.exit_code(FAILED) == code


def test_a_worker_that_crashed_takes_a_pass_back_but_no_fail() -> None:
    outcomes = outcomes_of(PASS, FAIL)
    for node in ("0", "1"):
        outcomes.learn(report(node, None, when="???"))
    assert outcomes.open == ["0"]
    passed_elsewhere = outcomes_of(None)
    passed_elsewhere.learn(report("0", None, when="???"))
    passed_elsewhere.learn(report("0", PASS))
    assert passed_elsewhere.exit_code(FAILED) == 11


def test_reports_are_counted_and_one_gate_is_no_plural() -> None:
    assert outcomes_of(REPORT).told(OK) == (
        "1 gate: 0 passed, 0 failed, 1 only reported, 0 without a verdict; exit code 0"
    )


def test_a_run_without_a_verdict_says_what_is_kept_and_how_to_go_on(tmp_path: Path) -> None:
    assert resumable(tmp_path) is None
    configuration = {"name": "row", "questions": {"asked": 1319}}
    about = {"format": 1, "configuration": configuration, "attempts": []}
    (tmp_path / "run.json").write_text(json.dumps(about))
    (tmp_path / "answers.jsonl").write_text("{}\n{}\n{torn")
    assert resumable(tmp_path) == f"2 of 1319 answers are kept: go on with --resume={tmp_path}"
    stopped = {**about, "attempts": [{"stopped": "93 answers are not right"}]}
    (tmp_path / "run.json").write_text(json.dumps(stopped))
    assert resumable(tmp_path) is None  # its gate is lost
    (tmp_path / "run.json").write_text(json.dumps(about))
    (tmp_path / "verdict.json").write_text("{}")
    assert resumable(tmp_path) is None
