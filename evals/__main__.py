"""`python -m evals`: runs that lie on disk compared, rescored and read. No server is asked.

Exit codes: 0 done, for compare also "no worse" and "cannot tell"; 10 the candidate is worse; 11 the
runs cannot be compared, or the measurement is not complete; 2 wrong usage, or a damaged run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from evals.asked import prompts_of, same_prompt
from evals.compare import compare
from evals.errors import EvalsError, UsageError
from evals.parity import Parity, ParityGate
from evals.records import Record, write_json
from evals.report.pair import LISTED, comparison_text, comparison_values
from evals.report.reading import flip_text, record_text, rescore_text, rescore_values, run_text
from evals.rescore import rescore
from evals.rules import RULES, rule_named
from evals.saved import SavedRun, load_run

EXIT_WORSE = 10
EXIT_NO_VERDICT = 11
EXIT_USAGE = 2


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command, prints what it brings, and returns the exit code."""
    told = _parser().parse_args(words)
    try:
        text, code = told.command(told)
    except EvalsError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_NO_VERDICT
    _print(text)
    return int(code)


def compare_command(told: argparse.Namespace) -> tuple[str, int]:
    """The comparison and its exit code."""
    gate = ParityGate(told.alpha, told.tolerance)
    seen = compare(load_run(told.baseline), load_run(told.candidate), gate)
    if told.json is not None:
        write_json(told.json, comparison_values(seen))
    codes = {Parity.WORSE: EXIT_WORSE, None: EXIT_NO_VERDICT}
    return comparison_text(seen, None if told.all else LISTED), codes.get(seen.outcome, 0)


def rescore_command(told: argparse.Namespace) -> tuple[str, int]:
    """The rescore by each rule that is asked for, or by all."""
    rules = [rule_named(name) for name in told.rule or RULES]
    run = load_run(told.run, damaged=True)
    seen = [rescore(run, rule) for rule in rules]
    if told.json is not None:
        write_json(told.json, rescore_values(run, seen))
    return rescore_text(run, seen), 0


def show_command(told: argparse.Namespace) -> tuple[str, int]:
    """The run's heading, and the answers that are asked for."""
    run = load_run(told.run, damaged=True)
    other = None if told.flips is None else load_run(told.flips, damaged=True)
    flips = () if other is None else compare(run, other).flips
    records = _chosen(run, told)
    shown = [*(record.id for record in records), *(flip.id for flip in flips)]
    prompts = prompts_of(run, told.questions_dir) if shown else {}
    blocks = [run_text(run)]
    if other is not None:
        blocks.append(f"against {run_text(other)}\n  flipped questions: {len(flips)}")
    if isinstance(prompts, str):
        blocks.append(prompts)
        found = dict.fromkeys(shown)
    else:
        found = {question: same_prompt(prompts, run, question) for question in shown}
    whole = told.question is not None
    blocks += [record_text(record, found[record.id], whole=whole) for record in records]
    blocks += [flip_text(flip, found[flip.id]) for flip in flips]
    return "\n\n".join(blocks), 0


def _chosen(run: SavedRun, told: argparse.Namespace) -> list[Record]:
    if told.question is not None:
        chosen = [record for record in run.records if record.id == told.question]
        if not chosen:
            raise UsageError(f"{run.folder} holds no record of a question {told.question}")
        return chosen
    answered = sorted(run.answered.values(), key=lambda record: record.id)
    if told.invalid:
        return [record for record in answered if record.value is None]
    return [r for r in answered if r.right is not True] if told.wrong else []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="compare|rescore|show")

    one = commands.add_parser("compare", help="is CANDIDATE worse than BASELINE?")
    one.add_argument("baseline", type=Path, metavar="BASELINE")
    one.add_argument("candidate", type=Path, metavar="CANDIDATE")
    one.add_argument("--alpha", type=_alpha, default=0.05, help="one-sided (0.05)")
    one.add_argument(
        "--tolerance", type=_points, default=0.0075, help="points that a drop may have (0.75)"
    )
    one.add_argument("--all", action="store_true", help="every flipped question")
    one.add_argument("--json", type=Path, metavar="FILE", help="all of it, as JSON")
    one.set_defaults(command=compare_command)

    one = commands.add_parser("rescore", help="read a run's answers by other rules")
    one.add_argument("run", type=Path, metavar="RUN")
    one.add_argument("--rule", action="append", help=f"{', '.join(RULES)}; repeatable (all)")
    one.add_argument("--json", type=Path, metavar="FILE", help="all of it, as JSON")
    one.set_defaults(command=rescore_command)

    one = commands.add_parser("show", help="read a run's answers")
    one.add_argument("run", type=Path, metavar="RUN")
    which = one.add_mutually_exclusive_group()
    which.add_argument("question", nargs="?", metavar="QUESTION_ID", help="with its whole prompt")
    which.add_argument("--wrong", action="store_true", help="answers that are not right")
    which.add_argument("--invalid", action="store_true", help="answers without a number")
    which.add_argument("--flips", type=Path, metavar="OTHER", help="right in one run alone")
    one.add_argument(
        "--questions-dir", type=Path, metavar="DIR", help="question set (GSM8K: also GSM8K_DIR)"
    )
    one.set_defaults(command=show_command)
    return parser


def _alpha(word: str) -> float:
    if not 0 < float(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} does not lie between 0 and 1")
    return float(word)


def _points(word: str) -> float:
    try:
        points = Decimal(word)
        allowed = 0 <= points < 50
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{word!r} is no number of points") from None
    if not allowed:
        raise argparse.ArgumentTypeError(f"{word} points: 0 to less than 50 are allowed")
    return float(points / 100)  # exactly the decimal that was written


def _print(text: str) -> None:
    """A model's text may hold lone surrogates, and its reader may have gone."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
