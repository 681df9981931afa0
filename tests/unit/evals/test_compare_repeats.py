"""Several run folders of either side compared: what is paired, refused and told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.compare import Comparison, compare
from evals.errors import NotComparable, UsageError
from evals.parity import Parity
from evals.report.pair import comparison_text, comparison_values
from evals.saved import SavedRun, load_run
from evals.task import Task
from tests.unit.evals.conftest import ROWS
from tests.unit.evals.run_folders import MISSING, RIGHT, WRONG, first, write_run

ALL_RIGHT = [RIGHT] * ROWS


def runs(folder: Path, task: Task, fates: Sequence[Sequence[str]], **about: Any) -> list[SavedRun]:
    """One run for each row of fates."""
    return [
        load_run(write_run(folder / str(number), task, one, row_name=folder.name, **about))
        for number, one in enumerate(fates)
    ]


def compared(
    tmp_path: Path, task: Task, ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]
) -> Comparison:
    return compare(
        runs(tmp_path / "baseline", task, ours), runs(tmp_path / "candidate", task, theirs)
    )


def losing(lost: Sequence[int]) -> list[str]:
    return [WRONG if number in lost else RIGHT for number in range(ROWS)]


def test_cells_counts_and_flips_are_those_of_all_runs(tmp_path: Path, small_task: Task) -> None:
    ours = [ALL_RIGHT, ALL_RIGHT, losing([3])]
    theirs = [losing([0, 1]), losing([1, 2]), losing([1, 2])]
    seen = compared(tmp_path, small_task, ours, theirs)
    cells = seen.verdict.cells
    assert cells.lost == pytest.approx(6 / 3)
    assert cells.gained == pytest.approx(1 / 3)
    assert [(flip.id, flip.right, flip.lost) for flip in seen.flips] == [
        ("test-0001", (3, 0), True),
        ("test-0002", (3, 1), True),
        ("test-0000", (3, 2), True),
        ("test-0003", (2, 3), False),
    ]
    assert all(flip.baseline.right is flip.lost is not flip.candidate.right for flip in seen.flips)
    assert [side.pooled.right for side in (seen.baseline, seen.candidate)] == [599, 594]
    assert seen.candidate.right is not None
    assert seen.candidate.right.questions == ("test-0000", "test-0002")
    assert seen.candidate.right.share == pytest.approx(4 / 3 / ROWS)
    assert seen.changed == pytest.approx(7 / 3)
    assert seen.complete


def test_copies_of_runs_say_what_the_runs_say(tmp_path: Path, small_task: Task) -> None:
    once = compared(tmp_path / "once", small_task, [losing([7])], [losing([0, 1, 2, 3])])
    thrice = compared(
        tmp_path / "thrice", small_task, [losing([7])] * 3, [losing([0, 1, 2, 3])] * 3
    )
    assert thrice.verdict.p == pytest.approx(once.verdict.p)
    assert thrice.verdict.interval == pytest.approx(once.verdict.interval)
    assert thrice.baseline.interval == pytest.approx(once.baseline.interval)
    assert thrice.outcome is once.outcome


def test_one_run_and_a_list_of_one_are_the_same(tmp_path: Path, small_task: Task) -> None:
    ours, theirs = (
        runs(tmp_path / name, small_task, [losing(lost)])
        for name, lost in {"a": [], "b": [1, 2]}.items()
    )
    assert compare(ours, theirs) == compare(ours[0], theirs[0])


def test_sides_may_have_unequal_numbers_of_runs(tmp_path: Path, small_task: Task) -> None:
    seen = compared(tmp_path, small_task, [ALL_RIGHT] * 2, [losing(range(10))])
    assert seen.outcome is Parity.WORSE
    assert seen.candidate.spread is None
    assert "sign-flip test by question, approximate where" in comparison_text(seen)


# What is refused.


def test_repeats_of_different_things_are_refused(tmp_path: Path, small_task: Task) -> None:
    ours = runs(tmp_path / "a", small_task, [ALL_RIGHT])
    other = runs(tmp_path / "b", small_task, [ALL_RIGHT], model="other")
    theirs = runs(tmp_path / "c", small_task, [ALL_RIGHT])
    for given in (([*ours, *other], theirs), (theirs, [*ours, *other])):
        with pytest.raises(NotComparable, match="they differ in model"):
            compare(*given)


def test_a_run_is_no_repeat_of_itself(tmp_path: Path, small_task: Task) -> None:
    ours = runs(tmp_path / "a", small_task, [ALL_RIGHT])
    theirs = runs(tmp_path / "b", small_task, [ALL_RIGHT])
    with pytest.raises(UsageError, match="is given twice: a run counts once"):
        compare(ours, theirs * 2)
    with pytest.raises(UsageError, match="the baseline has no run"):
        compare([], theirs)


def test_a_run_stands_on_one_side_alone(tmp_path: Path, small_task: Task) -> None:
    one, other, theirs = runs(tmp_path / "a", small_task, [ALL_RIGHT] * 3)
    for given in ((one, one), ([one, other], [theirs, other])):
        with pytest.raises(UsageError, match="is given twice: a run counts once"):
            compare(*given)


def test_a_copy_of_a_run_is_that_run(tmp_path: Path, small_task: Task) -> None:
    one, theirs = runs(tmp_path / "a", small_task, [ALL_RIGHT] * 2)
    copy = load_run(shutil.copytree(one.folder, tmp_path / "copy"))
    about = {**copy.about, "attempts": [*copy.about["attempts"], {"seconds": 0.1}]}
    resumed = replace(copy, about=about)
    for given in ((one, copy), (one, resumed), (theirs, [one, copy]), ([theirs, one], copy)):
        with pytest.raises(UsageError, match="hold the same run, which began at") as refused:
            compare(*given)
        assert str(refused.value).startswith(f"{one.folder} and {copy.folder} ")


@pytest.mark.parametrize(
    ("started", "seconds"),
    [
        ("2026-12-01T00:00:00.001+00:00", 60.0),
        ("2026-12-01T00:00:00.000+00:00", 60.001),
        ("", 60.0),
    ],
)
def test_repeats_with_the_same_answers_are_no_copies(
    tmp_path: Path, small_task: Task, started: str, seconds: float
) -> None:
    one, other, theirs = runs(tmp_path / "a", small_task, [ALL_RIGHT] * 3)
    begun = started and "2026-12-01T00:00:00.000+00:00"
    attempts = [{"started": started, "ended": "later", "seconds": seconds}]
    first = replace(one, about={**one.about, "started": begun, "attempts": [{"seconds": 60.0}]})
    second = replace(other, about={**other.about, "started": started, "attempts": attempts})
    assert len(compare([first, second], theirs).baseline.runs) == 2


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"row_name": "fa_off"}, "they differ in row (fa_on and fa_off)"),
        (
            {"row_name": "fa_on", "server": {"facts": {"version": "1", "cache_type_k": "q8_0"}}},
            'server ({"cache_type_k": "f16"} and {"cache_type_k": "q8_0"})',
        ),
        ({"row_name": "fa_on", "row": {"arguments": {"slots": 4}}}, "differ in slots (16 and 4)"),
    ],
)
def test_a_side_is_no_mixture_of_rows_or_servers(
    tmp_path: Path, small_task: Task, about: dict[str, Any], told: str
) -> None:
    server = {"facts": {"version": "1", "cache_type_k": "f16"}}
    whose = {"server": server, "row": {"arguments": {"slots": 16}}}
    ours = load_run(write_run(tmp_path / "a", small_task, ALL_RIGHT, row_name="fa_on", **whose))
    off = load_run(write_run(tmp_path / "off", small_task, losing(range(40)), **about))
    theirs = runs(tmp_path / "b", small_task, [ALL_RIGHT])
    for given in (([ours, off], theirs), (theirs, [ours, off])):
        with pytest.raises(NotComparable, match="are no repeats") as refused:
            compare(*given)
        assert told in str(refused.value)


def test_a_repeat_that_does_not_tell_its_server_is_one(tmp_path: Path, small_task: Task) -> None:
    ours = runs(tmp_path / "a", small_task, [ALL_RIGHT], server={"facts": {"version": "1"}})
    silent = load_run(write_run(tmp_path / "silent", small_task, ALL_RIGHT, row_name="a"))
    theirs = runs(tmp_path / "b", small_task, [ALL_RIGHT])
    assert len(compare([*ours, silent], theirs).baseline.runs) == 2


def test_runs_without_a_question_that_all_answered_are_refused(
    tmp_path: Path, small_task: Task
) -> None:
    halves = [[RIGHT] * 100 + [MISSING] * 100, [MISSING] * 100 + [RIGHT] * 100]
    with pytest.raises(NotComparable, match="have no question that all answered"):
        compared(tmp_path, small_task, halves, [ALL_RIGHT])


# What is not complete.


def test_one_incomplete_repeat_makes_it_incomplete(tmp_path: Path, small_task: Task) -> None:
    short = [*[RIGHT] * 190, *[MISSING] * 10]
    seen = compared(tmp_path, small_task, [ALL_RIGHT, short], [ALL_RIGHT] * 2)
    assert (seen.compared, seen.complete, seen.outcome) == (190, False, None)
    text = comparison_text(seen)
    assert "compared: the 190 of 200 questions that all runs answered" in text
    assert f"baseline {seen.baseline.runs[1].folder}: 10 of 200 questions were not" in text


def test_a_partial_repeat_makes_it_partial(tmp_path: Path, small_task: Task) -> None:
    fewer = first(small_task, 100)
    part = load_run(write_run(tmp_path / "part", fewer, [WRONG] * 100, row_name="b"))
    whole = runs(tmp_path / "b", small_task, [losing(range(50))])
    seen = compare(runs(tmp_path / "a", small_task, [ALL_RIGHT]), [*whole, part])
    assert (seen.verdict.parity, seen.stands, seen.outcome) == (Parity.WORSE, False, None)


@pytest.mark.parametrize(("missing", "stands"), [(5, True), (12, False)])
def test_worse_stands_if_no_answer_missing_from_a_repeat_could_mend_it(
    tmp_path: Path, small_task: Task, missing: int, stands: bool
) -> None:
    # The questions that are missing were answered by one run of the baseline, wrongly.
    worse = [WRONG] * 20 + [RIGHT] * (180 - missing)
    ours = [[RIGHT] * (200 - missing) + [gone] * missing for gone in (MISSING, WRONG)]
    theirs = [[*worse, *[gone] * missing] for gone in (RIGHT, MISSING)]
    seen = compared(tmp_path, small_task, ours, theirs)
    assert seen.verdict.parity is Parity.WORSE
    assert (seen.complete, seen.stands) == (False, stands)


def test_what_no_run_answered_may_be_a_gain_in_all(tmp_path: Path, small_task: Task) -> None:
    ours = [RIGHT] * 188 + [MISSING] * 12
    theirs = [WRONG] * 20 + ours[20:]
    seen = compared(tmp_path, small_task, [ours] * 2, [theirs] * 2)
    assert (seen.verdict.parity, seen.stands) == (Parity.WORSE, False)


def test_runs_that_were_to_ask_unlike_numbers_give_no_verdict(
    tmp_path: Path, small_task: Task
) -> None:
    fewer = first(small_task, 150)
    ours = runs(tmp_path / "a", small_task, [ALL_RIGHT])
    theirs = [
        *runs(tmp_path / "b", small_task, [losing(range(60))]),
        load_run(
            write_run(
                tmp_path / "fewer",
                fewer,
                losing(range(60))[:150],
                row_name="b",
                partial=False,
            )
        ),
    ]
    seen = compare(ours, theirs)
    assert (seen.verdict.parity, seen.outcome) == (Parity.WORSE, None)


# What is told.


def test_the_largest_flip_is_told_first(tmp_path: Path, small_task: Task) -> None:
    seen = compared(tmp_path, small_task, [losing([9])] * 2, [losing([3]), ALL_RIGHT])
    assert [(flip.id, flip.drop) for flip in seen.flips] == [("test-0009", -1), ("test-0003", 0.5)]


def test_the_text_tells_how_repeats_of_a_side_differ(tmp_path: Path, small_task: Task) -> None:
    ours = [ALL_RIGHT, ALL_RIGHT, losing([3])]
    theirs = [losing([*range(10, 30), extra]) for extra in (0, 1, 1)]
    text = comparison_text(compared(tmp_path, small_task, ours, theirs))
    for told in (
        "candidate against baseline: WORSE",
        "baseline: 3 runs, 599 of 600 right = 0.9983 (95% interval 0.",
        ", clustered by question), 0 invalid",
        "each run: 1.0000, 1.0000, 0.9950; standard deviation 0.29 points",
        "between two repeats 0.33% of the questions flip and 0.33% of the texts change; in all 1 "
        "and 1 questions",
        "difference: -10.33 points, candidate less baseline (95% interval -",
        ", clustered by question: 20",
        "cells, mean over pairs of runs: 178.67 right in both, 21 lost, 0.33 gained, 0 right in",
        "sign-flip test by question, exact, one-sided: p = 3.576e-07",  # 3 of 2 ** 23 signs
        "texts: 21.33 of 200 changed, mean over pairs of runs",
        "test-0010 lost, 3 of 3 right → 0 of 3: gold 22",
    ):
        assert told in text


def test_what_cannot_be_told_names_the_runs_of_each_side(tmp_path: Path, small_task: Task) -> None:
    ours, theirs = ([losing(range(n, n + 3)) for n in both] for both in ((0, 3), (6, 9)))
    seen = compared(tmp_path, small_task, ours, theirs)
    assert seen.outcome is Parity.CANNOT_TELL
    assert f"{seen.verdict.repeats} runs of each side might settle it" in comparison_text(seen)


def test_the_values_hold_every_run_and_how_repeats_differ(tmp_path: Path, small_task: Task) -> None:
    seen = compared(tmp_path, small_task, [ALL_RIGHT] * 2, [losing([0]), losing([1])])
    values = json.loads(json.dumps(comparison_values(seen)))
    assert [run["role"] for run in values["runs"]] == ["baseline"] * 2 + ["candidate"] * 2
    repeats = values["repeats_of"]["candidate"]
    assert repeats["accuracies"] == [0.995, 0.995]
    assert repeats["standard_deviation"] == 0
    assert repeats["right"] == {"share": 0.01, "questions": ["test-0000", "test-0001"]}
    assert [flip["right"] for flip in values["flips"]] == [[2, 1], [2, 1]]
    assert values["effective"] == pytest.approx(seen.verdict.effective)
