"""The runs of a row over time as plain text, and as values for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC
from typing import Any

from evals.history import LEAST_FOR_TREND, trend
from evals.points import Point
from evals.records import FORMAT
from evals.report.baseline import commit_text, version_text
from evals.report.table import aligned
from evals.statistics import wilson_interval

HEADER = (
    "time (UTC)", "commit", "version", "accuracy", "95% interval", "invalid", "failed", "tok/s",
    "seconds", "note",
)  # fmt: skip
ROWS_HEADER = ("row", "runs", "whole", "latest whole", *HEADER[3:6], HEADER[7])
SIGNIFICANT = 0.05


def history_text(row: str, points: Sequence[Point]) -> str:
    """The table of one row's runs, and what they say of a drift."""
    lines = [(*_when(point), *_figures(point), "; ".join(point.notes)) for point in points]
    table = aligned([HEADER, *lines], left=(0, 1, 2, 9))
    runs = "1 run" if len(points) == 1 else f"{len(points)} runs"
    return f"{row}: {runs}\n{table}\n{trend_text(points)}"


def rows_text(rows: Mapping[str, Sequence[Point]]) -> str:
    """A line a row, with the figures of its latest whole run."""
    lines = []
    for row, points in rows.items():
        whole = [point for point in points if point.whole]
        time = _when(whole[-1])[0] if whole else "-"
        figures = _figures(whole[-1]) if whole else ("-",) * 6
        told = (str(len(points)), str(len(whole)), time, *figures[:3], figures[4])
        lines.append((row, *told))
    return aligned([ROWS_HEADER, *lines], left=(0, 3)) + "\n--row=ROW shows the runs of one"


def trend_text(points: Sequence[Point]) -> str:
    """One sentence, and where there is a drift what to run next."""
    seen = trend(points)
    if seen is None:
        return f"trend: not told of fewer than {LEAST_FOR_TREND} whole runs"
    line = (
        f"trend: {100 * seen.change:+.2f} points over {seen.runs} whole runs in {seen.days:.1f} "
        f"days, by least squares (two-sided p = {seen.p:.2g})"
    )
    if seen.p > SIGNIFICANT:
        return f"{line}: no drift is shown"
    line += ": a drift, or chance"
    runs = [str(point.where) for point in points if point.whole and not point.is_baseline]
    return f"{line}; next: python -m evals compare {runs[0]} {runs[-1]}" if runs[1:] else line


def history_values(rows: Mapping[str, Sequence[Point]], damaged: Sequence[str]) -> dict[str, Any]:
    """The same for a file."""
    return {
        "format": FORMAT,
        "damaged": list(damaged),
        "rows": {
            row: {"runs": [_values(point) for point in points], "trend": _trend_values(points)}
            for row, points in rows.items()
        },
    }


def interval(point: Point) -> tuple[float, float] | None:
    """Wilson's 95% one over the questions answered; None where none was."""
    answered = point.counts.answered
    return wilson_interval(point.counts.right, answered) if answered else None


def _values(point: Point) -> dict[str, Any]:
    return {
        "where": str(point.where),
        "time": point.time.isoformat(),
        "commit": point.about.get("commit"),
        "server": point.server,
        "accuracy": point.counts.accuracy,
        "interval": interval(point),
        "counts": asdict(point.counts),
        "tokens_per_second": point.tokens_per_second,
        "seconds": point.seconds,
        "gate": point.gate,
        "whole": point.whole,
        "notes": point.notes,
    }


def _trend_values(points: Sequence[Point]) -> dict[str, Any] | None:
    seen = trend(points)
    return None if seen is None else asdict(seen)


def _when(point: Point) -> tuple[str, str, str]:
    time = f"{point.time.astimezone(UTC):%Y-%m-%d %H:%M}"
    return time, commit_text(point.about.get("commit")), version_text(point.server)


def _figures(point: Point) -> tuple[str, ...]:
    counts, bounds, speed = point.counts, interval(point), point.tokens_per_second
    return (
        "-" if counts.accuracy is None else f"{counts.accuracy:.4f}",
        "-" if bounds is None else "{:.4f} to {:.4f}".format(*bounds),
        str(counts.invalid),
        str(counts.failed),
        "-" if speed is None else f"{speed:.0f}",
        f"{point.seconds:.1f}",
    )
