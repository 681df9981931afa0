"""Intervals, counts and chances against published values."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.statistics import chance_to_fail, count_needed, wilson_interval


@pytest.mark.parametrize(
    ("right", "questions", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3 (score, no correction).
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_is_the_published_one(
    right: int, questions: int, low: float, high: float
) -> None:
    assert wilson_interval(right, questions) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_solves_its_equation(counts: tuple[int, int]) -> None:
    right, questions = counts
    z = 1.959963984540054  # the 0.975 quantile of the normal distribution
    share = right / questions
    for end in wilson_interval(right, questions):
        # Wilson 1927: the p with |share - p| = z * sqrt(p (1 - p) / n).
        assert abs(share - end) == pytest.approx(
            z * math.sqrt(max(0.0, end * (1 - end)) / questions), abs=1e-8
        )


def test_no_questions_have_no_interval() -> None:
    with pytest.raises(ValueError, match="n"):
        wilson_interval(0, 0)


@pytest.mark.parametrize(
    ("accuracy", "questions", "needed"),
    [
        (0.93, 1319, 1227),
        (0.93, 100, 93),  # 0.93 * 100 is 93.00000000000001 in doubles
        (0.55, 100, 55),
        (0.07, 100, 7),
        (0.93, 3 * 1319, 3681),
        (1.0, 1319, 1319),
        (0.0, 1319, 0),
        (0.93, 0, 0),
    ],
)
def test_the_count_needed_is_exact(accuracy: float, questions: int, needed: int) -> None:
    assert count_needed(accuracy, questions) == needed


@given(st.integers(0, 1000), st.integers(1, 3000))
def test_the_count_needed_is_the_least_that_reaches_the_accuracy(
    thousandths: int, questions: int
) -> None:
    needed = count_needed(thousandths / 1000, questions)
    assert Fraction(needed, questions) >= Fraction(thousandths, 1000)
    assert needed == 0 or Fraction(needed - 1, questions) < Fraction(thousandths, 1000)


@pytest.mark.parametrize(
    ("accuracy", "passes"), [(0.925, 0.25), (0.93, 0.51), (0.935, 0.78), (0.94, 0.94)]
)
def test_the_chance_to_pass_the_gate_is_the_known_one(accuracy: float, passes: float) -> None:
    assert 1 - chance_to_fail(accuracy, 1319, 1227) == pytest.approx(passes, abs=0.005)


def test_the_chance_to_fail_is_the_binomials_own_sum() -> None:
    by_hand = sum(math.comb(20, k) * 0.9**k * 0.1 ** (20 - k) for k in range(18))
    assert chance_to_fail(0.9, 20, 18) == pytest.approx(by_hand, rel=1e-12)
    assert chance_to_fail(0.9, 20, 0) == 0
