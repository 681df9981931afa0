"""`history [RUNS_DIR…]`: accuracy, invalid answers and speed of a row over its kept runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.commands import EXIT_USAGE
from evals.commands.arguments import Subparsers, add_json
from evals.errors import UsageError
from evals.history import read_history
from evals.records import write_json
from evals.report.history import history_text, history_values, rows_text
from evals.report.history_plot import write_plot


def add(commands: Subparsers) -> None:
    parser = commands.add_parser("history", help="a row's kept runs over time")
    parser.add_argument(
        "places",
        type=Path,
        nargs="*",
        default=[Path("runs")],
        metavar="RUNS_DIR",
        help="folders of runs and baselines, or files of baselines (runs)",
    )
    parser.add_argument("--row", help="the runs of this one")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="of one row, .png or .svg")
    add_json(parser)
    parser.set_defaults(run=run)


def run(told: argparse.Namespace) -> tuple[str, int]:
    """The runs of one row, or the rows that there are; damaged runs by name."""
    rows, damaged = read_history(told.places)
    left_out = [f"damaged, left out: {line}" for line in damaged]
    if not rows:
        return "\n".join(["no run that can be read", *left_out]), EXIT_USAGE
    if told.row is not None:
        if told.row not in rows:
            raise UsageError(f"no run of a row {told.row}; there are: {', '.join(rows)}")
        rows = {told.row: rows[told.row]}
    if told.plot is not None:
        if len(rows) != 1:
            raise UsageError(f"--plot needs --row, one of: {', '.join(rows)}")
        write_plot(*next(iter(rows.items())), told.plot)
    if told.json is not None:
        write_json(told.json, history_values(rows, damaged))
    text = history_text(*next(iter(rows.items()))) if len(rows) == 1 else rows_text(rows)
    plotted = [] if told.plot is None else [f"plot: {told.plot}"]
    return "\n".join([text, *left_out, *plotted]), 0
