"""Runs side by side: refused where they are not of the same thing, else paired and judged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from evals.errors import NotComparable, UsageError
from evals.identity import identity
from evals.parity import PairVerdict, Parity, ParityGate, judge, stands
from evals.records import Record
from evals.repeats import Evidence, evidence_of
from evals.saved import SavedRun
from evals.sides import Answers, Flip, Side, plain_text, side

MUST_AGREE = ("model", "protocol", "shots", "sampling")


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
        UsageError: a side has no run, a run is given twice, or those of a side are no repeats.
        NotComparable: two runs differ in questions, protocol, shots, model or sampling, one line
            that says in what; or no question was answered in all.
    """
    before, after = _runs(baseline, "baseline"), _runs(candidate, "candidate")
    runs, sizes = (*before, *after), (len(before), len(after))
    for one, other in combinations(runs, 2):
        refuse_different(one, other)
    for role, repeats in (("baseline", before), ("candidate", after)):
        _refuse_mixture(repeats, role)
    if both := {run.folder.resolve() for run in before} & {run.folder.resolve() for run in after}:
        raise UsageError(f"{min(both)} is given as a run of the baseline and of the candidate")
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


def refuse_different(baseline: SavedRun, candidate: SavedRun) -> None:
    """Raises NotComparable for runs that are not of the same thing."""
    found = differences(baseline.configuration, candidate.configuration)
    found = found or _prompts(baseline, candidate)
    if found:
        raise NotComparable(
            f"{baseline.folder} and {candidate.folder} cannot be compared: they differ in "
            + "; ".join(found)
        )


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """What of two configurations, one line each, makes their answers those to different things."""
    found = [
        f"{key} ({_shown(first[key], second[key])} and {_shown(second[key], first[key])})"
        for key in MUST_AGREE
        if first[key] != second[key]
    ]
    revisions = _revision(first), _revision(second)
    if None not in revisions and revisions[0] != revisions[1]:
        found.append(f"revision of the model ({revisions[0]} and {revisions[1]})")
    if first["questions"]["sha256"] != second["questions"]["sha256"]:
        found.append(f"questions ({_set(first)} and {_set(second)})")
    return found


def _prompts(baseline: SavedRun, candidate: SavedRun) -> list[str]:
    ours = {record.id: (record.prompt_sha256, record.gold) for record in baseline.records}
    others = [r.id for r in candidate.records if ours.get(r.id) not in (None, _asked(r))]
    return [f"the prompts of {len(others)} questions, the first {others[0]}"] if others else []


def _asked(record: Record) -> tuple[str, str]:
    return record.prompt_sha256, record.gold


def _shown(value: Any, other: Any) -> str:
    """A value; of an object only what differs."""
    if isinstance(value, dict) and isinstance(other, dict):
        value = {key: value.get(key) for key in value.keys() | other.keys()}
        value = {key: value[key] for key in sorted(value) if value[key] != other.get(key)}
    return json.dumps(value)


def _revision(configuration: Mapping[str, Any]) -> str | None:
    row = configuration.get("row")
    model = row.get("model") if isinstance(row, dict) else None
    return model.get("revision") if isinstance(model, dict) else None


def _set(configuration: Mapping[str, Any]) -> str:
    questions = configuration["questions"]
    return f"{questions.get('set')}, test {str(questions['sha256'].get('test'))[:12]}…"


def _runs(given: SavedRun | Sequence[SavedRun], role: str) -> tuple[SavedRun, ...]:
    runs = (given,) if isinstance(given, SavedRun) else tuple(given)
    if not runs:
        raise UsageError(f"the {role} has no run")
    folders = [run.folder.resolve() for run in runs]
    for run, folder in zip(runs, folders, strict=True):
        if folders.count(folder) > 1:
            raise UsageError(f"{run.folder} is given twice as a run of the {role}")
    return runs


def _refuse_mixture(runs: Sequence[SavedRun], role: str) -> None:
    """Raises UsageError for runs of one side that are no repeats of one row and build."""
    for one, other in combinations(runs, 2):
        rows = [run.configuration["name"] for run in (one, other)]
        servers = [identity(run.about) for run in (one, other)]
        found = []
        if rows[0] != rows[1]:
            found.append(f"row ({rows[0]} and {rows[1]})")
        if None not in servers and servers[0] != servers[1]:
            found.append(f"server ({_shown(*servers)} and {_shown(*reversed(servers))})")
        if found:
            raise UsageError(
                f"{one.folder} and {other.folder} are no repeats, as runs of the {role} must be: "
                f"they differ in {'; '.join(found)}"
            )


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
