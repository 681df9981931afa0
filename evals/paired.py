"""Two systems on the same questions: what the questions that they answer differently say.

Shares and differences are fractions, not points; a difference is candidate less baseline, a drop
the same with its sign turned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

CONFIDENCE = 0.95
POWER = 0.8
NEGLIGIBLE = 1e-12  # numbers of discordant questions less likely than this are passed over
BESIDE = 1e-9


@dataclass(frozen=True, slots=True)
class Cells:
    """Questions by who is right: both, only the baseline (lost), only the candidate (gained), none.

    `lost` and `gained` are the discordant ones, b and c of McNemar's table. Whole numbers for one
    run of each; means over pairs of runs need not be.
    """

    both: float
    lost: float
    gained: float
    neither: float

    @property
    def questions(self) -> float:
        return self.both + self.discordant + self.neither

    @property
    def discordant(self) -> float:
        return self.lost + self.gained

    @property
    def drop(self) -> float:
        """The baseline's accuracy less the candidate's. Of no questions: ZeroDivisionError."""
        return (self.lost - self.gained) / self.questions

    def times(self, factor: float) -> Cells:
        """The same shares of `factor` times as many questions."""
        return Cells(*(factor * n for n in (self.both, self.lost, self.gained, self.neither)))


def mcnemar(lost: int, gained: int) -> float:
    """Exact one-sided p that the candidate is worse: P(Binomial(lost + gained, 1/2) >= lost).

    Source: McNemar, Psychometrika 12 (1947) 153, with the binomial in place of its approximation.
    1 where no question is discordant. Computed by scipy.
    """
    from scipy.stats import binom  # a tenth of a second and 60 MB: not while measuring

    return float(binom.sf(lost - 1, lost + gained, 0.5))


def critical(discordant: int, alpha: float) -> int:
    """The least `lost` of so many discordant questions that is significant; 9 of 10 at 5%.

    One more than all of them where none is.
    """
    from scipy.stats import binom

    return int(binom.isf(alpha, discordant, 0.5)) + 1


def least_lead(questions: int, tolerance: float) -> int:
    """The least `lost - gained` that is a drop above `tolerance`: 10 of 1319 at 0.0075. Exact."""
    return math.floor(Fraction(str(tolerance)) * questions) + 1


def paired_interval(cells: Cells, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Tango's score interval of the difference, candidate less baseline.

    Inverts the score test whose null at no difference is McNemar's; it needs no correction where
    few questions or none are discordant. Source: Tango, Statistics in Medicine 17 (1998) 891;
    recommended by Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014) 2850.
    """
    from scipy.optimize import brentq
    from scipy.stats import norm

    if cells.questions == 0:
        raise ValueError("no questions have no interval")
    z = float(norm.isf((1 - confidence) / 2))
    n, gained, lost = cells.questions, cells.gained, cells.lost
    difference = (gained - lost) / n

    def excess(delta: float, side: float) -> float:
        """What the observed difference lies above `delta`, less `side` standard errors."""
        half = lost + gained - (2 * n + lost - gained) * delta
        root = math.sqrt(max(0.0, half**2 + 8 * n * lost * delta * (1 - delta)))
        nuisance = (root + half) / (4 * n)  # the share lost, most likely under `delta`
        variance = max(0.0, n * (2 * nuisance + delta * (1 - delta)))
        return gained - lost - n * delta - side * math.sqrt(variance)

    # From beside the difference itself, which is a root of its own where the variance is 0 there.
    low = -1.0 if difference == -1 else brentq(excess, -1.0, difference - BESIDE, args=(z,))
    high = 1.0 if difference == 1 else brentq(excess, difference + BESIDE, 1.0, args=(-z,))
    return float(low), float(high)


def chance_to_find(
    questions: int, discordant: float, drop: float, alpha: float = 0.05, tolerance: float = 0.0
) -> float:
    """The chance that a true `drop` is significant and observed above `tolerance`; exact.

    `discordant` is the share of questions that the two answer differently, at least `drop`.
    At no drop it is the chance of a false alarm. Questions count as drawn anew: each is lost,
    gained or concordant with the same chances. ValueError where `discordant` is below `drop`.
    """
    from scipy.stats import binom

    if not abs(drop) <= discordant <= 1:
        raise ValueError(f"a drop of {drop} needs a discordant share between it and 1")
    counts, needed = _needed(questions, alpha, tolerance)
    if discordant == 0:
        return 0.0
    chances = binom.pmf(counts, questions, discordant)
    some = chances > NEGLIGIBLE
    found = binom.sf(needed[some] - 1, counts[some], (1 + drop / discordant) / 2)
    return float((chances[some] * found).sum())


@cache
def _needed(questions: int, alpha: float, tolerance: float) -> tuple[Any, Any]:
    """Every number of discordant questions, and the least lost of it that makes a finding."""
    import numpy as np
    from scipy.stats import binom

    counts = np.arange(questions + 1)
    significant = binom.isf(alpha, counts, 0.5).astype(int) + 1
    significant[0] = 1  # of none, none is
    lead = least_lead(questions, tolerance) if tolerance else 1
    return counts, np.maximum(significant, (counts + lead + 1) // 2)


def smallest_drop(
    questions: int,
    discordant: float,
    alpha: float = 0.05,
    tolerance: float = 0.0,
    power: float = POWER,
) -> float | None:
    """The smallest true drop that is found with this power; None where even all would not be.

    At a discordant share of `discordant`, or of the drop itself where that is more.
    """

    def short(drop: float) -> float:
        return power - chance_to_find(questions, max(discordant, drop), drop, alpha, tolerance)

    if short(1.0) > 0:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) > 0 else (low, middle)
    return high


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for being several, in the order given; compare each with alpha.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979) 65.
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected
