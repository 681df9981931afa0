"""The runs of each row over time, from what lies on disk, and whether their accuracy drifts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from evals.agreement import differences
from evals.baseline.file import ENDING
from evals.errors import UsageError
from evals.points import Point, baseline_points, read_point
from evals.verdict import Counts

LEAST_FOR_TREND = 6  # whole runs


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
    that is a baseline too, or lies there twice, is one point, whose notes say so: it is known by
    its row, start and counts. Raises UsageError where a place is none, or all are empty.
    """
    found: dict[tuple[str, datetime, Counts], Point] = {}
    damaged = []
    for place in _places(places):
        try:
            points = baseline_points(place) if place.is_file() else [read_point(place)]
        except UsageError as error:
            damaged.append(str(error))
            continue
        for point in points:
            key = point.row, point.time, point.counts
            same = found.setdefault(key, point)
            if same is not point:
                more = point.notes if point.is_baseline else (f"also lies in {point.where}",)
                found[key] = replace(same, notes=(*same.notes, *more))
    if not found and not damaged:
        raise UsageError(f"no run and no baseline under {', '.join(map(str, places))}")
    rows: dict[str, list[Point]] = {}
    for point in sorted(found.values(), key=lambda point: (point.row, point.time)):
        rows.setdefault(point.row, []).append(point)
    return {row: _of_one_thing(points) for row, points in rows.items()}, damaged


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
    """Run folders, then files of baselines, each once."""
    seen: dict[Path, Path] = {}
    for place in given:
        if place.is_file():
            found = [place]
        elif place.is_dir():
            found = [file.parent for file in place.rglob("run.json")]
            found += place.rglob(f"*{ENDING}")
        else:
            is_what = "is neither a folder of runs nor the file of a baseline"
            raise UsageError(f"{place} {is_what if place.exists() else 'does not exist'}")
        for each in found:
            seen.setdefault(each.resolve(), each)
    return sorted(seen.values(), key=lambda place: (place.is_file(), place))


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
