"""`show RUN`: a run's heading, and the answers that are asked for."""

from __future__ import annotations

import argparse
from pathlib import Path

from evals.asked import prompts_of, same_prompt
from evals.commands.arguments import Subparsers
from evals.compare import compare
from evals.errors import UsageError
from evals.records import Record
from evals.report.reading import flip_text, record_text, run_text
from evals.saved import SavedRun, load_run


def add(commands: Subparsers) -> None:
    parser = commands.add_parser("show", help="read a run's answers")
    parser.add_argument("folder", type=Path, metavar="RUN")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("question", nargs="?", metavar="QUESTION_ID", help="with its whole prompt")
    which.add_argument("--wrong", action="store_true", help="answers that are not right")
    which.add_argument("--invalid", action="store_true", help="answers without a number")
    which.add_argument(
        "--flips",
        type=Path,
        metavar="OTHER",
        help="right in one run alone: lost, in OTHER; gained, in RUN",
    )
    parser.add_argument(
        "--questions-dir", type=Path, metavar="DIR", help="question set (GSM8K: also GSM8K_DIR)"
    )
    parser.set_defaults(run=run)


def run(told: argparse.Namespace) -> tuple[str, int]:
    """The run's heading, and the answers that are asked for."""
    saved = load_run(told.folder, damaged=True)
    other = None if told.flips is None else load_run(told.flips, damaged=True)
    flips = () if other is None else compare(other, saved).flips
    records = _chosen(saved, told)
    shown = [*(record.id for record in records), *(flip.id for flip in flips)]
    prompts = prompts_of(saved, told.questions_dir) if shown else {}
    blocks = [run_text(saved)]
    if other is not None:
        blocks.append(f"against {run_text(other)}\n  flipped questions: {len(flips)}")
    if isinstance(prompts, str):
        blocks.append(prompts)
        found = dict.fromkeys(shown)
    else:
        found = {question: same_prompt(prompts, saved, question) for question in shown}
    whole = told.question is not None
    blocks += [record_text(record, found[record.id], whole=whole) for record in records]
    blocks += [flip_text(flip, found[flip.id]) for flip in flips]
    return "\n\n".join(blocks), 0


def _chosen(saved: SavedRun, told: argparse.Namespace) -> list[Record]:
    if told.question is not None:
        chosen = [record for record in saved.records if record.id == told.question]
        if not chosen:
            raise UsageError(f"{saved.folder} holds no record of a question {told.question}")
        return chosen
    answered = sorted(saved.answered.values(), key=lambda record: record.id)
    if told.invalid:
        return [record for record in answered if record.value is None]
    return [r for r in answered if r.right is not True] if told.wrong else []
