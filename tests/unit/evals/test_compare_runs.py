"""Two run folders compared: what is refused, what is paired, and what it comes to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evals.compare import Comparison, compare
from evals.errors import NotComparable
from evals.parity import Parity, ParityGate
from evals.prompts import PROTOCOLS
from evals.questions import QuestionSet, load_folder
from evals.records import write_json
from evals.report.pair import comparison_text, comparison_values
from evals.run import evaluate
from evals.saved import load_run
from evals.task import Settings, Task
from tests.unit.evals.conftest import ROWS, DoubleOf, row, write_rows
from tests.unit.evals.run_folders import (
    FAILED,
    INVALID,
    MISSING,
    RIGHT,
    WRONG,
    first,
    write_run,
    write_verdict,
)

ALL_RIGHT = [RIGHT] * ROWS


def compared(baseline: Path, candidate: Path, gate: ParityGate | None = None) -> Comparison:
    return compare(load_run(baseline), load_run(candidate), gate)


def pair(tmp_path: Path, task: Task, ours: list[str], theirs: list[str]) -> Comparison:
    return compared(
        write_run(tmp_path / "baseline", task, ours),
        write_run(tmp_path / "candidate", task, theirs),
    )


def test_runs_whose_gate_is_about_other_shots_are_compared_and_others_without_a_verdict_are_not(
    tmp_path: Path, small_task: Task
) -> None:
    task = replace(small_task, usual=("train", 8))
    baseline = write_run(tmp_path / "baseline", task, ALL_RIGHT)
    candidate = write_run(tmp_path / "candidate", task, [WRONG] * 20 + ALL_RIGHT[20:])
    for folder in (baseline, candidate):
        write_verdict(folder, "no verdict", reasons=[task.otherwise])
    assert compared(baseline, candidate).outcome is Parity.WORSE
    write_verdict(candidate, "no verdict", reasons=[task.otherwise, "the server died"])
    assert compared(baseline, candidate).outcome is None


def test_cells_and_counts_are_those_of_the_records(tmp_path: Path, small_task: Task) -> None:
    ours = [RIGHT] * 150 + [WRONG] * 50
    theirs = [WRONG] * 5 + [INVALID] * 2 + [RIGHT] * 146 + [WRONG] * 47
    seen = pair(tmp_path, small_task, ours, theirs)
    cells = seen.verdict.cells
    assert (cells.both, cells.lost, cells.gained, cells.neither) == (143, 7, 3, 47)
    assert [side.pooled.right for side in (seen.baseline, seen.candidate)] == [150, 146]
    assert [side.pooled.invalid for side in (seen.baseline, seen.candidate)] == [0, 2]
    assert seen.changed == 10
    assert [flip.id for flip in seen.flips if flip.lost] == [f"test-{n:04d}" for n in range(7)]
    assert [flip.id for flip in seen.flips if not flip.lost] == [
        f"test-{n:04d}" for n in (150, 151, 152)
    ]
    assert seen.complete


@pytest.mark.parametrize(
    ("lost", "parity"),
    [(0, Parity.CANNOT_TELL), (4, Parity.CANNOT_TELL), (5, Parity.WORSE), (20, Parity.WORSE)],
)
def test_the_verdict_is_that_of_the_cells(
    tmp_path: Path, small_task: Task, lost: int, parity: Parity
) -> None:
    theirs = [WRONG] * lost + [RIGHT] * (ROWS - lost)
    assert pair(tmp_path, small_task, ALL_RIGHT, theirs).outcome is parity


def test_a_pair_that_differs_in_trailing_blanks_alone_has_no_changed_text(
    tmp_path: Path, small_task: Task
) -> None:
    folders = [write_run(tmp_path / name, small_task, ALL_RIGHT) for name in ("a", "b")]
    file = folders[1] / "answers.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(r | {"text": r["text"] + "\n\n"}) + "\n" for r in rows))
    assert compared(folders[0], folders[1]).changed == 0


def test_order_of_arrival_does_not_matter(tmp_path: Path, small_task: Task) -> None:
    folders = [
        write_run(tmp_path / "a", small_task, [WRONG, *ALL_RIGHT[1:]]),
        write_run(tmp_path / "b", small_task, ALL_RIGHT),
    ]
    file = folders[1] / "answers.jsonl"
    file.write_text("".join(reversed(file.read_text().splitlines(keepends=True))))
    seen = compared(folders[0], folders[1])
    assert [flip.id for flip in seen.flips] == ["test-0000"]


def test_real_runs_against_a_double_are_compared(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    for name, accuracy in {"baseline": 0.95, "candidate": 0.5}.items():
        (tmp_path / name).mkdir()
        with double_of(accuracy=accuracy) as (_, endpoint):
            evaluate("row", small_task, endpoint, patient, tmp_path / name)
    seen = compare(load_run(tmp_path / "baseline"), load_run(tmp_path / "candidate"))
    assert (seen.baseline.pooled.right, seen.candidate.pooled.right) == (190, 100)
    assert seen.verdict.cells.lost - seen.verdict.cells.gained == 90
    assert seen.outcome is Parity.WORSE


# What is refused.


def other_questions(folder: Path) -> QuestionSet:
    folder.mkdir()
    write_rows(folder / "train.jsonl", [row(1000 + number) for number in range(10)])
    write_rows(folder / "test.jsonl", [row(number) for number in range(2, ROWS + 2)])
    return load_folder(folder, "small")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("questions", "they differ in questions (small, test "),
        ("protocol", 'they differ in protocol ("train" and "sglang-bench")'),
        ("shots", "they differ in shots (2 and 3)"),
        ("model", 'they differ in model ("tiny" and "other")'),
        ("sampling", 'they differ in sampling ({"max_tokens": 512} and {"max_tokens": 64})'),
        ("revision", "they differ in revision of the model (abc and def)"),
        ("prompt", "they differ in the prompts of 1 questions, the first test-0007"),
    ],
)
def test_runs_of_different_things_are_refused_in_one_line(
    tmp_path: Path, small_task: Task, what: str, said: str
) -> None:
    task = small_task
    if what == "questions":
        task = replace(task, questions=other_questions(tmp_path / "other"))
    if what == "protocol":
        task = replace(task, protocol=PROTOCOLS["sglang-bench"])
    if what == "shots":
        task = replace(task, shots=3)
    baseline = write_run(tmp_path / "baseline", small_task, ALL_RIGHT)
    model = "other" if what == "model" else "tiny"
    candidate = write_run(tmp_path / "candidate", task, ALL_RIGHT, model=model)
    for folder, revision in ((baseline, "abc"), (candidate, "def")):
        about = json.loads((folder / "run.json").read_text())
        if what == "revision":
            about["configuration"]["row"] = {"model": {"revision": revision}}
        if what == "sampling" and folder == candidate:
            about["configuration"]["sampling"]["max_tokens"] = 64
        write_json(folder / "run.json", about)
    if what == "prompt":
        file = candidate / "answers.jsonl"
        lines = file.read_text().splitlines()
        lines[7] = json.dumps(json.loads(lines[7]) | {"prompt_sha256": "ab" * 32})
        file.write_text("\n".join(lines) + "\n")
    with pytest.raises(NotComparable) as refused:
        compared(baseline, candidate)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


# What is not complete.


def test_a_failed_request_is_no_wrong_answer(tmp_path: Path, small_task: Task) -> None:
    theirs = [FAILED] * 20 + [RIGHT] * 180
    seen = pair(tmp_path, small_task, ALL_RIGHT, theirs)
    assert (seen.compared, seen.verdict.cells.lost) == (180, 0)
    assert seen.outcome is None
    assert "20 of 200 requests failed for good" in comparison_text(seen)


def test_worse_stands_if_no_missing_answer_could_mend_it(tmp_path: Path, small_task: Task) -> None:
    theirs = [WRONG] * 40 + [MISSING] * 5 + [RIGHT] * 155
    seen = pair(tmp_path, small_task, ALL_RIGHT, theirs)
    assert (seen.complete, seen.stands, seen.outcome) == (False, True, Parity.WORSE)


def test_worse_does_not_stand_if_missing_answers_could_mend_it(
    tmp_path: Path, small_task: Task
) -> None:
    ours = [RIGHT] * 180 + [MISSING] * 20
    seen = pair(tmp_path, small_task, ours, [WRONG] * 7 + [RIGHT] * 193)
    assert seen.verdict.parity is Parity.WORSE
    assert (seen.complete, seen.stands, seen.outcome) == (False, False, None)
    assert "NO VERDICT (on what both answered: worse)" in comparison_text(seen)


def test_what_the_baseline_had_right_cannot_be_gained(tmp_path: Path, small_task: Task) -> None:
    seen = pair(tmp_path, small_task, ALL_RIGHT, [WRONG] * 7 + [MISSING] * 100 + [RIGHT] * 93)
    assert seen.outcome is Parity.WORSE


def test_a_run_without_a_verdict_of_its_own_gives_none(tmp_path: Path, small_task: Task) -> None:
    baseline = write_run(tmp_path / "baseline", small_task, ALL_RIGHT)
    candidate = write_run(tmp_path / "candidate", small_task, [WRONG] * ROWS)
    said = {"outcome": "no verdict", "reasons": ["the server read no whole prompt"]}
    write_json(candidate / "verdict.json", said)
    seen = compared(baseline, candidate)
    assert seen.outcome is None
    assert "candidate: its own verdict is none: the server read no whole prompt" in (
        comparison_text(seen)
    )


def test_a_partial_run_is_compared_on_its_questions_and_has_no_verdict(
    tmp_path: Path, small_task: Task
) -> None:
    baseline = write_run(tmp_path / "baseline", small_task, ALL_RIGHT)
    part = write_run(tmp_path / "part", first(small_task, 100), [WRONG] * 100)
    seen = compared(baseline, part)
    assert (seen.compared, seen.asked, seen.outcome) == (100, 200, None)
    text = comparison_text(seen)
    assert "compared: the 100 of 200 questions that both answered" in text
    assert "candidate: a partial run: only 100 questions were asked for" in text


def test_an_interrupted_run_is_compared_and_labelled(tmp_path: Path, small_task: Task) -> None:
    baseline = write_run(tmp_path / "baseline", small_task, ALL_RIGHT)
    fates = [RIGHT] * 50 + [MISSING] * 150
    killed = write_run(tmp_path / "killed", small_task, fates, attempts=[{"ended": None}])
    text = comparison_text(compared(baseline, killed))
    assert "candidate: its last attempt has no end: interrupted, or still going on" in text
    assert "candidate: 150 of 200 questions were not answered" in text


def test_runs_without_a_common_answer_are_refused(tmp_path: Path, small_task: Task) -> None:
    ours, theirs = [RIGHT] * 100 + [MISSING] * 100, [MISSING] * 100 + [RIGHT] * 100
    with pytest.raises(NotComparable, match="no question that both answered"):
        pair(tmp_path, small_task, ours, theirs)


# What is told.


def test_the_text_tells_all_that_the_issue_asks_for(tmp_path: Path, small_task: Task) -> None:
    theirs = [WRONG] * 12 + [INVALID] * 2 + [RIGHT] * 186
    seen = pair(tmp_path, small_task, ALL_RIGHT, theirs)
    text = comparison_text(seen)
    for told in (
        "candidate against baseline: WORSE",
        "baseline: 200 of 200 right = 1.0000 (95% interval 0.9812 to 1.0000), 0 invalid",
        "candidate: 186 of 200 right = 0.9300",
        "2 invalid, 0 truncated",
        "difference: -7.00 points, candidate less baseline (95% interval -11.41 to -4.22)",
        "cells: 186 right in both, 14 lost, 0 gained, 0 right in neither; 14 discordant (7.00%)",
        "p = 6.104e-05",
        "texts: 14 of 200 changed",
        "smallest drop found with 80% power: ",
        "flipped questions: 14",
        "test-0000 lost: gold 2",
        "baseline  2: It is 2. / #### 2",
        "candidate 3: It is not. / #### 3",
        "and 4 more: --all",
    ):
        assert told in text
    assert "test-0010" not in text
    assert "test-0013" in comparison_text(seen, None)
    assert len(comparison_values(seen)["flips"]) == 14


def test_what_cannot_be_told_is_a_warning_with_the_repeats_it_takes(
    tmp_path: Path, small_task: Task
) -> None:
    text = comparison_text(pair(tmp_path, small_task, ALL_RIGHT, [WRONG, *ALL_RIGHT[1:]]))
    assert "CANNOT TELL" in text
    assert "warning: a drop above 1.5 points is neither shown nor excluded; " in text
    assert "repeats might settle it" in text


def test_a_gate_of_its_own_decides_otherwise(tmp_path: Path, small_task: Task) -> None:
    folders = [
        write_run(tmp_path / "a", small_task, ALL_RIGHT),
        write_run(tmp_path / "b", small_task, [WRONG] * 5 + [RIGHT] * 195),
    ]
    assert compared(folders[0], folders[1]).outcome is Parity.WORSE
    assert compared(folders[0], folders[1], ParityGate(alpha=0.01)).outcome is Parity.CANNOT_TELL
    assert compared(folders[0], folders[1], ParityGate(tolerance=0.05)).outcome is Parity.NO_WORSE
