"""Runs side by side: refused where they are not of the same thing, else paired and judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

from evals.agreement import refuse_different, refuse_mixture, refuse_same
from evals.errors import NotComparable, UsageError
from evals.parity import PairVerdict, Parity, ParityGate, judge, stands
from evals.repeats import Evidence, evidence_of
from evals.saved import SavedRun
from evals.sides import Answers, Flip, Side, plain_text, side


@dataclass(frozen=True, slots=True)
class Comparison:
    """What runs of two systems show together, over the `compared` questions that all answered.

    `asked` is how many any was to be asked. `changed` is how many texts differ between a run of the
    baseline and one of the candidate, the mean over all such pairs. `flips` begin with the largest.
    `complete`: all were compared, in sound and whole runs. `stands`: worse, whatever the answers
    that are missing would have been.
    """

    baseline: Side
    candidate: Side
    asked: int
    compared: int
    verdict: PairVerdict
    changed: float
    flips: tuple[Flip, ...]
    complete: bool
    stands: bool

    @property
    def outcome(self) -> Parity | None:
        """The verdict that counts; None where the measurement is not complete enough for one."""
        if self.complete:
            return self.verdict.parity
        return Parity.WORSE if self.stands else None


def compare(
    baseline: SavedRun | Sequence[SavedRun],
    candidate: SavedRun | Sequence[SavedRun],
    gate: ParityGate | None = None,
    corrected: float | None = None,
) -> Comparison:
    """Pairs one run or several of either side question by question.

    `corrected` is this comparison's p among several (`holm`).

    Raises:
        UsageError: a side has no run, or two runs are one or copies of one.
        NotComparable: two runs differ in questions, protocol, shots, model or sampling, or those
            of a side are no repeats, one line that says in what; or no question was answered in
            all.
    """
    before, after = _runs(baseline, "baseline"), _runs(candidate, "candidate")
    runs, sizes = (*before, *after), (len(before), len(after))
    refuse_same(runs)
    for one, other in combinations(runs, 2):
        refuse_different(one, other)
    for role, repeats in (("baseline", before), ("candidate", after)):
        refuse_mixture(repeats, role)
    common = sorted(set.intersection(*(set(run.answered) for run in runs)))
    if not common:
        folders = " and ".join(str(run.folder) for run in runs)
        which = "both" if len(runs) == 2 else "all"
        raise NotComparable(f"{folders} have no question that {which} answered")
    first, second = _answers(before, common), _answers(after, common)
    flips = [Flip(key, (first[key], second[key])) for key in common]
    right = [flip.right for flip in flips]
    evidence = evidence_of([ours for ours, _ in right], [theirs for _, theirs in right], sizes)
    verdict = judge(evidence, gate or ParityGate(), corrected)
    asked = max(run.asked for run in runs)
    fit = all(run.sound and not run.partial and run.asked == asked for run in runs)
    return Comparison(
        baseline=side(before, first),
        candidate=side(after, second),
        asked=asked,
        compared=len(common),
        verdict=verdict,
        changed=sum(
            plain_text(one) != plain_text(other)
            for key in common
            for one, other in product(first[key], second[key])
        )
        / math.prod(sizes),
        flips=tuple(sorted((f for f in flips if f.drop), key=lambda flip: -abs(flip.drop))),
        complete=len(common) == asked and fit,
        stands=fit and stands(verdict, _at_worst(before, after, asked)),
    )


def _runs(given: SavedRun | Sequence[SavedRun], role: str) -> tuple[SavedRun, ...]:
    runs = (given,) if isinstance(given, SavedRun) else tuple(given)
    if not runs:
        raise UsageError(f"the {role} has no run")
    return runs


def _answers(runs: Sequence[SavedRun], questions: Sequence[str]) -> dict[str, Answers]:
    """Each question's answers, one a run."""
    answered = [run.answered for run in runs]
    return {key: tuple(records[key] for records in answered) for key in questions}


def _at_worst(before: Sequence[SavedRun], after: Sequence[SavedRun], asked: int) -> Evidence:
    """The evidence if every answer that is missing were wrong of the baseline, else right."""
    ours, theirs = ([run.answered for run in runs] for runs in (before, after))
    known = set[str]().union(*ours, *theirs)
    unknown = max(0, asked - len(known))
    first = [sum(key in run and run[key].right is True for run in ours) for key in known]
    second = [sum(key not in run or run[key].right is True for run in theirs) for key in known]
    sizes = len(before), len(after)
    return evidence_of(first + [0] * unknown, second + [len(after)] * unknown, sizes)
