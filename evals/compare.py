"""Two runs side by side: refused where they are not of the same thing, else paired and judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evals.errors import NotComparable
from evals.paired import Cells
from evals.parity import PairVerdict, Parity, ParityGate, judge_pair, stands
from evals.records import Record
from evals.saved import SavedRun
from evals.scoring import count
from evals.verdict import Counts

MUST_AGREE = ("model", "protocol", "shots", "sampling")


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that one answers rightly and the other does not; lost: the candidate does not."""

    id: str
    lost: bool
    baseline: Record
    candidate: Record


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two runs show together, over the `compared` questions that both answered.

    `asked` is how many either was to be asked; counts are over the questions compared. `complete`:
    all were, in two sound and whole runs. `stands`: worse, whatever the questions that are missing
    would have brought.
    """

    baseline: SavedRun
    candidate: SavedRun
    asked: int
    compared: int
    counts: tuple[Counts, Counts]
    verdict: PairVerdict
    changed: int
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
    baseline: SavedRun,
    candidate: SavedRun,
    gate: ParityGate | None = None,
    corrected: float | None = None,
) -> Comparison:
    """Pairs two runs question by question; `corrected` is this pair's p among several (`holm`).

    Raises:
        NotComparable: they differ in questions, protocol, shots, model or sampling, one line that
            says in what; or no question was answered in both.
    """
    gate = gate or ParityGate()
    refuse_different(baseline, candidate)
    ours, theirs = baseline.answered, candidate.answered
    pairs = [(ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys())]
    if not pairs:
        raise NotComparable(
            f"{baseline.folder} and {candidate.folder} have no question that both answered"
        )
    asked = max(baseline.asked, candidate.asked)
    verdict = judge_pair(cells_of(pairs), gate, corrected)
    worst = _at_worst(ours, theirs, asked, verdict.cells)
    partial = baseline.partial or candidate.partial or baseline.asked != candidate.asked
    sound = baseline.sound and candidate.sound
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        asked=asked,
        compared=len(pairs),
        counts=(
            sum((count(first) for first, _ in pairs), Counts()),
            sum((count(second) for _, second in pairs), Counts()),
        ),
        verdict=verdict,
        changed=sum(not same_text(first, second) for first, second in pairs),
        flips=tuple(
            Flip(first.id, first.right is True, first, second)
            for first, second in pairs
            if first.right is not second.right
        ),
        complete=len(pairs) == asked and sound and not partial,
        stands=sound and not partial and stands(verdict, worst),
    )


def cells_of(pairs: list[tuple[Record, Record]]) -> Cells:
    """The four cells of pairs of answers, the baseline's first."""
    seen = [(first.right is True, second.right is True) for first, second in pairs]
    return Cells(
        both=seen.count((True, True)),
        lost=seen.count((True, False)),
        gained=seen.count((False, True)),
        neither=seen.count((False, False)),
    )


def same_text(first: Record, second: Record) -> bool:
    """Trailing blanks aside: engines differ in whether those before a stop text belong to it."""
    return (first.text or "").rstrip() == (second.text or "").rstrip()


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


def _at_worst(
    ours: Mapping[str, Record], theirs: Mapping[str, Record], asked: int, cells: Cells
) -> Cells:
    """The cells if every question that is missing and may be a gain were one."""
    no_gain = sum(ours[key].right is True for key in ours.keys() - theirs.keys())
    no_gain += sum(theirs[key].right is not True for key in theirs.keys() - ours.keys())
    gains = asked - cells.questions - no_gain
    return replace(cells, gained=cells.gained + gains, both=cells.both + no_gain)
