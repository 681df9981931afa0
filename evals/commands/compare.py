"""`compare BASELINE CANDIDATE`: is the second worse than the first? One run of each, or several."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.commands import EXIT_NO_VERDICT, EXIT_WORSE
from evals.commands.arguments import Subparsers, add_gate, add_json
from evals.compare import compare
from evals.errors import UsageError
from evals.parity import Parity, ParityGate
from evals.records import write_json
from evals.report.pair import LISTED, comparison_text, comparison_values
from evals.saved import load_run


def add(commands: Subparsers) -> None:
    parser = commands.add_parser("compare", help="is CANDIDATE worse than BASELINE?")
    for side in ("baseline", "candidate"):
        parser.add_argument(side, type=Path, nargs="?", metavar=side.upper())
        parser.add_argument(
            f"--{side}",
            dest=f"{side}s",
            type=Path,
            nargs="+",
            default=[],
            metavar="RUN",
            help=f"more runs of the {side}, repeats of one row",
        )
    add_gate(parser)
    parser.add_argument("--all", action="store_true", help="every flipped question")
    add_json(parser)
    parser.set_defaults(run=run)


def run(told: argparse.Namespace) -> tuple[str, int]:
    """The comparison and its exit code."""
    gate = ParityGate(told.alpha, told.tolerance)
    sides = {
        "baseline": [*filter(None, [told.baseline]), *told.baselines],
        "candidate": [*filter(None, [told.candidate]), *told.candidates],
    }
    for side, folders in sides.items():
        if not folders:
            raise UsageError(f"compare: no run as the {side}: BASELINE CANDIDATE, or --{side} RUN")
    baseline, candidate = ([load_run(folder) for folder in folders] for folders in sides.values())
    seen = compare(baseline, candidate, gate)
    if told.json is not None:
        write_json(told.json, comparison_values(seen))
    codes = {Parity.WORSE: EXIT_WORSE, None: EXIT_NO_VERDICT}
    return comparison_text(seen, None if told.all else LISTED), codes.get(seen.outcome, 0)
