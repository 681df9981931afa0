"""The runs of a row over time as a figure (extra `report`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.errors import RecordsNotWritten, UsageError
from evals.points import Point
from evals.report.history import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg")
BLUE, RED = "#1f5fa8", "#b3141d"


def write_plot(row: str, points: Sequence[Point], file: Path) -> None:
    """Accuracy with its 95% intervals and the gate; below it invalid answers and tokens a second.

    Runs that are not whole are hollow and have no interval. The time is UTC.

    Raises:
        UsageError: the extra `report` is not installed, or the file's name ends otherwise.
        RecordsNotWritten: `file` cannot be written.
    """
    if file.suffix.lower() not in ENDINGS:
        raise UsageError(f"{file}: a plot's name ends in {' or '.join(ENDINGS)}")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise UsageError(f"no plot: {error.name} is missing; pip install -e '.[report]'") from None
    with rc_context({"date.converter": "concise"}):
        figure = Figure(figsize=(9, 6.5), layout="constrained")
        _draw(figure, row, points)
        try:
            figure.savefig(file)
        except OSError as error:
            raise RecordsNotWritten(f"plot {file} cannot be written: {error}") from error


def _draw(figure: Figure, row: str, points: Sequence[Point]) -> None:
    accuracy, invalid, speed = figure.subplots(3, sharex=True, height_ratios=[3, 1, 1])
    for whole, fill in ((True, "full"), (False, "none")):
        kind = [point for point in points if point.whole is whole]
        answered = [(point, bounds) for point in kind if (bounds := interval(point)) is not None]
        spoken = [point for point in kind if point.tokens_per_second is not None]
        style: dict[str, Any] = {"color": BLUE, "fillstyle": fill, "markersize": 4}
        times = [point.time for point, _ in answered]
        if whole:  # the wide ones of partial runs would leave no room for these
            lows, highs = ([bounds[side] for _, bounds in answered] for side in (0, 1))
            accuracy.vlines(times, lows, highs, color=BLUE, alpha=0.4)
        accuracy.plot(times, [point.counts.accuracy for point, _ in answered], "o", **style)
        invalid.plot([p.time for p in kind], [p.counts.invalid for p in kind], "o", **style)
        speed.plot([p.time for p in spoken], [p.tokens_per_second for p in spoken], "o", **style)
    gates = [point.gate for point in points if point.gate is not None]
    if gates:
        accuracy.axhline(gates[-1], color=RED)
    name = "".join(letter if letter.isprintable() else "?" for letter in row)
    accuracy.set_title(f"{name} (hollow: no whole run)", parse_math=False)
    accuracy.set_ylabel("accuracy, 95% interval" + ("; red: required" if gates else ""))
    invalid.set_ylabel("invalid")
    speed.set_ylabel("tokens/s")
    most = max(1, *(point.counts.invalid for point in points))
    invalid.set_ylim(-0.1 * most, 1.1 * most)
    speed.set_ylim(0, 1.1 * max(1.0, *(point.tokens_per_second or 0.0 for point in points)))
    for axes in (accuracy, invalid, speed):
        axes.grid(alpha=0.3)
