"""The statistics of a pair against published values, and against their own definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.paired import (
    Cells,
    chance_to_find,
    critical,
    holm,
    least_lead,
    mcnemar,
    paired_interval,
    smallest_drop,
)

N = 1319
CELL = st.integers(0, 60)
CELLS = st.builds(Cells, CELL, CELL, CELL, CELL).filter(lambda cells: cells.questions > 0)


@pytest.mark.parametrize(
    ("discordant", "lost"), [(10, 9), (18, 13), (26, 18), (40, 26), (66, 41), (5, 5), (4, 5)]
)
def test_the_critical_count_at_five_percent_is_the_known_one(discordant: int, lost: int) -> None:
    assert critical(discordant, 0.05) == lost
    if lost <= discordant:
        assert mcnemar(lost, discordant - lost) <= 0.05
    assert mcnemar(lost - 1, discordant - lost + 1) > 0.05


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemars_p_is_the_binomials_own_sum(lost: int, gained: int) -> None:
    n = lost + gained
    by_hand = sum(math.comb(n, k) for k in range(lost, n + 1)) / 2**n
    assert mcnemar(lost, gained) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    ("cells", "confidence", "low", "high"),
    [
        # Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014) 2850: airway
        # hyper-responsiveness before and after a transplantation (Bentur et al. 2009).
        (Cells(1, 7, 1, 12), 0.95, -0.517, -0.026),
        # Tango, Statistics in Medicine 17 (1998) 891: disinfection of contact lenses, 90%.
        (Cells(43, 1, 0, 0), 0.90, -0.096, 0.037),
    ],
)
def test_tangos_interval_is_the_published_one(
    cells: Cells, confidence: float, low: float, high: float
) -> None:
    assert paired_interval(cells, confidence) == pytest.approx((low, high), abs=5.1e-4)


@given(CELLS)
def test_tangos_interval_holds_the_difference_and_turns_with_the_pair(cells: Cells) -> None:
    low, high = paired_interval(cells)
    assert -1 <= low <= -cells.drop <= high <= 1
    turned = Cells(cells.both, cells.gained, cells.lost, cells.neither)
    assert paired_interval(turned) == pytest.approx((-high, -low), abs=1e-7)


@given(CELLS)
def test_tangos_ends_are_where_the_score_statistic_is_the_quantile(cells: Cells) -> None:
    n, lost, gained = cells.questions, cells.lost, cells.gained
    for end in paired_interval(cells):
        if abs(end) > 0.999:
            continue
        # The most likely share lost if the true difference were `end`, by search.
        low, high = max(0.0, -end), (1 - end) / 2

        def slope(share: float, end: float = end) -> float:
            stay = 1 - 2 * share - end
            return gained / (share + end) + lost / share - 2 * (n - lost - gained) / stay

        for _ in range(200):
            middle = (low + high) / 2
            inside = middle > 0 and middle + end > 0 and 2 * middle + end < 1
            low, high = (middle, high) if inside and slope(middle) > 0 else (low, middle)
        variance = (2 * high + end - end**2) / n
        z = 1.959963984540054
        assert abs(-cells.drop - end) == pytest.approx(z * math.sqrt(variance), abs=2e-4)


@pytest.mark.parametrize("questions", [1, 20, N])
def test_a_pair_without_a_discordant_question_has_wilsons_limit(questions: int) -> None:
    limit = 1.959963984540054**2 / (questions + 1.959963984540054**2)
    interval = paired_interval(Cells(questions, 0, 0, 0))
    assert interval == pytest.approx((-limit, limit), abs=1e-7)


def test_no_questions_have_no_paired_interval() -> None:
    with pytest.raises(ValueError, match="no questions"):
        paired_interval(Cells(0, 0, 0, 0))


@pytest.mark.parametrize(("share", "size"), [(0.01, 0.028), (0.03, 0.037), (0.05, 0.039)])
def test_the_real_size_of_the_test_is_the_known_one(share: float, size: float) -> None:
    assert chance_to_find(N, share, 0.0) == pytest.approx(size, abs=5e-4)


@pytest.mark.parametrize(("share", "points"), [(0.01, 0.72), (0.03, 1.24), (0.05, 1.59)])
def test_the_smallest_drop_with_80_percent_power_is_the_known_one(
    share: float, points: float
) -> None:
    smallest = smallest_drop(N, share)
    assert smallest is not None
    assert 100 * smallest == pytest.approx(points, abs=0.012)
    assert chance_to_find(N, share, smallest) == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize(
    ("tolerance", "power"), [(0.0, 0.93), (0.0075, 0.93), (0.01, 0.84), (0.0125, 0.70)]
)
def test_what_a_tolerance_costs_is_the_known_price(tolerance: float, power: float) -> None:
    assert chance_to_find(N, 0.03, 0.015, 0.05, tolerance) == pytest.approx(power, abs=5e-3)


def test_the_chance_to_find_is_the_sum_over_all_outcomes() -> None:
    n, share, drop, found = 14, 0.6, 0.3, 0.0
    for lost in range(n + 1):
        for gained in range(n + 1 - lost):
            rest = n - lost - gained
            ways = math.factorial(n) / (
                math.factorial(lost) * math.factorial(gained) * math.factorial(rest)
            )
            chance = ways * 0.45**lost * 0.15**gained * 0.4**rest
            if mcnemar(lost, gained) <= 0.05 and lost - gained > 0.4 * n:
                found += chance
    assert chance_to_find(n, share, drop, 0.05, 0.4) == pytest.approx(found, rel=1e-9)


def test_a_drop_needs_as_many_discordant_questions() -> None:
    with pytest.raises(ValueError, match="discordant"):
        chance_to_find(N, 0.01, 0.015)
    assert chance_to_find(N, 0.0, 0.0) == 0


def test_few_questions_show_no_drop_at_all() -> None:
    assert smallest_drop(4, 0.5) is None


@pytest.mark.parametrize(
    ("questions", "tolerance", "lead"),
    [(1319, 0.0075, 10), (400, 0.0075, 4), (1000, 0.007, 8), (10, 0.0, 1)],
)
def test_a_drop_at_the_tolerance_is_not_above_it(
    questions: int, tolerance: float, lead: int
) -> None:
    assert least_lead(questions, tolerance) == lead


def test_holms_correction_is_the_textbooks() -> None:
    # Holm 1979; the example of R's p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm").
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []
