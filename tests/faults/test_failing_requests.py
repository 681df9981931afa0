"""Requests that fail: repeated, and never wrong answers. What they leave open has no verdict."""

from typing import Any

from tests.double import Behaviour
from tests.double.plan import Fate
from tests.faults.against_double import QUESTIONS, Measured, against_double, planned_by_id
from tests.sessions import CANARY_QUESTIONS

FAILING = {"fail_share": 0.01}  # 13 questions


def _accuracy_that_leaves_wrong(count: int, **double: Any) -> float:
    """The accuracy at which exactly so many questions are answered, and wrongly."""
    for wrong in range(count, count + 50):
        accuracy = 1 - wrong / QUESTIONS
        behaviour = Behaviour(answers=CANARY_QUESTIONS, accuracy=accuracy, **double)
        planned = planned_by_id(behaviour).values()
        if sum(p.fate is Fate.ANSWER and not p.right for p in planned) == count:
            return accuracy
    raise AssertionError(f"no accuracy leaves {count} wrong")


@against_double(accuracy=0.96, error_rate=0.05, drop_rate=0.05)
def test_errors_and_drops_at_random_change_no_score(measured: Measured) -> None:
    verdict, answers = measured.run.verdict, measured.run.answers
    assert measured.session.exit_code == 0
    assert verdict["counts"]["right"] == sum(p.right for p in measured.planned.values())
    assert verdict["counts"]["right_sglang"] == verdict["counts"]["right"]
    assert verdict["counts"]["failed"] == 0
    assert verdict["retried"] == sum(a["tries"] > 1 for a in answers)
    assert 80 < verdict["retried"] < 190  # a tenth of 1319
    assert measured.stats is not None
    assert sum(a["tries"] for a in answers) == measured.stats.requests
    assert measured.session.seconds < 90


@against_double(**FAILING)
def test_questions_that_fail_for_good_have_no_verdict_and_are_listed(measured: Measured) -> None:
    session, verdict = measured.session, measured.run.verdict
    failing = {question for question, p in measured.planned.items() if p.fate is Fate.FAIL}
    assert session.exit_code == 11
    assert verdict["outcome"] == "no verdict"
    assert set(verdict["failed"]) == failing
    assert len(failing) == 13
    assert all(question in session.output for question in failing)
    assert "13 of 1319 requests failed for good" in session.output
    assert "observed: 1306 right of 1306 answered = 1.0000" in session.output
    assert f"--resume={measured.run.folder}" in session.output
    tries = {a["tries"] for a in measured.run.answers if a["error"] is not None}
    assert tries == {6}
    assert session.seconds < 90


@against_double(accuracy=0.9, **FAILING)
def test_a_fail_stands_beside_failed_requests(measured: Measured) -> None:
    verdict = measured.run.verdict
    assert measured.session.exit_code == 10
    assert verdict["outcome"] == "fail"
    assert verdict["counts"]["wrong"] >= 93


@against_double(accuracy=_accuracy_that_leaves_wrong(92, **FAILING), **FAILING)
def test_a_gate_that_the_failed_could_still_reach_has_no_verdict(measured: Measured) -> None:
    verdict = measured.run.verdict
    assert verdict["counts"]["wrong"] == 92
    assert verdict["counts"]["right"] < 1227
    assert measured.session.exit_code == 11
    assert verdict["outcome"] == "no verdict"


@against_double("--request-timeout", "1", hang_share=0.01)
def test_questions_that_hang_end_by_their_deadline(measured: Measured) -> None:
    hanging = {question for question, p in measured.planned.items() if p.fate is Fate.HANG}
    verdict = measured.run.verdict
    assert measured.session.exit_code == 11
    assert set(verdict["failed"]) == hanging
    assert set(verdict["failed"].values()) == {"no answer within 1 s"}
    assert measured.session.seconds < 60


@against_double("--run-timeout", "3", hang_after=200)
def test_a_server_that_stops_answering_ends_by_the_runs_deadline(measured: Measured) -> None:
    session, verdict = measured.session, measured.run.verdict
    assert session.exit_code == 11
    assert "the run took longer than its 3 s" in verdict["reasons"]
    assert verdict["counts"]["right"] == len(measured.run.answers) == 200
    assert verdict["missing"] == QUESTIONS - 200
    assert session.seconds < 60


@against_double(malformed_share=0.003, no_choices_share=0.003, half_body_share=0.003)
def test_answers_that_are_no_completions_fail_each_with_its_cause(measured: Measured) -> None:
    failed = measured.run.verdict["failed"]
    says = {
        Fate.MALFORMED: "HTTP 200, but its body is not JSON",
        Fate.NO_CHOICES: "HTTP 200, but without choices[0].text",
        Fate.HALF_BODY: "ClientPayloadError",
    }
    assert measured.session.exit_code == 11
    assert len(failed) == 12
    for question, error in failed.items():
        assert error.startswith(says[measured.planned[question].fate])
