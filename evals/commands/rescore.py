"""`rescore RUN`: a run's answers read by other rules."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.commands.arguments import Subparsers, add_json
from evals.records import write_json
from evals.report.reading import rescore_text, rescore_values
from evals.rescore import rescore
from evals.rules import RULES, rule_named
from evals.saved import load_run


def add(commands: Subparsers) -> None:
    parser = commands.add_parser("rescore", help="read a run's answers by other rules")
    parser.add_argument("folder", type=Path, metavar="RUN")
    parser.add_argument("--rule", action="append", help=f"{', '.join(RULES)}; repeatable (all)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(told: argparse.Namespace) -> tuple[str, int]:
    """The rescore by each rule that is asked for, or by all."""
    rules = [rule_named(name) for name in told.rule or RULES]
    saved = load_run(told.folder, damaged=True)
    seen = [rescore(saved, rule) for rule in rules]
    if told.json is not None:
        write_json(told.json, rescore_values(saved, seen))
    return rescore_text(saved, seen), 0
