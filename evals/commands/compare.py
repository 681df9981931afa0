"""`compare BASELINE CANDIDATE`: is the second run worse than the first?"""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.commands import EXIT_NO_VERDICT, EXIT_WORSE
from evals.commands.arguments import Subparsers, add_gate, add_json
from evals.compare import compare
from evals.parity import Parity, ParityGate
from evals.records import write_json
from evals.report.pair import LISTED, comparison_text, comparison_values
from evals.saved import load_run


def add(commands: Subparsers) -> None:
    parser = commands.add_parser("compare", help="is CANDIDATE worse than BASELINE?")
    parser.add_argument("baseline", type=Path, metavar="BASELINE")
    parser.add_argument("candidate", type=Path, metavar="CANDIDATE")
    add_gate(parser)
    parser.add_argument("--all", action="store_true", help="every flipped question")
    add_json(parser)
    parser.set_defaults(run=run)


def run(told: argparse.Namespace) -> tuple[str, int]:
    """The comparison and its exit code."""
    gate = ParityGate(told.alpha, told.tolerance)
    seen = compare(load_run(told.baseline), load_run(told.candidate), gate)
    if told.json is not None:
        write_json(told.json, comparison_values(seen))
    codes = {Parity.WORSE: EXIT_WORSE, None: EXIT_NO_VERDICT}
    return comparison_text(seen, None if told.all else LISTED), codes.get(seen.outcome, 0)
