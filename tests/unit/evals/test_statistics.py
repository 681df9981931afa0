"""Intervals, counts and chances against published values."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.statistics import (
    chance_to_fail,
    clustered_interval,
    count_needed,
    wilson_interval,
)


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
    with pytest.raises(ValueError, match="no questions"):
        wilson_interval(0, 0)
    with pytest.raises(ValueError, match="no answers"):
        clustered_interval([], [])


@given(st.lists(st.booleans(), min_size=1, max_size=100))
def test_questions_asked_once_have_wilsons_interval(right: list[bool]) -> None:
    seen = clustered_interval(list(map(int, right)), [1] * len(right))
    assert seen == pytest.approx(wilson_interval(sum(right), len(right)), abs=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=100), st.integers(2, 5))
def test_copies_of_a_run_have_the_interval_of_the_run(right: list[bool], copies: int) -> None:
    seen = clustered_interval([copies * one for one in right], [copies] * len(right))
    assert seen == pytest.approx(wilson_interval(sum(right), len(right)), abs=1e-12)


def test_the_effective_number_of_questions_is_that_of_the_formula() -> None:
    # Shares 1, 1, 1, 2/3, 0 of 3 answers each: p = 11/15, and the squares sum to 32/45.
    share, squares = 11 / 15, 3 * (4 / 15) ** 2 + (1 / 15) ** 2 + (11 / 15) ** 2
    effective = share * (1 - share) * 25 / squares
    assert 5 < effective < 15
    seen = clustered_interval([3, 3, 3, 2, 0], [3] * 5)
    assert seen == pytest.approx(wilson_interval(share * effective, effective))


def test_answers_without_variance_between_questions_all_count() -> None:
    assert clustered_interval([1] * 50, [2] * 50) == pytest.approx(wilson_interval(50, 100))


def test_questions_answered_less_often_weigh_less() -> None:
    # 4 of 4 and 0 of 1: p = 4/5, the residuals are 0.8 and -0.8, and 0.16 * 25 / 1.28 is 3.125.
    seen = clustered_interval([4, 0], [4, 1])
    assert seen == pytest.approx(wilson_interval(0.8 * 3.125, 3.125))


def test_all_right_in_every_run_is_as_sure_as_the_questions_are_many() -> None:
    assert clustered_interval([3] * 100, [3] * 100) == wilson_interval(100, 100)
    assert clustered_interval([0] * 100, [3] * 100) == wilson_interval(0, 100)


def test_the_clustered_interval_covers_the_accuracy_as_often_as_it_says() -> None:
    # Most questions are right always or never, some by chance: as repeats of one server are.
    rng = np.random.default_rng(4)
    covered, naive = 0, 0
    for _ in range(2000):
        kind = rng.random(300)
        chance = np.where(kind < 0.85, 1.0, np.where(kind < 0.95, 0.5, 0.0))
        right = rng.binomial(3, chance)
        low, high = clustered_interval(right.tolist(), [3] * 300)
        covered += low <= 0.9 <= high
        low, high = wilson_interval(int(right.sum()), 900)
        naive += low <= 0.9 <= high
    assert 0.935 <= covered / 2000 <= 0.965
    assert naive / 2000 < 0.9


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
