"""The runs of a row over time, read from what lies on disk, as cheaply as is honest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.baseline.check import runs_of
from evals.baseline.file import ENDING
from evals.baseline.store import load_baseline
from evals.compare import differences
from evals.errors import UsageError
from evals.records import read_run
from evals.saved import SavedRun, check_configuration, load_run, read_verdict
from evals.scoring import count, tokens_per_second
from evals.task import identity
from evals.verdict import Counts, Outcome

LEAST_FOR_TREND = 6  # whole runs


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


@dataclass(frozen=True, slots=True)
class Trend:
    """A line of least squares through the accuracies of `runs` whole runs, over `days` days.

    `change` is what it rises over all of these days, `p` the two-sided one of no slope.
    """

    runs: int
    days: float
    change: float
    p: float


def read_history(places: Sequence[Path]) -> tuple[dict[str, list[Point]], list[str]]:
    """The points of each row in the order of their start, and one line for each damaged run.

    `places` are files of baselines, run folders, or folders that hold either at any depth. A run
    that is a baseline too is one point. Raises UsageError where a place is none, or all are empty.
    """
    found: dict[tuple[str, datetime], Point] = {}
    damaged = []
    for place in _places(places):
        try:
            points = _baseline_points(place) if place.is_file() else [read_point(place)]
        except UsageError as error:
            damaged.append(str(error))
            continue
        for point in points:
            same = found.get((point.row, point.time), point)
            notes = tuple(dict.fromkeys((*same.notes, *point.notes)))
            found[point.row, point.time] = replace(same, notes=notes)
    if not found and not damaged:
        raise UsageError(f"no run and no baseline under {', '.join(map(str, places))}")
    rows: dict[str, list[Point]] = {}
    for point in sorted(found.values(), key=lambda point: (point.row, point.time)):
        rows.setdefault(point.row, []).append(point)
    return {row: _of_one_thing(points) for row, points in rows.items()}, damaged


def read_point(folder: Path) -> Point:
    """One run. Its records are read only where its verdict does not tell what they come to.

    Raises UsageError for a damaged run.
    """
    about, verdict = read_run(folder), read_verdict(folder)
    check_configuration(about, folder)
    runs = verdict.get("runs")
    alone = isinstance(runs, list) and len(runs) == 1  # not pooled with others
    point = _point_of_verdict(folder, about, verdict) if alone else None
    if point is None or _lines(folder / "answers.jsonl") != _counted(point.counts):
        run = load_run(folder, damaged=True)
        notes = run.labels or ("no verdict of its own",)
        point = _point_of_run(run, notes, whole=not run.labels)
    return point


def trend(points: Sequence[Point]) -> Trend | None:
    """None of fewer than six whole runs, or of runs that all began at the same time."""
    whole = [point for point in points if point.whole]
    days = [(point.time - whole[0].time).total_seconds() / 86400 for point in whole]
    if len(whole) < LEAST_FOR_TREND or days[-1] == 0:
        return None
    from scipy.stats import linregress

    accuracies = [point.counts.accuracy for point in whole]
    if len(set(accuracies)) == 1:
        return Trend(len(whole), days[-1], 0.0, 1.0)
    line = linregress(days, accuracies)
    return Trend(len(whole), days[-1], float(line.slope) * days[-1], float(line.pvalue))


def _places(given: Sequence[Path]) -> Iterable[Path]:
    """Run folders and files of baselines, each once."""
    seen: dict[Path, Path] = {}
    for place in given:
        if place.is_file():
            found = [place]
        elif place.is_dir():
            found = [file.parent for file in place.rglob("run.json")]
            found += place.rglob(f"*{ENDING}")
        else:
            raise UsageError(f"{place} is neither a folder of runs nor the file of a baseline")
        for each in found:
            seen.setdefault(each.resolve(), each)
    return sorted(seen.values())


def _baseline_points(file: Path) -> list[Point]:
    baseline = load_baseline(file)
    note = f"baseline{f': {baseline.note}' if baseline.note else ''}"
    return [
        replace(_point_of_run(run, [note], whole=True), tokens_per_second=repeat.tokens_per_second)
        for run, repeat in zip(runs_of(baseline, file), baseline.runs, strict=True)
    ]


def _point_of_verdict(folder: Path, about: Mapping[str, Any], verdict: Mapping[str, Any]) -> Point:
    """The run as its verdict tells of it. Raises UsageError for a damaged one."""
    try:
        counts = Counts(**{name: int(number) for name, number in verdict["counts"].items()})
        outcome, stopped = Outcome(verdict["outcome"]), verdict["stopped"]
        gate, reasons = verdict["gate"], verdict["reasons"]
        seconds, tokens = float(verdict["seconds"]), verdict["tokens_per_second"]
        tokens = None if tokens is None else float(tokens)
        asked, required = int(verdict["questions"]), gate and float(gate["accuracy"])
        reasons = "; ".join(reasons)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(f"{folder / 'verdict.json'} is damaged") from None
    notes = [f"stopped early: {stopped}"] if stopped else []
    notes += [f"no verdict: {reasons}"] if outcome is Outcome.NO_VERDICT else []
    notes += ["failed its gate"] if outcome is Outcome.FAIL else []
    return Point(
        where=folder,
        row=about["configuration"]["name"],
        time=_time(about, folder),
        about=about,
        counts=counts,
        seconds=seconds,
        tokens_per_second=tokens,
        gate=required,
        notes=tuple(notes),
        whole=outcome is not Outcome.NO_VERDICT and counts.answered == asked,
    )


def _point_of_run(run: SavedRun, notes: Sequence[str], *, whole: bool) -> Point:
    row = run.configuration.get("row")
    gate = row.get("gate") if isinstance(row, dict) else None
    return Point(
        where=run.folder,
        row=run.configuration["name"],
        time=_time(run.about, run.folder),
        about=run.about,
        counts=sum(map(count, run.records), Counts()),
        seconds=run.seconds,
        tokens_per_second=tokens_per_second(run.records, run.seconds),
        gate=gate.get("accuracy") if isinstance(gate, dict) else None,
        notes=tuple(notes),
        whole=whole,
    )


def _of_one_thing(points: list[Point]) -> list[Point]:
    """Points of other questions, or asked otherwise, than the latest whole one are marked so."""
    whole = [point for point in points if point.whole]
    if not whole:
        return points
    latest = whole[-1].about["configuration"]
    marked = []
    for point in points:
        found = differences(point.about["configuration"], latest)
        if found:
            notes = (*point.notes, f"not as the latest run: {'; '.join(found)}")
            point = replace(point, whole=False, notes=notes)
        marked.append(point)
    return marked


def _time(about: Mapping[str, Any], folder: Path) -> datetime:
    attempts = about["attempts"] or [{}]
    started = about.get("started") or attempts[0].get("started")
    try:
        time = datetime.fromisoformat(str(started))
    except ValueError:
        raise UsageError(f"{folder / 'run.json'} does not tell when it started") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _lines(file: Path) -> int:
    """How many records it should hold: lines that end, found without reading any."""
    try:
        return file.read_bytes().count(b"\n")
    except OSError:
        return -1  # the reader of records tells


def _counted(counts: Counts) -> int:
    return counts.answered + counts.failed
