"""A run as a point of its row's history, read as cheaply as is honest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.baseline.check import runs_of
from evals.baseline.file import ENDING
from evals.baseline.store import load_baseline
from evals.errors import UsageError
from evals.identity import identity
from evals.records import is_number, read_run
from evals.saved import SavedRun, check_configuration, labels_of, load_run, read_verdict
from evals.scoring import count, tokens_per_second
from evals.verdict import Counts, Outcome

YEARS = range(1970, 3000)  # 1970 is what a machine without a clock tells


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a row; `notes` say what else is to be known of it.

    `whole`: every question was answered, and the same was asked as by the row's latest whole run.
    `gate` is the accuracy that its row must reach, where one is known.
    """

    where: Path
    row: str
    time: datetime
    about: Mapping[str, Any]
    counts: Counts
    seconds: float
    tokens_per_second: float | None
    gate: float | None
    notes: tuple[str, ...]
    whole: bool

    @property
    def is_baseline(self) -> bool:
        """Read from a baseline: there is no run folder."""
        return ENDING in self.where.name

    @property
    def server(self) -> dict[str, Any] | None:
        return identity(self.about)


def read_point(folder: Path) -> Point:
    """One run. Its records are read only where no file beside them tells what they come to.

    Raises UsageError for a damaged run.
    """
    about, verdict = read_run(folder), read_verdict(folder)
    check_configuration(about, folder)
    runs = verdict.get("runs")
    alone = isinstance(runs, list) and len(runs) == 1  # not pooled with others
    point = _point_of_verdict(folder, about, verdict) if alone else _point_of_counts(folder, about)
    if point is None or _lines(folder / "answers.jsonl") != _counted(point.counts):
        run = load_run(folder, damaged=True)
        notes = run.labels or ("no verdict of its own",)
        point = _point_of_run(run, notes, whole=not run.labels)
    return point


def baseline_points(file: Path) -> list[Point]:
    """One a repeat. Raises UsageError for a damaged file."""
    baseline = load_baseline(file)
    note = f"baseline{f': {baseline.note}' if baseline.note else ''}"
    return [
        replace(_point_of_run(run, [note], whole=True), tokens_per_second=repeat.tokens_per_second)
        for run, repeat in zip(runs_of(baseline, file), baseline.runs, strict=True)
    ]


def _point_of_verdict(folder: Path, about: Mapping[str, Any], verdict: Mapping[str, Any]) -> Point:
    """The run as its verdict tells of it. Raises UsageError for a damaged one."""
    try:
        counts = _counts(verdict["counts"])
        outcome, stopped = Outcome(verdict["outcome"]), verdict["stopped"]
        gate, reasons = verdict["gate"], verdict["reasons"]
        seconds, tokens = _number(verdict["seconds"]), verdict["tokens_per_second"]
        tokens = None if tokens is None else _number(tokens)
        asked, required = verdict["questions"], None if gate is None else _number(gate["accuracy"])
        reasons = "; ".join(reasons)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(f"{folder / 'verdict.json'} is damaged") from None
    notes = [f"stopped early: {stopped}"] if stopped else []
    notes += [f"no verdict: {reasons}"] if outcome is Outcome.NO_VERDICT else []
    notes += ["failed its gate"] if outcome is Outcome.FAIL else []
    return Point(
        **_whose(folder, about),
        counts=counts,
        seconds=seconds,
        tokens_per_second=tokens,
        gate=required,
        notes=tuple(notes),
        whole=outcome is not Outcome.NO_VERDICT and counts.answered == asked,
    )


def _point_of_counts(folder: Path, about: Mapping[str, Any]) -> Point | None:
    """A run that was judged with others, or not at all, by its own counts. None: it has none."""
    try:
        counts = _counts(about["counts"])
        seconds = sum(float(attempt.get("seconds", 0.0)) for attempt in about["attempts"])
        tokens, partial = about["completion_tokens"], bool(about["partial"])
        tokens = None if tokens is None else _number(tokens)
        labels = labels_of(about, partial, counts.answered, counts.failed)
        labels += [about["otherwise"]] if about.get("otherwise") else []
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return Point(
        **_whose(folder, about),
        counts=counts,
        seconds=seconds,
        tokens_per_second=round(tokens / seconds, 1) if tokens and seconds else None,
        gate=_required(about["configuration"]),
        notes=tuple(labels) or ("no verdict of its own",),
        whole=not labels,
    )


def _whose(where: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """The run that a point is of."""
    row, time = about["configuration"]["name"], _time(about, where)
    return {"where": where, "row": row, "time": time, "about": about}


def _counts(told: Mapping[str, Any]) -> Counts:
    """Raises what a damaged file brings: AttributeError, TypeError or ValueError."""
    return Counts(**{name: int(_number(count)) for name, count in told.items()})


def _number(value: Any) -> float:
    if not is_number(value):
        raise ValueError
    return float(value)


def _required(configuration: Mapping[str, Any]) -> float | None:
    row = configuration.get("row")
    gate = row.get("gate") if isinstance(row, dict) else None
    required = gate.get("accuracy") if isinstance(gate, dict) else None
    return _number(required) if is_number(required) else None


def _point_of_run(run: SavedRun, notes: Sequence[str], *, whole: bool) -> Point:
    return Point(
        **_whose(run.folder, run.about),
        counts=sum(map(count, run.records), Counts()),
        seconds=run.seconds,
        tokens_per_second=tokens_per_second(run.records, run.seconds),
        gate=_required(run.configuration),
        notes=tuple(notes),
        whole=whole,
    )


def _time(about: Mapping[str, Any], folder: Path) -> datetime:
    """In UTC, as which a time without a zone is read; of a year that a figure's axis can span."""
    attempts = about["attempts"] or [{}]
    started = about.get("started") or attempts[0].get("started")
    try:
        time = datetime.fromisoformat(str(started))
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        if time.year not in YEARS:
            raise ValueError
    except (ValueError, OverflowError):
        raise UsageError(f"{folder} does not tell when it started ({started!r})") from None
    return time


def _lines(file: Path) -> int:
    """How many records it should hold: lines that end, found without reading any."""
    try:
        return file.read_bytes().count(b"\n")
    except OSError:
        return -1  # the reader of records tells


def _counted(counts: Counts) -> int:
    return counts.answered + counts.failed
