"""How far log-probabilities drift, and what that comes to."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from evals.drift import (
    Bounds,
    Change,
    Place,
    Scored,
    TokenLogprobs,
    change,
    compare,
    judge_drift,
    told,
)
from evals.errors import NoVerdict
from evals.verdict import Outcome

REFERENCE = [TokenLogprobs((5, 6, 7), (-0.5, -1.0, -2.0)), TokenLogprobs((8, 9), (-3.0, -4.0))]
NEAR = [Scored((-0.5, -1.0, -2.25), (5, 6, 7)), Scored((-3.0, -4.0), (8, 9))]


def test_a_change_counts_either_direction() -> None:
    assert change([-1.0, -2.0], [-1.5, -1.5]) == Change(0.5, 0.5, 0.5)


def test_the_99th_percentile_lies_between_the_two_tokens_around_it() -> None:
    # Of 0, 1, …, 100 the 99th percentile is 99 exactly; of 0, 1, …, 10 it is 9.9.
    assert change([0.0] * 101, list(map(float, range(101)))) == Change(50.0, 99.0, 100.0)
    assert change([0.0] * 11, list(map(float, range(11)))).p99 == pytest.approx(9.9)


def test_no_token_and_unlike_numbers_of_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="0 and 0"):
        change([], [])
    with pytest.raises(ValueError, match="2 and 1"):
        change([0.0, 0.0], [0.0])


def test_the_mean_is_over_tokens_and_the_largest_change_has_a_place() -> None:
    drift = compare(["a", "b"], REFERENCE, NEAR)
    assert (drift.questions, drift.tokens, drift.of) == (2, 5, 5)
    assert drift.change.mean == pytest.approx(0.25 / 5)
    assert (drift.change.max, drift.largest) == (0.25, Place("a", 2))
    assert (drift.parted, drift.parts_first) == (0, None)


def test_a_text_that_parts_is_compared_as_far_as_it_was_scored() -> None:
    parted = [Scored((-0.5, -1.0), (5, 4, 3)), Scored((-3.5,), (7,))]
    drift = compare(["a", "b"], REFERENCE, parted)
    assert (drift.tokens, drift.of) == (3, 5)
    assert (drift.change.max, drift.largest) == (0.5, Place("b", 0))
    assert (drift.parted, drift.parts_first) == (2, Place("b", 0))


def test_what_was_forced_may_part_and_is_compared_to_its_end() -> None:
    drift = compare(["a"], REFERENCE[:1], [Scored((-0.5, -1.0, -2.0), (5, 4, 7))])
    assert (drift.tokens, drift.parted, drift.parts_first) == (3, 1, Place("a", 1))


def test_nothing_that_can_be_compared_is_no_verdict() -> None:
    with pytest.raises(NoVerdict, match="not a token"):
        compare(["a", "b"], REFERENCE, [Scored((), (4,)), Scored((), (4,))])


@pytest.mark.parametrize(
    ("bounds", "outcome"),
    [
        (Bounds(), Outcome.REPORT),
        (Bounds(mean=0.051), Outcome.PASS),
        (Bounds(mean=0.049), Outcome.FAIL),
        (Bounds(max=0.25), Outcome.PASS),
        (Bounds(mean=0.051, max=0.24), Outcome.FAIL),
    ],
)
def test_each_bound_that_is_given_must_hold(bounds: Bounds, outcome: Outcome) -> None:
    assert judge_drift(compare(["a", "b"], REFERENCE, NEAR), bounds) is outcome


def test_a_change_that_is_no_number_passes_no_bound() -> None:
    drift = replace(compare(["a", "b"], REFERENCE, NEAR), change=Change(nan, nan, nan))
    assert judge_drift(drift, Bounds(mean=1.0)) is Outcome.FAIL


def test_one_line_tells_it_all() -> None:
    parted = [NEAR[0], Scored((-3.0, -4.0), (8, 1))]
    assert told(compare(["a", "b"], REFERENCE, parted), Bounds(mean=0.06)) == (
        "|Δ log-probability| of 5 of 5 tokens of 2 questions: mean 5.0e-02 (at most 6.0e-02), 99th "
        "percentile 2.4e-01, maximum 2.5e-01 at token 2 of a; 1 of 2 texts part, the first at "
        "token 1 of b"
    )


def test_with_few_of_the_tokens_compared_nothing_passes_and_a_fail_stays_one() -> None:
    few = [Scored((-0.5,), (5, 1)), Scored((-3.0,), (8, 1))]
    drift = compare(["a", "b"], REFERENCE, few)
    assert (drift.tokens, drift.of) == (2, 5)
    assert judge_drift(drift, Bounds(mean=1e-5)) is Outcome.NO_VERDICT
    assert judge_drift(drift, Bounds()) is Outcome.REPORT
    worse = compare(["a", "b"], REFERENCE, [Scored((-0.6,), (5, 1)), Scored((-3.0,), (8, 1))])
    assert judge_drift(worse, Bounds(mean=1e-5)) is Outcome.FAIL
    enough = compare(["a", "b"], REFERENCE, [Scored((-0.5, -1.0), (5, 6, 1)), few[1]])
    assert judge_drift(enough, Bounds(mean=1e-5)) is Outcome.PASS
