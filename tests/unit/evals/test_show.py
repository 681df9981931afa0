"""`python -m evals show`: a run, or some of its answers, as a person would read them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evals.task import Task
from tests.unit.evals.command_line import said
from tests.unit.evals.run_folders import (
    FAILED,
    RIGHT,
    write_run,
)


def test_show_tells_of_a_run_and_of_the_answers_asked_for(
    capsys: pytest.CaptureFixture[str], candidate: Path, small_folder: Path
) -> None:
    heading = said(capsys, "show", candidate)[1]
    assert "192 of 200 answered are right, 2 invalid" in heading
    assert "---" not in heading
    where = ("--questions-dir", small_folder)
    wrong = said(capsys, "show", candidate, "--wrong", *where)[1]
    assert wrong.count("\n--- test-") == 8
    assert "Question: A box holds 1 eggs. How many do two boxes hold?\nAnswer:" in wrong
    assert "--- test-0000: not right, read 3, gold 2\n" in wrong
    invalid = said(capsys, "show", candidate, "--invalid", *where)[1]
    assert invalid.count("\n--- test-") == 2
    assert "invalid, gold 14" in invalid


def test_show_of_one_question_holds_the_whole_prompt_that_was_asked(
    capsys: pytest.CaptureFixture[str], candidate: Path, small_folder: Path, small_task: Task
) -> None:
    out = said(capsys, "show", candidate, "test-0003", "--questions-dir", small_folder)[1]
    assert small_task.prompts()[3].text in out
    assert " It is not.\n#### 9" in out
    assert "[worked answer]\nTwo boxes hold 2 * 4" in out


def test_show_of_a_failed_request_tells_its_error_and_no_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, small_task: Task
) -> None:
    folder = write_run(tmp_path / "run", small_task, [FAILED] + [RIGHT] * 199)
    out = said(capsys, "show", folder, "test-0000")[1]
    assert "--- test-0000: failed: HTTP 500" in out
    assert "[answer" not in out


def test_show_without_the_question_set_says_how_to_give_it(
    capsys: pytest.CaptureFixture[str], candidate: Path
) -> None:
    code, out, _ = said(capsys, "show", candidate, "test-0003")
    assert code == 0
    assert "prompts are not shown: give the folder of the question set small" in out
    assert " It is not.\n#### 9" in out


def test_show_of_flips_holds_both_answers(
    capsys: pytest.CaptureFixture[str], baseline: Path, candidate: Path, small_folder: Path
) -> None:
    where = ("--questions-dir", small_folder)
    out = said(capsys, "show", candidate, "--flips", baseline, *where)[1]
    assert "flipped questions: 9" in out
    assert "--- test-0000: lost; gold 2" in out
    assert "--- test-0199: gained; gold 400" in out
    assert "[this run: not right, read 3, gold 2; finish reason stop, 10 tokens]" in out
    assert "[other: right, read 2, gold 2; finish reason stop, 10 tokens]" in out


def test_show_calls_lost_what_compare_does(
    capsys: pytest.CaptureFixture[str], baseline: Path, candidate: Path
) -> None:
    compared = said(capsys, "compare", baseline, candidate, "--all")[1]
    shown = said(capsys, "show", candidate, "--flips", baseline)[1]
    for kind, flips in (("lost", 8), ("gained", 1)):
        named = re.findall(rf"(test-\d+) {kind}", compared)
        assert re.findall(rf"(test-\d+): {kind}", shown) == named
        assert len(named) == flips


def test_another_question_set_is_no_prompt(
    capsys: pytest.CaptureFixture[str], candidate: Path, small_folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for split in ("train", "test"):
        text = (small_folder / f"{split}.jsonl").read_text()
        (other / f"{split}.jsonl").write_text(text.replace("eggs", "figs"))
    code, _, err = said(capsys, "show", candidate, "test-0003", "--questions-dir", other)
    assert code == 2
    assert "does not hold the questions of" in err


def test_a_prompt_that_is_not_the_one_asked_is_not_shown(
    capsys: pytest.CaptureFixture[str], candidate: Path, small_folder: Path
) -> None:
    file = candidate / "answers.jsonl"
    rows = [
        json.loads(line) | {"prompt_sha256": "0" * 64} for line in file.read_text().splitlines()
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    code, _, err = said(capsys, "show", candidate, "test-0003", "--questions-dir", small_folder)
    assert code == 2
    assert "test-0003: the prompt built anew is not the one that was asked" in err
