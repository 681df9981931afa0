"""From counts to a verdict, and when a run may stop early."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.verdict import Counts, Gate, Outcome, enough, judge

GATE = Gate(0.93)
N = 1319


def outcome(counts: Counts, questions: int = N, gate: Gate | None = GATE) -> Outcome:
    return judge(counts, questions, gate).outcome


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (Counts(right=N), Outcome.PASS),
        (Counts(right=1227, wrong=92), Outcome.PASS),
        (Counts(right=1226, wrong=93), Outcome.FAIL),
        (Counts(wrong=N), Outcome.FAIL),
        (Counts(right=1318, invalid=1), Outcome.FAIL),
        (Counts(right=1226, wrong=92, invalid=1), Outcome.FAIL),
        # Failed requests: never wrong answers, so 92 wrong could still pass.
        (Counts(right=1226, wrong=92, failed=1), Outcome.NO_VERDICT),
        (Counts(right=1318, failed=1), Outcome.NO_VERDICT),
        (Counts(failed=N), Outcome.NO_VERDICT),
        # ... but 93 wrong stay 93 wrong, and an invalid answer stays one.
        (Counts(right=1225, wrong=93, failed=1), Outcome.FAIL),
        (Counts(wrong=93, failed=1226), Outcome.FAIL),
        (Counts(right=1317, invalid=1, failed=1), Outcome.FAIL),
        # Questions that were not asked, or not answered.
        (Counts(), Outcome.NO_VERDICT),
        (Counts(right=1318), Outcome.NO_VERDICT),
        (Counts(wrong=92), Outcome.NO_VERDICT),
        (Counts(wrong=93), Outcome.FAIL),
    ],
)
def test_counts_have_their_verdict(counts: Counts, expected: Outcome) -> None:
    assert outcome(counts) is expected


def test_nothing_of_nothing_is_no_verdict() -> None:
    assert judge(Counts(), 0, GATE) == judge(Counts(), 0, None)
    assert judge(Counts(), 0, GATE).outcome is Outcome.NO_VERDICT
    assert judge(Counts(), 0, GATE).reasons == ("no question was answered",)


def test_a_pass_needs_no_reason() -> None:
    assert judge(Counts(right=1227, wrong=92), N, GATE).reasons == ()


def test_a_fail_says_which_of_the_two_it_is() -> None:
    accuracy = judge(Counts(right=1226, wrong=93), N, GATE).reasons
    invalid = judge(Counts(right=1317, invalid=2), N, GATE).reasons
    both = judge(Counts(right=1200, wrong=117, invalid=2), N, GATE).reasons
    assert accuracy == (
        "accuracy: 1226 of 1319 answered are right, so at most 1226 of 1319 can be; "
        "1227 are needed for 0.93",
    )
    assert invalid == ("invalid: 2 answers hold no number; 0 may be so",)
    assert [reason.partition(":")[0] for reason in both] == ["accuracy", "invalid"]


def test_a_fail_tells_of_failed_requests_besides() -> None:
    reasons = judge(Counts(wrong=93, failed=2), N, GATE, trouble=["the server died"]).reasons
    assert reasons[1:] == (
        "besides: the server died",
        "besides: 2 of 1319 requests failed for good",
    )


def test_a_gate_may_allow_invalid_answers() -> None:
    lenient = Gate(0.93, invalid=2)
    assert outcome(Counts(right=1317, invalid=2), gate=lenient) is Outcome.PASS
    assert outcome(Counts(right=1316, invalid=3), gate=lenient) is Outcome.FAIL


def test_trouble_leaves_a_full_count_without_a_verdict() -> None:
    verdict = judge(Counts(right=N), N, GATE, trouble=["records were lost"])
    assert verdict.outcome is Outcome.NO_VERDICT
    assert verdict.reasons == ("records were lost",)


@pytest.mark.parametrize("counts", [Counts(right=60), Counts(wrong=60), Counts(invalid=60)])
def test_a_partial_run_has_no_verdict_whatever_it_brought(counts: Counts) -> None:
    verdict = judge(counts, 60, GATE, partial=True)
    assert verdict.outcome is Outcome.NO_VERDICT
    assert verdict.reasons == ("a partial run: only 60 questions were asked for",)


@pytest.mark.parametrize("counts", [Counts(right=N), Counts(wrong=N), Counts(invalid=N)])
def test_a_run_asked_otherwise_than_its_gate_is_about_has_no_verdict(counts: Counts) -> None:
    verdict = judge(counts, N, GATE, otherwise="asked with 4 shots")
    assert (verdict.outcome, verdict.reasons) == (Outcome.NO_VERDICT, ("asked with 4 shots",))
    assert judge(counts, N, None, otherwise="asked with 4 shots").outcome is Outcome.REPORT


def test_without_a_gate_a_whole_run_is_reported() -> None:
    assert outcome(Counts(right=600, wrong=700, invalid=19), gate=None) is Outcome.REPORT
    assert outcome(Counts(right=1318, failed=1), gate=None) is Outcome.NO_VERDICT


def test_runs_are_pooled_into_one_gate() -> None:
    pooled = Gate(0.93, runs=3)  # 3680.01 of 3957
    low, high = Counts(right=1220, wrong=99), Counts(right=1235, wrong=84)
    assert outcome(low + high + high, 3 * N, pooled) is Outcome.PASS
    assert outcome(low + low + high, 3 * N, pooled) is Outcome.FAIL
    assert outcome(high + high, 3 * N, pooled) is Outcome.NO_VERDICT


def test_counts_add_up_field_by_field() -> None:
    assert Counts(1, 2, 3, 4, 5, 6) + Counts(10, 20, 30, 40, 50, 60) == Counts(
        11, 22, 33, 44, 55, 66
    )
    assert Counts(1, 2, 3, 4).answered == 6
    assert Counts(right=1, wrong=3).accuracy == 0.25
    assert Counts(failed=3).accuracy is None


def test_93_lost_answers_of_1319_stop_a_run_and_92_do_not() -> None:
    assert enough(Counts(right=1226, wrong=92), N, GATE) is None
    assert enough(Counts(wrong=93), N, GATE) == "93 answers are not right, 92 of 1319 may be"
    assert enough(Counts(wrong=85, invalid=8), N, GATE) is not None


def test_invalid_answers_stop_a_run_at_one_percent() -> None:
    assert enough(Counts(right=500, invalid=13), N, GATE) is None
    assert enough(Counts(right=500, invalid=14), N, GATE) == "14 answers are invalid, 0 may be"
    # One of few is 1% already; the gate's own allowance comes first.
    assert enough(Counts(right=9, invalid=1), 100, GATE) is not None
    assert enough(Counts(right=9, invalid=2), 100, Gate(0.5, invalid=2)) is None
    assert enough(Counts(right=9, invalid=3), 100, Gate(0.5, invalid=2)) is not None


def test_failed_requests_stop_no_run() -> None:
    assert enough(Counts(failed=1000), N, GATE) is None


@given(
    st.integers(1, 30),
    st.integers(0, 100),
    st.integers(0, 3),
    st.lists(st.sampled_from(["right", "wrong", "invalid", "failed"]), max_size=30),
)
def test_an_early_stop_never_ends_a_run_that_could_still_pass(
    questions: int, percent: int, allowed: int, outcomes: list[str]
) -> None:
    gate = Gate(percent / 100, invalid=allowed)
    outcomes = outcomes[:questions]
    counts = Counts(**{kind: outcomes.count(kind) for kind in set(outcomes)})
    # A resumed run asks what failed again: all but what was answered is open.
    open_ = questions - counts.answered
    could_pass = any(
        outcome(
            Counts(
                right=counts.right + right,
                wrong=counts.wrong + wrong,
                invalid=counts.invalid + open_ - right - wrong,
            ),
            questions,
            gate,
        )
        is Outcome.PASS
        for right, wrong in product(range(open_ + 1), repeat=2)
        if right + wrong <= open_
    )
    if enough(counts, questions, gate) is not None:
        assert not could_pass
        assert outcome(counts, questions, gate) is Outcome.FAIL
    # ... and ends every one that the accuracy alone has lost.
    elif counts.invalid <= allowed:
        assert could_pass


@given(st.integers(0, N), st.integers(0, N), st.integers(0, 20), st.integers(0, N))
def test_no_failed_request_ever_counts_as_an_answer(
    right: int, wrong: int, invalid: int, failed: int
) -> None:
    if right + wrong + invalid + failed > N:
        return
    with_failures = outcome(Counts(right, wrong, invalid, failed))
    assert with_failures == outcome(Counts(right, wrong, invalid, 0)) or not failed
    if failed:
        assert with_failures is not Outcome.PASS
