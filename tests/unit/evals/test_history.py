"""`python -m evals history`: what is found, what counts as a whole run, and what a drift is."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import main
from evals.baseline.save import baseline_of
from evals.baseline.store import write_baseline
from evals.history import read_history, trend
from evals.points import YEARS, Point, read_point
from evals.report.history import rows_text, trend_text
from evals.saved import load_run
from evals.task import Task
from tests.unit.evals.conftest import ROWS
from tests.unit.evals.run_folders import (
    FAILED,
    INVALID,
    MISSING,
    RIGHT,
    WRONG,
    first,
    row_of,
    write_run,
    write_verdict,
)

Kept = Callable[..., Path]


def fates(wrong: int) -> list[str]:
    return [WRONG] * wrong + [RIGHT] * (ROWS - wrong)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def keep(runs: Path, small_task: Task) -> Kept:
    """Writes a run of a row at a day of May, with its verdict unless `verdict` is None."""

    def write(
        day: int,
        fates: list[str],
        row: str = "row",
        verdict: str | None = "pass",
        task: Task = small_task,
        **more: Any,
    ) -> Path:
        about = {"row": row_of(), "started": f"2026-05-{day:02d}T08:00:00+00:00"}
        about |= {"server": {"facts": {"version": "1.2"}}, "commit": {"sha": "abcdef0123456789"}}
        folder = write_run(runs / f"day-{day}" / row, task, fates, **about)
        if verdict is not None:
            write_verdict(folder, verdict, **more)
        return folder

    return write


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["history", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def points_of(runs: Path, row: str = "row") -> list[Point]:
    rows, damaged = read_history([runs])
    assert damaged == []
    return rows[row]


def test_a_table_tells_each_run_of_the_row_in_the_order_of_time(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path
) -> None:
    keep(2, [INVALID, *fates(4)[1:]])
    keep(1, fates(2))
    code, out, _ = said(capsys, runs)
    assert code == 0
    title, _, early, late, told = out.splitlines()
    assert title == "row: 2 runs"
    figures = ["0.9900", "0.9643", "to", "0.9973", "0", "0", "33", "60.0"]
    assert early.split() == ["2026-05-01", "08:00", "abcdef0123", "1.2", *figures]
    assert late.split()[4:] == ["0.9800", "0.9497", "to", "0.9922", "1", "0", "33", "60.0"]
    assert told == "trend: not told of fewer than 6 whole runs"


@pytest.mark.parametrize(
    ("fates", "verdict", "more", "note"),
    [
        (fates(30), "fail", {}, "failed its gate"),
        (fates(3), None, {}, "no verdict of its own"),
        (fates(3), "pass", {"runs": ["a", "b"]}, "no verdict of its own"),  # of pooled runs
    ],
)
def test_whole_runs_are_points_whatever_came_out_of_them(
    keep: Kept, runs: Path, fates: list[str], verdict: str, more: dict[str, Any], note: str
) -> None:
    keep(1, fates, verdict=verdict, **more)
    (point,) = points_of(runs)
    assert point.whole
    assert point.notes == (note,)
    assert point.counts.wrong == fates.count(WRONG)
    assert point.gate == 0.93
    assert point.tokens_per_second is not None


@pytest.mark.parametrize(
    ("fates", "verdict", "more", "note"),
    [
        ([FAILED, *fates(0)[1:]], "no verdict", {"reasons": ["a"]}, "no verdict: a"),
        ([*fates(20)[:100], *[MISSING] * 100], "fail", {"stopped": "b"}, "stopped early: b"),
        ([FAILED, *fates(0)[1:]], None, {}, "1 of 200 requests failed for good"),
    ],
)
def test_what_is_no_whole_run_is_listed_with_its_reason(
    capsys: pytest.CaptureFixture[str],
    keep: Kept,
    runs: Path,
    fates: list[str],
    verdict: str,
    more: dict[str, Any],
    note: str,
) -> None:
    keep(1, fates, verdict=verdict, **more)
    assert not points_of(runs)[0].whole
    assert note in said(capsys, runs)[1]


def test_a_partial_run_is_listed_and_is_no_point(keep: Kept, runs: Path, small_task: Task) -> None:
    keep(1, [RIGHT] * 20, verdict=None, task=first(small_task, 20))
    reasons = ["a partial run: only 20 questions were asked for"]
    keep(2, [RIGHT] * 20, "row", "no verdict", first(small_task, 20), reasons=reasons)
    for point in points_of(runs):
        assert not point.whole
        assert "a partial run: only 20 questions" in point.notes[0]


def test_records_that_are_not_as_many_as_the_verdict_counts_are_read(
    keep: Kept, runs: Path
) -> None:
    file = keep(1, fates(3)) / "answers.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-5]))
    (point,) = points_of(runs)
    assert point.counts.right == 192
    assert not point.whole
    assert "5 of its 200 answers are lost" in point.notes


def test_damaged_runs_are_named_and_left_out(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path
) -> None:
    keep(1, fates(3))
    (keep(2, fates(3)) / "run.json").write_text("{")
    (keep(3, fates(3), verdict=None) / "answers.jsonl").write_text("{}\n")
    keep(4, fates(3), counts={"rigth": 1})
    times = ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00", "yesterday")
    for day, time in enumerate(times, 5):
        file = keep(day, fates(3)) / "run.json"
        file.write_text(file.read_text().replace(f"2026-05-{day:02d}T08:00:00+00:00", time))
    (runs / "x.baseline.json").write_text("{}")
    (runs / "y.baseline.json").write_text("[" * 100_000)
    code, out, _ = said(capsys, runs)
    assert code == 0
    assert out.startswith("row: 1 run\n")
    assert [line.split()[3] for line in out.splitlines() if line.startswith("damaged, ")] == [
        str(runs / "day-2" / "row" / "run.json"),
        str(runs / "day-3" / "row" / "answers.jsonl"),
        str(runs / "day-4" / "row" / "verdict.json"),
        *(str(runs / f"day-{day}" / "row") for day in (5, 6, 7)),
        str(runs / "x.baseline.json"),
        str(runs / "y.baseline.json"),
    ]


@pytest.mark.parametrize(
    "damage",
    [
        {"counts": {"right": 300, "wrong": -100}},
        {"counts": [200]},
        {"seconds": float("nan")},
        {"tokens_per_second": float("inf")},
        {"gate": {"accuracy": 10**400}},
        {"gate": []},
    ],
)
def test_a_verdict_with_a_value_that_none_holds_is_damage(
    keep: Kept, runs: Path, damage: dict[str, Any]
) -> None:
    folder = keep(1, fates(3), **damage)
    rows, (line,) = read_history([runs])
    assert (rows, line) == ({}, f"{folder / 'verdict.json'} is damaged")


def test_a_run_of_other_questions_is_marked_and_is_no_point_of_the_row(
    keep: Kept, runs: Path
) -> None:
    file = keep(1, fates(3)) / "run.json"
    file.write_text(file.read_text().replace('"shots": 2', '"shots": 4'))
    keep(2, fates(4))
    early, late = points_of(runs)
    assert (early.whole, late.whole) == (False, True)
    assert early.notes == ("not as the latest run: shots (4 and 2)",)


@pytest.mark.parametrize("verdict", [None, "no verdict"])
def test_a_run_asked_with_other_shots_than_its_rows_is_no_point_of_the_row(
    keep: Kept, runs: Path, small_task: Task, verdict: str | None
) -> None:
    keep(1, fates(3))
    task = replace(small_task, shots=4, usual=("train", 2))
    keep(2, fates(4), task=task, verdict=verdict, reasons=[task.otherwise])
    early, late = points_of(runs)
    assert (early.whole, late.whole) == (True, False)
    assert str(task.otherwise) in late.notes[0]


def test_baselines_take_part_and_a_run_that_is_one_is_one_point(
    keep: Kept, runs: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    folder = keep(1, fates(3))
    file = write_baseline(baseline_of([load_run(folder)], "good"), store)
    alone = read_history([file])[0]["row"]
    assert [(point.counts.right, point.whole, point.notes) for point in alone] == [
        (197, True, ("baseline: good",))
    ]
    assert (alone[0].tokens_per_second, alone[0].gate) == (33.3, 0.93)
    keep(2, fates(4))
    both = read_history([runs, store, file])[0]["row"]
    assert [(point.counts.right, point.notes) for point in both] == [
        (197, ("baseline: good",)),
        (196, ()),
    ]


def test_a_copy_of_a_run_is_no_second_point(keep: Kept, runs: Path, tmp_path: Path) -> None:
    folder = keep(1, fates(3))
    copy = shutil.copytree(folder, tmp_path / "store" / "row")
    (point,) = read_history([tmp_path])[0]["row"]
    assert point.where == folder
    assert point.notes == (f"also lies in {copy}",)


def test_runs_of_one_start_that_counted_otherwise_are_two_points(keep: Kept, runs: Path) -> None:
    first_folder = keep(1, fates(3))
    second = keep(2, fates(4))
    file = second / "run.json"
    file.write_text(file.read_text().replace("2026-05-02T", "2026-05-01T"))
    points = points_of(runs)
    assert [(point.where, point.notes) for point in points] == [(first_folder, ()), (second, ())]


def test_runs_that_are_all_damaged_end_with_2_and_their_names(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path
) -> None:
    file = keep(1, fates(3)) / "run.json"
    file.write_text("{")
    for words in ((runs,), (runs, "--row", "row")):
        code, out, _ = said(capsys, *words)
        assert code == 2
        title, line = out.splitlines()
        assert title == "no run that can be read"
        assert line.startswith(f"damaged, left out: {file} cannot be read")


def test_a_note_of_two_lines_is_one_cell(
    capsys: pytest.CaptureFixture[str], keep: Kept, tmp_path: Path
) -> None:
    run = load_run(keep(1, fates(3)))
    file = write_baseline(baseline_of([run], "good\nenough"), tmp_path / "store")
    assert said(capsys, file)[1].splitlines()[2].endswith("  baseline: good enough")


def test_several_rows_are_listed_with_the_latest_whole_runs_figures(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path
) -> None:
    keep(1, fates(3))
    keep(2, fates(4))
    keep(3, fates(5), verdict="no verdict")
    keep(1, fates(6), "other", "no verdict")
    out = said(capsys, runs)[1]
    _, other, row, _ = out.splitlines()
    assert other.split() == ["other", "1", "0", *"-----"]
    assert row.split()[:6] == ["row", "3", "2", "2026-05-02", "08:00", "0.9800"]
    assert said(capsys, runs, "--row", "row")[1].startswith("row: 3 runs")


def test_wrong_use_ends_with_2_and_one_line(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path, tmp_path: Path
) -> None:
    keep(1, fates(3))
    keep(1, fates(3), "other")
    (tmp_path / "empty").mkdir()
    for words, told in {
        (tmp_path / "nowhere",): "nowhere does not exist",
        (tmp_path / "empty",): "no run and no baseline under",
        (runs, "--row", "third"): "no run of a row third; there are: other, row",
        (runs, "--plot", tmp_path / "a.png"): "--plot needs --row, one of: other, row",
        (runs, "--row", "row", "--plot", tmp_path / "a.pdf"): "ends in .png or .svg",
    }.items():
        code, out, err = said(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert told in err


def test_a_steady_fall_is_a_drift_and_names_the_runs_to_compare(keep: Kept, runs: Path) -> None:
    folders = [keep(day, fates(2 * day + day % 2)) for day in range(1, 9)]
    seen = trend(points := points_of(runs))
    assert seen is not None
    assert (seen.runs, seen.days) == (8, 7.0)
    assert seen.change == pytest.approx(-0.07, abs=0.003)
    assert seen.p < 0.001
    assert f"next: python -m evals compare {folders[0]} {folders[-1]}" in trend_text(points)


def test_ups_and_downs_are_no_drift(keep: Kept, runs: Path) -> None:
    for day, wrong in enumerate((3, 6, 2, 6, 3, 5), 1):
        keep(day, fates(wrong))
    assert "no drift is shown" in trend_text(points_of(runs))


def test_runs_that_are_all_alike_have_no_trend_at_all(keep: Kept, runs: Path) -> None:
    for day in range(1, 7):
        keep(day, fates(3))
    assert "trend: +0.00 points over 6 whole runs" in trend_text(points_of(runs))


def test_runs_that_are_not_whole_are_no_part_of_a_trend(keep: Kept, runs: Path) -> None:
    for day in range(1, 7):
        keep(day, fates(3), verdict="pass" if day < 6 else "no verdict")
    assert trend(points_of(runs)) is None


@pytest.mark.parametrize("ending", ["png", "svg", "PNG"])
def test_a_plot_and_all_of_it_as_json(
    capsys: pytest.CaptureFixture[str],
    keep: Kept,
    runs: Path,
    tmp_path: Path,
    small_task: Task,
    ending: str,
) -> None:
    pytest.importorskip("matplotlib")
    keep(1, fates(3))
    keep(2, [RIGHT] * 20, verdict=None, task=first(small_task, 20))
    plot, file = tmp_path / f"plot.{ending}", tmp_path / "history.json"
    code, out, _ = said(capsys, runs, "--plot", plot, "--json", file)
    assert (code, out.splitlines()[-1]) == (0, f"plot: {plot}")
    head = plot.read_bytes()[:200]
    assert (
        head.startswith(b"\x89PNG")
        if ending.lower() == "png"
        else b"<svg" in plot.read_bytes()[:900]
    )
    values = json.loads(file.read_text())["rows"]["row"]
    assert [run["whole"] for run in values["runs"]] == [True, False]
    assert values["runs"][0]["counts"]["right"] == 197
    assert values["trend"] is None


def test_one_run_where_nothing_was_answered_is_listed_and_plotted(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    keep(1, [FAILED] * ROWS, verdict="no verdict", reasons=["it died"], tokens_per_second=None)
    code, out, _ = said(capsys, runs, "--plot", tmp_path / "plot.png")
    assert code == 0
    assert "no verdict: it died" in out
    assert rows_text(read_history([runs])[0]).splitlines()[1].split()[3:] == ["-"] * 5


def test_the_earliest_and_the_latest_time_of_a_run_can_be_plotted(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    for day, year in enumerate((YEARS[0], YEARS[-1]), 1):
        file = keep(day, fates(3)) / "run.json"
        file.write_text(file.read_text().replace(f"2026-05-{day:02d}T", f"{year}-12-31T"))
    assert said(capsys, runs, "--plot", tmp_path / "plot.png")[0] == 0


@pytest.mark.parametrize("row", ["a\n\x1b[31m", "a\udc80", "$\\frac$"])
def test_a_row_of_any_name_can_be_plotted(
    capsys: pytest.CaptureFixture[str], keep: Kept, runs: Path, tmp_path: Path, row: str
) -> None:
    pytest.importorskip("matplotlib")
    file = keep(1, fates(3)) / "run.json"
    content = json.loads(file.read_text())
    content["configuration"]["name"] = row
    file.write_text(json.dumps(content))
    code, _, err = said(capsys, runs, "--plot", tmp_path / "plot.png")
    assert (code, err) == (0, "")


def test_a_plot_without_matplotlib_says_what_to_install(
    capsys: pytest.CaptureFixture[str],
    keep: Kept,
    runs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep(1, fates(3))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = said(capsys, runs, "--plot", tmp_path / "plot.png")
    assert code == 2
    assert "matplotlib is missing; pip install -e '.[report]'" in err


@pytest.mark.parametrize("fate", [WRONG, INVALID, FAILED, MISSING])
def test_a_run_that_tells_its_counts_is_the_point_that_its_records_make(
    keep: Kept, fate: str
) -> None:
    folder = keep(1, [fate] * 7 + [RIGHT] * (ROWS - 7), verdict=None)
    told = read_point(folder)
    content = json.loads((folder / "run.json").read_text())
    del content["counts"]
    (folder / "run.json").write_text(json.dumps(content))
    read = read_point(folder)
    assert replace(read, about=told.about) == told


def test_a_run_that_tells_other_counts_than_it_has_records_is_read(keep: Kept) -> None:
    folder = keep(1, [RIGHT] * ROWS, verdict=None)
    file = folder / "answers.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    assert read_point(folder).counts.answered == ROWS - 1
