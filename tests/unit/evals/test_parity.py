"""Worse, no worse, or cannot tell: the rule, and what it does to many simulated pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.parity import draw, one_row, several_rows
from evals.paired import Cells, paired_interval
from evals.parity import MOST_REPEATS, Parity, ParityGate, judge_pair, repeats_to_settle, stands
from evals.repeats import single

N = 1319
GATE = ParityGate()


def pair(lost: int, gained: int, questions: int = N) -> Cells:
    return Cells(questions - lost - gained, lost, gained, 0)


@pytest.mark.parametrize(
    ("lost", "gained", "parity"),
    [
        (0, 0, Parity.NO_WORSE),
        (13, 3, Parity.WORSE),  # p 0.011, a drop of 10 questions
        (12, 3, Parity.NO_WORSE),  # p 0.018, but 9 questions are not above 0.75 points
        (5, 0, Parity.NO_WORSE),  # surely worse, by surely little
        (10, 0, Parity.WORSE),
        (26, 14, Parity.WORSE),  # the critical count of 40
        (25, 15, Parity.CANNOT_TELL),
        (66, 53, Parity.CANNOT_TELL),
        (20, 40, Parity.NO_WORSE),
    ],
)
def test_a_pair_is_judged_by_significance_tolerance_and_interval(
    lost: int, gained: int, parity: Parity
) -> None:
    assert judge_pair(pair(lost, gained), GATE).parity is parity


def test_several_rows_correction_is_what_counts() -> None:
    assert judge_pair(pair(26, 14), GATE, corrected=0.3).parity is Parity.CANNOT_TELL


def test_being_one_of_several_costs_power_and_repeats() -> None:
    alone = judge_pair(pair(26, 14), GATE)
    several = judge_pair(pair(26, 14), GATE, corrected=8 * alone.p)
    assert alone.smallest[0] is not None
    assert several.smallest[0] is not None
    assert several.smallest[0] > 1.2 * alone.smallest[0]
    assert [repeats_to_settle(single(pair(66, 44)), GATE, factor) for factor in (1, 40)] == [2, 3]


def test_worse_stands_or_falls_with_the_worst_that_may_be_missing() -> None:
    verdict = judge_pair(pair(26, 10), GATE)
    assert stands(verdict, single(pair(26, 14)))
    assert not stands(verdict, single(pair(26, 15)))
    several = judge_pair(pair(26, 10), GATE, corrected=8 * verdict.p)
    assert several.parity is Parity.WORSE
    assert not stands(several, single(pair(26, 14)))
    assert not stands(judge_pair(pair(5, 5), GATE), single(pair(50, 5)))


def test_a_verdict_tells_what_it_would_have_found() -> None:
    verdict = judge_pair(pair(20, 20), GATE)
    alone, with_tolerance = verdict.smallest
    assert alone is not None
    assert with_tolerance is not None
    assert 0.0123 < alone <= with_tolerance < 0.0124


def test_a_quiet_pair_finds_less_for_its_tolerance() -> None:
    alone, with_tolerance = judge_pair(pair(0, 0), GATE).smallest
    assert alone == pytest.approx(0.0051, abs=1e-4)
    assert with_tolerance == pytest.approx(0.0095, abs=1e-4)


def test_repeats_that_would_settle_it_do() -> None:
    verdict = judge_pair(pair(66, 53), GATE)
    assert verdict.repeats == 3
    assert judge_pair(pair(66, 53).times(3), GATE).parity is not Parity.CANNOT_TELL
    assert judge_pair(pair(66, 53).times(2), GATE).parity is Parity.CANNOT_TELL


def test_a_settled_verdict_wants_no_repeats() -> None:
    assert judge_pair(pair(0, 0), GATE).repeats is None


def test_what_no_hundred_repeats_would_settle_is_said_so() -> None:
    assert repeats_to_settle(single(Cells(0, 2, 2, 0)), GATE) is None
    assert MOST_REPEATS == 100


@settings(max_examples=30)
@given(st.integers(0, 150), st.integers(0, 150))
def test_one_question_more_lost_never_makes_a_pair_look_better(lost: int, gained: int) -> None:
    order = [Parity.NO_WORSE, Parity.CANNOT_TELL, Parity.WORSE]
    before, after = (judge_pair(pair(lost + more, gained), GATE).parity for more in (0, 1))
    assert order.index(after) >= order.index(before)


@pytest.mark.parametrize(
    ("discordant", "drop", "least", "most"),
    [
        (0.01, 0.0, 0.0, 0.055),
        (0.03, 0.0, 0.0, 0.055),
        (0.05, 0.0, 0.0, 0.055),
        (0.10, 0.0, 0.0, 0.055),
        (0.03, 0.015, 0.90, 1.0),
        (0.05, 0.015, 0.70, 1.0),
    ],
)
def test_false_alarms_are_rare_and_a_real_drop_is_found(
    discordant: float, drop: float, least: float, most: float
) -> None:
    seen = one_row(np.random.default_rng(4), 2000, discordant, drop)
    assert least <= seen.worse <= most
    assert seen.worse == pytest.approx(seen.exact, abs=0.02)


@pytest.mark.parametrize("discordant", [0.01, 0.03, 0.05, 0.10])
def test_eight_rows_together_cry_wolf_no_more_than_one(discordant: float) -> None:
    alarms, _ = several_rows(np.random.default_rng(4), 500, discordant)
    assert alarms <= 0.055


@pytest.mark.parametrize(("discordant", "drop"), [(0.02, 0.015), (0.05, 0.015), (0.05, 0.0)])
def test_the_interval_covers_the_true_difference_as_often_as_it_says(
    discordant: float, drop: float
) -> None:
    drawn = draw(np.random.default_rng(4), 600, discordant, drop)
    intervals = [paired_interval(cells) for cells in drawn]
    covered = sum(low <= -drop <= high for low, high in intervals) / len(intervals)
    assert 0.93 <= covered <= 0.97
