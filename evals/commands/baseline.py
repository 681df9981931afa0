"""`baseline save|list|check`: accepted runs kept as small files, and runs held against them."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.baseline.check import check
from evals.baseline.save import baseline_of, key_of_all
from evals.baseline.store import baseline_for, baselines_in, load_baseline, write_baseline
from evals.commands import EXIT_NO_VERDICT, EXIT_WORSE
from evals.commands.arguments import Subparsers, add_gate, add_json
from evals.parity import Parity, ParityGate
from evals.records import write_json
from evals.report.baseline import check_text, listed_text, saved_text
from evals.report.pair import LISTED, comparison_values
from evals.saved import load_run, read_verdict
from evals.verdict import Outcome

FOLDER = Path("baselines")


def add(commands: Subparsers) -> None:
    parser = commands.add_parser("baseline", help="keep accepted runs, and check runs against them")
    actions = parser.add_subparsers(required=True, metavar="save|list|check")

    one = actions.add_parser("save", help="keep a whole run, or repeats of one, as a file")
    one.add_argument("folders", type=Path, nargs="+", metavar="RUN")
    _add_folder(one)
    one.add_argument("--note", metavar="TEXT", help="why it is accepted, say")
    one.add_argument("--replace", action="store_true", help="the file that is there")
    one.set_defaults(run=save)

    one = actions.add_parser("list", help="the baselines of a folder")
    _add_folder(one)
    one.set_defaults(run=list_)

    one = actions.add_parser("check", help="is RUN worse than the baseline of its key?")
    one.add_argument("folders", type=Path, nargs="+", metavar="RUN")
    where = one.add_mutually_exclusive_group()
    _add_folder(where)
    where.add_argument(
        "--baseline", type=Path, metavar="FILE", help="this one, also of another key"
    )
    add_gate(one)
    one.add_argument("--all", action="store_true", help="every flipped question")
    add_json(one)
    one.set_defaults(run=check_run)


def save(told: argparse.Namespace) -> tuple[str, int]:
    """Where it lies, and its line of the list."""
    baseline = baseline_of([load_run(folder) for folder in told.folders], told.note)
    file = write_baseline(baseline, told.dir, replace=told.replace)
    failed = [f for f in told.folders if read_verdict(f).get("outcome") == Outcome.FAIL]
    return saved_text(baseline, file, failed), 0


def list_(told: argparse.Namespace) -> tuple[str, int]:
    """The table of baselines."""
    return listed_text(baselines_in(told.dir)), 0


def check_run(told: argparse.Namespace) -> tuple[str, int]:
    """The comparison with the baseline, and the exit code of `compare`."""
    runs = [load_run(folder) for folder in told.folders]
    key = key_of_all(runs)
    if told.baseline is None:
        file, baseline = baseline_for(key, told.dir)
    else:
        file, baseline = told.baseline, load_baseline(told.baseline)
    seen = check(baseline, file, runs, ParityGate(told.alpha, told.tolerance))
    if told.json is not None:
        write_json(told.json, {**comparison_values(seen), "baseline": str(file)})
    codes = {Parity.WORSE: EXIT_WORSE, None: EXIT_NO_VERDICT}
    text = check_text(seen, baseline, key, None if told.all else LISTED)
    return text, codes.get(seen.outcome, 0)


def _add_folder(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--dir", type=Path, default=FOLDER, metavar="DIR", help=f"of baselines ({FOLDER})"
    )
