"""What a saved run asked: its prompts, built anew from the question set and proved the same."""

from __future__ import annotations

import os
from pathlib import Path

from evals.errors import UsageError
from evals.prompts import Prompt, build_prompts, protocol_named
from evals.questions import QuestionSet, load_folder, load_gsm8k
from evals.saved import SavedRun


def prompts_of(run: SavedRun, questions_dir: Path | None) -> dict[str, Prompt] | str:
    """The run's prompts by question id, or one line on why they cannot be had without more said.

    GSM8K is found by GSM8K_DIR, any set in `questions_dir`.

    Raises:
        UsageError: the folder is not that of a question set, or not that of the run's.
    """
    name = str(run.configuration["questions"].get("set"))
    folder = questions_dir
    if folder is None and name == "gsm8k" and os.environ.get("GSM8K_DIR"):
        folder = Path(os.environ["GSM8K_DIR"])
    if folder is None:
        by = "--questions-dir=DIR" + (" or GSM8K_DIR" if name == "gsm8k" else "")
        return f"prompts are not shown: give the folder of the question set {name} by {by}"
    questions = load_gsm8k(folder) if name == "gsm8k" else load_folder(folder, name)
    _refuse_other(questions, run, folder)
    shots = int(run.configuration["shots"])
    prompts = build_prompts(questions, protocol_named(run.configuration["protocol"]), shots)
    return {prompt.question.id: prompt for prompt in prompts}


def same_prompt(prompts: dict[str, Prompt], run: SavedRun, question: str) -> Prompt:
    """The prompt of one question. Raises UsageError where it is not the one that was asked."""
    record = next(record for record in run.records if record.id == question)
    prompt = prompts.get(question)
    if prompt is None or prompt.sha256 != record.prompt_sha256:
        raise UsageError(
            f"{question}: the prompt built anew is not the one that was asked: its sha256 is "
            f"{'none' if prompt is None else prompt.sha256[:12]}, recorded is "
            f"{record.prompt_sha256[:12]}"
        )
    return prompt


def _refuse_other(questions: QuestionSet, run: SavedRun, folder: Path) -> None:
    recorded = run.configuration["questions"]["sha256"]
    for split, digest in questions.sha256.items():
        if recorded.get(split) != digest:
            raise UsageError(
                f"{folder} does not hold the questions of {run.folder}: sha256 of its {split} rows "
                f"is {digest[:12]}…, the run's {str(recorded.get(split))[:12]}…"
            )
