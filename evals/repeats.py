"""Repeated runs of two systems on the same questions: the question is the unit of evidence. Pure.

Runs of one system agree in most answers, so K runs are worth less than K times the questions, and
K copies of one run are worth no more than that run.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from evals.paired import Cells, mcnemar


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the runs of a baseline and a candidate say together, `runs` of each.

    Of one question, the difference is between the shares of either's runs that are right. `cells`
    are the means over all pairs of a baseline's run and a candidate's; `lead` is lost less gained,
    exactly; `squares` the sum of the squared differences; `p` one-sided, of a drop. `within`, for
    either side, is the variance of one answer between repeats, summed over the questions; None
    where a side has one run, which cannot show it.
    """

    cells: Cells
    runs: tuple[int, int]
    lead: Fraction
    squares: float
    within: tuple[float, float] | None
    p: float

    @property
    def questions(self) -> int:
        return round(self.cells.questions)

    @property
    def effective(self) -> float:
        """How many questions, each asked once of either side, would show as much.

        The questions, divided by the design effect of asking each several times: the variance of
        the mean difference, over what it were if all answers were independent. From the questions
        themselves up to that many times the harmonic mean of the runs. Source: Kish, Survey
        Sampling (1965), 8.2; for intervals of proportions Korn and Graubard, Survey Methodology 24
        (1998) 193.
        """
        n, discordant = self.questions, self.cells.discordant
        if discordant == 0:
            return n
        most = 2 * n / (1 / self.runs[0] + 1 / self.runs[1])
        return max(n, min(most, n * discordant / self.squares)) if self.squares else most

    @property
    def effective_cells(self) -> Cells:
        """The same shares of so many questions. Of no questions: ZeroDivisionError."""
        return self.cells.times(self.effective / self.questions)

    def after(self, repeats: int) -> Evidence:
        """The forecast for so many runs of each side, the shares as they are.

        What differs between repeats shrinks with their number; what remains persists. Where a side
        has one run nothing tells the two apart: all discordance counts as noise between repeats,
        and where a question flips in every repeat it takes more of them.
        """
        if self.within is None:
            squares = self.cells.discordant / repeats
        else:
            noise = sum(v / runs for v, runs in zip(self.within, self.runs, strict=True))
            squares = max(0.0, self.squares - noise) + sum(self.within) / repeats
        later = replace(self, runs=(repeats, repeats), squares=squares)
        cells = later.effective_cells
        return replace(later, p=mcnemar(round(cells.lost), round(cells.gained)))


def single(cells: Cells) -> Evidence:
    """One run of each side. `p` is McNemar's."""
    lead = Fraction(cells.lost - cells.gained)
    p = mcnemar(round(cells.lost), round(cells.gained))
    return Evidence(cells, (1, 1), lead, cells.discordant, None, p)


def evidence_of(
    baseline: Sequence[int], candidate: Sequence[int], runs: tuple[int, int]
) -> Evidence:
    """The evidence of how many of its `runs` each side had right, one count a question."""
    ours, theirs = np.asarray(baseline, dtype=int), np.asarray(candidate, dtype=int)
    if ours.shape != theirs.shape:
        raise ValueError(f"{ours.shape} and {theirs.shape} counts are not of the same questions")
    first, second = runs
    unit = math.lcm(first, second)
    drops = ours * (unit // first) - theirs * (unit // second)
    pairs = first * second
    sums = (
        int(np.sum(one * other))
        for one in (ours, first - ours)
        for other in (theirs, second - theirs)
    )
    both, lost, gained, neither = (n if pairs == 1 else n / pairs for n in sums)
    return Evidence(
        cells=Cells(both, lost, gained, neither),
        runs=runs,
        lead=Fraction(int(drops.sum()), unit),
        squares=int((drops**2).sum()) / unit**2,
        within=(_within(ours, first), _within(theirs, second)) if min(runs) > 1 else None,
        p=sign_flip(drops.tolist()),
    )


def sign_flip(drops: Sequence[int]) -> float:
    """Exact one-sided p of a drop: P(sum of the drops, each with a fair sign, >= the observed sum).

    `drops` are the questions' drops in any unit that makes them whole; a gain is negative. Exact
    where both sides have equally many runs: if they are no different, swapping them changes
    nothing, whatever the repeats of one question have in common. Approximate otherwise. Where all
    drops are of one size it is McNemar's. 1 where there is no drop and no gain.

    Source: Fisher, The Design of Experiments (1935), section 21; Pitman, Supplement to the JRSS 4
    (1937) 119. Computed by convolution, one binomial for each size of drop.
    """
    from scipy.stats import binom  # a tenth of a second and 60 MB: not while measuring

    values = np.asarray(drops, dtype=int)
    chances = np.ones(1)  # of each sum over the questions whose sign came out as a drop
    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    for size, count in zip(sizes, counts, strict=True):
        steps = np.zeros(size * count + 1)
        steps[::size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chances = np.convolve(chances, steps)
    return min(1.0, float(chances[values[values > 0].sum() :].sum()))


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How runs of one system differ: the mean share of questions that two of them answer
    differently, and the questions that not all of them answer alike."""

    share: float
    questions: tuple[str, ...]


def disagreement(answers: Mapping[str, Sequence[Hashable]]) -> Disagreement | None:
    """Of each question's answers, one a run; None where there is one run, or no question."""
    differ = {
        question: [one != other for one, other in combinations(values, 2)]
        for question, values in answers.items()
    }
    pairs = sum(map(len, differ.values()))
    if not pairs:
        return None
    return Disagreement(
        share=sum(map(sum, differ.values())) / pairs,
        questions=tuple(question for question, found in differ.items() if any(found)),
    )


def _within(right: np.ndarray, runs: int) -> float:
    """The variance of one answer between repeats, without bias, summed over the questions."""
    return int((right * (runs - right)).sum()) / (runs * (runs - 1))
