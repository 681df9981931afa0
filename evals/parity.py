"""From the evidence of two systems' runs to a verdict: worse, no worse, or cannot tell. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from evals.paired import Cells, paired_interval, smallest_drop
from evals.repeats import Evidence, single

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
    """What the runs show. `p` is McNemar's or, of repeats, the sign-flip test's; `corrected` for
    the pairs of one session (Holm).

    `interval` is of the difference, candidate less baseline, `effective` the number of questions
    that it rests on. `smallest` is the smallest drop that this would have found with 80% power, by
    the test alone and by test and tolerance together. `repeats` is how many runs of each side would
    settle a verdict of cannot tell; None: it is settled, or more than `MOST_REPEATS`.
    """

    parity: Parity
    cells: Cells
    gate: ParityGate
    p: float
    corrected: float
    interval: tuple[float, float]
    effective: float
    smallest: tuple[float | None, float | None]
    repeats: int | None


def judge_pair(cells: Cells, gate: ParityGate, corrected: float | None = None) -> PairVerdict:
    """The verdict on one run of each side, as `judge`."""
    return judge(single(cells), gate, corrected)


def judge(evidence: Evidence, gate: ParityGate, corrected: float | None = None) -> PairVerdict:
    """The verdict on two systems; `corrected` is their p among several, where there are several.

    Worse: significant, and the observed drop is above the tolerance. No worse: the interval of the
    difference excludes a drop above twice the tolerance. Cannot tell: anything else. What is both,
    surely worse by surely little, is worse. ValueError for no questions.
    """
    if evidence.questions == 0:
        raise ValueError("no questions have no verdict")
    cells, p = evidence.cells, evidence.p
    corrected = p if corrected is None else corrected
    factor = corrected / p if p else 1.0
    parity = parity_of(evidence, gate, corrected)
    share, alpha = cells.discordant / evidence.questions, gate.alpha / factor
    effective = math.floor(evidence.effective)
    return PairVerdict(
        parity=parity,
        cells=cells,
        gate=gate,
        p=p,
        corrected=corrected,
        interval=paired_interval(evidence.effective_cells),
        effective=evidence.effective,
        smallest=(
            smallest_drop(effective, share, alpha),
            smallest_drop(effective, share, alpha, gate.tolerance),
        ),
        repeats=repeats_to_settle(evidence, gate, factor) if parity is Parity.CANNOT_TELL else None,
    )


def repeats_to_settle(evidence: Evidence, gate: ParityGate, factor: float = 1.0) -> int | None:
    """The least number of runs of each side that would settle it; None above `MOST_REPEATS`.

    `factor` is what p is multiplied by for being one of several. A forecast, `Evidence.after`: the
    shares stay as they are, so a drop near the tolerance may move across it.
    """
    for repeats in range(min(evidence.runs) + 1, MOST_REPEATS + 1):
        later = evidence.after(repeats)
        if parity_of(later, gate, min(1.0, factor * later.p)) is not Parity.CANNOT_TELL:
            return repeats
    return None


def stands(verdict: PairVerdict, worst: Evidence) -> bool:
    """Whether worse remains worse if the evidence, with what is missing, were `worst`."""
    if verdict.parity is not Parity.WORSE:
        return False
    factor = verdict.corrected / verdict.p if verdict.p else 1.0
    return parity_of(worst, verdict.gate, min(1.0, factor * worst.p)) is Parity.WORSE


def parity_of(evidence: Evidence, gate: ParityGate, corrected: float) -> Parity:
    """The verdict alone, without what it would have found."""
    above = evidence.lead > Fraction(str(gate.tolerance)) * evidence.questions
    if corrected <= gate.alpha and above:
        return Parity.WORSE
    low, _ = paired_interval(evidence.effective_cells)
    return Parity.NO_WORSE if low >= -2 * gate.tolerance else Parity.CANNOT_TELL
