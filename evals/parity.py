"""From a pair's four cells to a verdict: worse, no worse, or cannot tell. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evals.paired import Cells, least_lead, mcnemar, paired_interval, smallest_drop

MOST_REPEATS = 100


@dataclass(frozen=True, slots=True)
class ParityGate:
    """How surely (`alpha`, one-sided) and how much above `tolerance` a drop must be to fail."""

    alpha: float = 0.05
    tolerance: float = 0.0075


class Parity(StrEnum):
    WORSE = "worse"
    NO_WORSE = "no worse"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What a pair shows. `p` is McNemar's, `corrected` for the pairs of one session (Holm).

    `interval` is of the difference, candidate less baseline. `smallest` is the smallest drop that
    this pair would have found with 80% power, by the test alone and by test and tolerance together.
    `repeats` is how many repeats would settle a verdict of cannot tell; None: it is settled, or
    more than `MOST_REPEATS`.
    """

    parity: Parity
    cells: Cells
    gate: ParityGate
    p: float
    corrected: float
    interval: tuple[float, float]
    smallest: tuple[float | None, float | None]
    repeats: int | None


def judge_pair(cells: Cells, gate: ParityGate, corrected: float | None = None) -> PairVerdict:
    """The verdict on one pair; `corrected` is its p among several, where there are several.

    Worse: significant, and the observed drop is above the tolerance. No worse: the interval of the
    difference excludes a drop above twice the tolerance. Cannot tell: anything else. A pair that is
    both, surely worse by surely little, is worse. ValueError for no questions.
    """
    p = mcnemar(cells.lost, cells.gained)
    corrected = p if corrected is None else corrected
    factor = corrected / p if p else 1.0
    interval = paired_interval(cells)
    parity = _parity(cells, gate, corrected, interval)
    n, share, alpha = cells.questions, cells.discordant / cells.questions, gate.alpha / factor
    return PairVerdict(
        parity=parity,
        cells=cells,
        gate=gate,
        p=p,
        corrected=corrected,
        interval=interval,
        smallest=(
            smallest_drop(n, share, alpha),
            smallest_drop(n, share, alpha, gate.tolerance),
        ),
        repeats=repeats_to_settle(cells, gate, factor) if parity is Parity.CANNOT_TELL else None,
    )


def repeats_to_settle(cells: Cells, gate: ParityGate, factor: float = 1.0) -> int | None:
    """The least number of such pairs which, pooled, would be settled; None above `MOST_REPEATS`.

    `factor` is what p is multiplied by for being one of several. A forecast: the shares stay as
    they are, and repeats are independent, so that all discordance is noise between repeats. Where a
    question flips in every repeat it takes more, and a drop near the tolerance may move across it.
    """
    for repeats in range(2, MOST_REPEATS + 1):
        pooled = cells.times(repeats)
        p = min(1.0, factor * mcnemar(pooled.lost, pooled.gained))
        if _parity(pooled, gate, p, paired_interval(pooled)) is not Parity.CANNOT_TELL:
            return repeats
    return None


def stands(verdict: PairVerdict, worst: Cells) -> bool:
    """Whether worse remains worse if the cells, with what is missing, were `worst`."""
    if verdict.parity is not Parity.WORSE:
        return False
    factor = verdict.corrected / verdict.p if verdict.p else 1.0
    corrected = min(1.0, factor * mcnemar(worst.lost, worst.gained))
    return _parity(worst, verdict.gate, corrected, paired_interval(worst)) is Parity.WORSE


def _parity(
    cells: Cells, gate: ParityGate, corrected: float, interval: tuple[float, float]
) -> Parity:
    lead = cells.lost - cells.gained
    if corrected <= gate.alpha and lead >= least_lead(cells.questions, gate.tolerance):
        return Parity.WORSE
    return Parity.NO_WORSE if interval[0] >= -2 * gate.tolerance else Parity.CANNOT_TELL
