"""Several runs of either side: against published values, brute force, and simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.parity import draw_repeats
from evals.paired import Cells, mcnemar, paired_interval, smallest_drop
from evals.parity import Parity, ParityGate, judge, judge_pair, repeats_to_settle
from evals.repeats import Disagreement, Evidence, disagreement, evidence_of, sign_flip, single

N = 1319
GATE = ParityGate()
RUNS = st.tuples(st.integers(1, 4), st.integers(1, 4))


@st.composite
def answered(draw: st.DrawFn) -> tuple[list[list[bool]], list[list[bool]]]:
    """What the runs of either side have right, one list a question."""
    questions = draw(st.integers(1, 12))
    first, second = (
        draw(st.lists(st.lists(st.booleans(), min_size=k, max_size=k), min_size=questions,
                      max_size=questions))
        for k in draw(RUNS)
    )  # fmt: skip
    return first, second


def evidence(first: list[list[bool]], second: list[list[bool]]) -> Evidence:
    return evidence_of(
        [sum(one) for one in first], [sum(one) for one in second], (len(first[0]), len(second[0]))
    )


# The test.


def test_the_sign_flip_test_gives_fishers_own_p_of_darwins_maize() -> None:
    # Fisher, The Design of Experiments (1935), section 21: differences in eighths of an inch
    # between crossed and self-fertilized plants. Of 32768 sums 835 exceed 314 and 28 equal it.
    differences = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    assert sum(differences) == 314
    assert sign_flip(differences) == pytest.approx(863 / 32768, rel=1e-12)


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_the_sign_flip_test_is_the_count_of_all_signs(drops: list[int]) -> None:
    sums = [
        sum(sign * abs(drop) for sign, drop in zip(signs, drops, strict=True))
        for signs in product((-1, 1), repeat=len(drops))
    ]
    by_hand = sum(one >= sum(drops) for one in sums) / len(sums)
    assert sign_flip(drops) == pytest.approx(by_hand, rel=1e-12)


@given(st.integers(0, 150), st.integers(0, 150), st.integers(1, 5))
def test_drops_of_one_size_have_mcnemars_p(lost: int, gained: int, size: int) -> None:
    drops = [size] * lost + [-size] * gained + [0] * 3
    assert sign_flip(drops) == pytest.approx(mcnemar(lost, gained), rel=1e-9, abs=1e-12)


# Cells, and the effective number of questions.


@given(answered())
def test_cells_are_the_mean_over_all_pairs_of_runs(
    runs: tuple[list[list[bool]], list[list[bool]]],
) -> None:
    first, second = runs
    seen = evidence(first, second)
    pairs = list(product(zip(*first, strict=True), zip(*second, strict=True)))
    for name, kind in (
        ("both", (True, True)), ("lost", (True, False)),
        ("gained", (False, True)), ("neither", (False, False)),
    ):  # fmt: skip
        total = sum(list(zip(a, c, strict=True)).count(kind) for a, c in pairs)
        assert getattr(seen.cells, name) == pytest.approx(total / len(pairs))
    assert float(seen.lead) == pytest.approx(seen.cells.lost - seen.cells.gained)
    assert seen.questions == len(first)


@given(answered())
def test_the_effective_number_lies_between_one_run_and_independent_ones(
    runs: tuple[list[list[bool]], list[list[bool]]],
) -> None:
    seen = evidence(*runs)
    n, most = seen.questions, 2 / (1 / seen.runs[0] + 1 / seen.runs[1])
    assert n <= seen.effective <= most * n + 1e-9
    assert seen.effective_cells.questions == pytest.approx(seen.effective)


@given(st.lists(st.sampled_from([(0, 0), (0, 1), (1, 0), (1, 1)]), min_size=1, max_size=60))
def test_one_run_of_each_side_is_the_pair_as_before(answers: list[tuple[int, int]]) -> None:
    ours, theirs = ([answer[which] for answer in answers] for which in (0, 1))
    kinds = ((1, 1), (1, 0), (0, 1), (0, 0))
    cells = Cells(*(answers.count(kind) for kind in kinds))
    seen, pair = judge(evidence_of(ours, theirs, (1, 1)), GATE), judge_pair(cells, GATE)
    assert seen.cells == cells
    assert seen.p == pytest.approx(mcnemar(int(cells.lost), int(cells.gained)), rel=1e-12)
    assert (seen.parity, seen.interval, seen.repeats) == (pair.parity, pair.interval, pair.repeats)
    assert seen.effective == len(answers)
    assert all(isinstance(n, int) for n in (cells.lost, seen.cells.lost))


@given(answered(), st.integers(2, 4))
def test_copies_of_a_run_say_no_more_than_the_run(
    runs: tuple[list[list[bool]], list[list[bool]]], copies: int
) -> None:
    first, second = ([one[:1] for one in side] for side in runs)
    once = judge(evidence(first, second), GATE)
    copied = evidence([one * copies for one in first], [one * copies for one in second])
    seen = judge(copied, GATE)
    assert seen.p == pytest.approx(once.p, rel=1e-12)
    assert seen.interval == pytest.approx(once.interval, abs=1e-9)
    assert (seen.effective, seen.smallest) == (once.effective, once.smallest)
    assert seen.repeats is None  # nothing differs between repeats: more of them settle nothing


def test_the_effective_number_is_that_of_the_formula() -> None:
    # Shares right 3/3 and 1/3, 2/3 and 1/3, 0 and 1/3, and seven questions right throughout.
    seen = evidence_of([3, 2, 0, *[3] * 7], [1, 1, 1, *[3] * 7], (3, 3))
    discordant = 2 / 3 + (2 / 3 * 2 / 3 + 1 / 3 * 1 / 3) + 1 / 3
    assert seen.cells.discordant == pytest.approx(discordant)
    assert seen.squares == pytest.approx(4 / 9 + 1 / 9 + 1 / 9)
    assert seen.effective == pytest.approx(10 * discordant / (6 / 9))
    assert evidence_of([3, 3], [3, 3], (3, 3)).effective == 2
    assert evidence_of([1, 1], [1, 1], (2, 2)).effective == 4  # all discordance cancels


def test_of_independent_answers_each_repeat_counts() -> None:
    rng = np.random.default_rng(4)
    shares = [draw_repeats(rng, 3, 0.10, 1.0).effective / N for _ in range(50)]
    assert 2.6 < np.mean(shares) <= 3


def test_counts_of_different_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="same questions"):
        evidence_of([1, 2], [1], (2, 2))


@pytest.mark.parametrize(
    ("more", "parity"), [(0, Parity.NO_WORSE), (1, Parity.WORSE)]
)  # fmt: skip
def test_a_drop_at_the_tolerance_is_not_above_it_by_rounding(more: int, parity: Parity) -> None:
    # 400 questions, tolerance 0.75 points: 3 of them, or 9 of 1200 answers, each in one run of 3.
    lost = 9 + more
    seen = evidence_of([3] * 400, [2] * lost + [3] * (400 - lost), (3, 3))
    assert seen.lead == Fraction(lost, 3)
    assert seen.p < 0.05
    assert judge(seen, GATE).parity is parity


# Repeats, and the forecast.


@given(answered())
def test_the_noise_between_repeats_is_the_sum_of_their_variances(
    runs: tuple[list[list[bool]], list[list[bool]]],
) -> None:
    seen = evidence(*runs)
    if min(seen.runs) == 1:
        assert seen.within is None
    else:
        by_hand = [sum(variance(map(int, one)) for one in side) for side in runs]
        assert seen.within == pytest.approx(tuple(by_hand))


def test_one_run_is_forecast_as_if_all_discordance_were_noise() -> None:
    later = single(Cells(1200, 66, 53, 0)).after(3)
    assert later.effective_cells == Cells(3600, 198, 159, 0)
    assert later.p == mcnemar(198, 159)


def test_what_persists_is_not_forecast_to_vanish() -> None:
    rng = np.random.default_rng(4)
    half = draw_repeats(rng, 3, 0.05, 0.5)
    assert half.after(3).squares == pytest.approx(half.squares)
    assert half.after(1000).squares == pytest.approx(N * 0.025, rel=0.3)
    assert half.after(1000).effective < 3 * N


def test_the_forecast_is_what_more_repeats_bring() -> None:
    rng = np.random.default_rng(4)
    told = [draw_repeats(rng, 3, 0.07, 0.7).after(9) for _ in range(60)]
    came = [draw_repeats(rng, 9, 0.07, 0.7) for _ in range(60)]
    assert np.mean([one.effective for one in told]) == pytest.approx(
        np.mean([one.effective for one in came]), rel=0.08
    )


def test_noise_is_settled_by_repeats_and_persistent_differences_are_not() -> None:
    rng = np.random.default_rng(4)
    noisy = draw_repeats(rng, 2, 0.15, 1.0)
    assert judge(noisy, GATE).parity is Parity.CANNOT_TELL
    settled = repeats_to_settle(noisy, GATE)
    assert settled is not None
    assert settled > 2
    lasting = evidence_of(
        [2] * 66 + [0] * 60 + [2] * 1193, [0] * 66 + [2] * 60 + [2] * 1193, (2, 2)
    )
    verdict = judge(lasting, GATE)
    assert (verdict.parity, verdict.repeats) == (Parity.CANNOT_TELL, None)


def test_the_side_with_fewer_runs_is_the_one_that_repeats_wait_for() -> None:
    # One run of a side cannot show its noise: all discordance counts as such.
    seen = evidence_of([0] * 60 + [1] * 1259, [5] * 1259 + [0] * 60, (1, 5))
    assert judge(seen, GATE).parity is Parity.CANNOT_TELL
    assert judge(seen, GATE).repeats == 2


def test_repeats_make_the_smallest_drop_smaller_as_the_effective_number_grows() -> None:
    seen = draw_repeats(np.random.default_rng(4), 3, 0.05, 1.0)
    share = seen.cells.discordant / N
    assert seen.effective > 2.5 * N
    assert judge(seen, GATE).smallest[0] == smallest_drop(int(seen.effective), share)


def test_repeats_disagree_where_two_of_them_differ() -> None:
    answers = {"a": "xxx", "b": "xxy", "c": "xyz", "d": "zzz"}
    # Of 3 pairs of runs, b differs in 2 and c in 3: 5 of 12.
    assert disagreement(answers) == Disagreement(5 / 12, ("b", "c"))
    assert disagreement({"a": "x", "b": "y"}) is None
    assert disagreement({}) is None


# What it does to many simulated comparisons.


@pytest.mark.parametrize("noise", [0.0, 0.5, 1.0])
def test_false_alarms_of_three_runs_are_no_more_than_five_percent(noise: float) -> None:
    rng = np.random.default_rng(4)
    seen = [draw_repeats(rng, 3, 0.05, noise) for _ in range(2500)]
    assert 0.02 < np.mean([one.p <= 0.05 for one in seen]) <= 0.055


def test_answers_taken_for_questions_would_cry_wolf() -> None:
    rng = np.random.default_rng(4)
    seen = [draw_repeats(rng, 3, 0.05, 0.0) for _ in range(1000)]
    pooled = [mcnemar(round(3 * one.cells.lost), round(3 * one.cells.gained)) for one in seen]
    assert np.mean([p <= 0.05 for p in pooled]) > 0.1


def test_three_runs_find_a_drop_more_often_than_one() -> None:
    rng = np.random.default_rng(4)
    found = [
        np.mean([draw_repeats(rng, runs, 0.10, 1.0, 0.015).p <= 0.05 for _ in range(500)])
        for runs in (1, 3)
    ]
    assert found[0] < 0.6
    assert found[1] > found[0] + 0.2


@pytest.mark.parametrize("noise", [0.0, 0.5, 1.0])
def test_the_clustered_interval_covers_no_difference_as_often_as_it_says(noise: float) -> None:
    rng = np.random.default_rng(4)
    many = [draw_repeats(rng, 3, 0.05, noise) for _ in range(800)]
    seen = [paired_interval(one.effective_cells) for one in many]
    assert 0.93 <= np.mean([low <= 0 <= high for low, high in seen]) <= 0.97
