"""One whole run against the double: scored exactly, said how it was made, stopped early."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from evals.client import Limits
from evals.records import read_records, read_run
from evals.run import evaluate
from evals.task import Settings, Task
from evals.verdict import Counts, Gate
from tests.double import Fate, plan
from tests.unit.evals.conftest import ROWS, DoubleOf

ROOT = Path(__file__).resolve().parents[3]


def test_a_run_scores_exactly_what_the_server_was_told(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    shares = {"empty_share": 0.01, "invalid_share": 0.02, "truncated_share": 0.03}
    with double_of(accuracy=0.935, **shares) as (double, endpoint):
        planned = plan(double.behaviour)
        run = evaluate("row", small_task, endpoint, patient, tmp_path)
    right = sum(one.right for one in planned.values())
    fates = [one.fate for one in planned.values()]
    assert run.counts == Counts(
        right=right,
        wrong=ROWS - right - 6,
        invalid=fates.count(Fate.EMPTY) + fates.count(Fate.INVALID),
        right_sglang=right,
        truncated=fates.count(Fate.TRUNCATED),
    )
    assert (run.asked, run.partial, run.stopped, run.trouble) == (ROWS, False, None, ())
    assert list(run.records) == read_records(tmp_path)
    for record in run.records:
        one = planned[small_task.questions.test[int(record.id[-4:])].question]
        assert record.right is one.right
        assert record.text == one.text
        assert record.gold == str(2 * (int(record.id[-4:]) + 1))
        if one.fate is Fate.TRUNCATED:
            assert record.finish_reason == "length"
        if one.fate in (Fate.EMPTY, Fate.INVALID):
            assert record.value is None
        else:
            assert Decimal(record.value or "nan").is_finite()


def test_a_run_says_how_it_was_made(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    about = {"row": {"id": "row"}, "server": {"version": "1"}}
    with double_of() as (_, endpoint):
        run = evaluate("row", small_task, endpoint, replace(patient, about=about), tmp_path)
    said = read_run(tmp_path)
    assert said["configuration"]["sampling"] == {
        "max_tokens": 512,
        "temperature": 0.0,
        "stop": ["Question", "Assistant:", "<|separator|>"],
    }
    assert said["configuration"]["questions"]["sha256"] == small_task.questions.sha256
    assert said["configuration"]["row"] == {"id": "row"}
    assert said["server"] == run.server == {"version": "1"}
    assert {"python", "aiohttp", "openai"} <= set(said["versions"])
    assert said["machine"]["cores"] == os.cpu_count()
    (attempt,) = said["attempts"]
    assert (attempt["asked"], attempt["answered"], attempt["failed"]) == (ROWS, ROWS, {})
    assert attempt["started"] <= attempt["ended"] == said["ended"]


def test_five_percent_errors_and_drops_change_no_answer(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    for name, rates in {"none": {}, "some": {"error_rate": 0.05, "drop_rate": 0.05}}.items():
        (tmp_path / name).mkdir()
        with double_of(accuracy=0.935, **rates) as (_, endpoint):
            evaluate("row", small_task, endpoint, patient, tmp_path / name)
    none, some = (
        {record.id: record for record in read_records(tmp_path / name)} for name in ("none", "some")
    )
    assert sum(record.right is True for record in some.values()) == 187
    assert {r.id: r.text for r in some.values()} == {r.id: r.text for r in none.values()}
    assert sum(record.tries for record in some.values()) > ROWS


def test_a_run_stops_when_it_is_lost(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    gated = replace(patient, gate=Gate(0.93), limits=replace(patient.limits, parallel=10))
    with double_of(accuracy=0.5, delay=0.01) as (_, endpoint):
        run = evaluate("row", small_task, endpoint, gated, tmp_path)
    assert run.counts.wrong == 15
    assert run.counts.answered < 100
    assert run.stopped == "15 answers are not right, 14 of 200 may be"
    assert run.trouble == ()
    assert read_run(tmp_path)["attempts"][0]["stopped"] == run.stopped
    with double_of() as (double, endpoint):
        again = evaluate("row", small_task, endpoint, gated, tmp_path)
        assert double.stats().requests == 0
    assert (again.counts, again.stopped) == (run.counts, run.stopped)


@pytest.mark.parametrize("how", ["early stop off", "no gate", "partial", "other shots"])
def test_a_run_that_may_not_stop_early_asks_all(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path, how: str
) -> None:
    first = 100 if how == "partial" else None
    task = replace(small_task, first=first, usual=("train", 8 if how == "other shots" else 2))
    settings = replace(
        patient, gate=None if how == "no gate" else Gate(0.93), early_stop=how != "early stop off"
    )
    with double_of(accuracy=0.1) as (_, endpoint):
        run = evaluate("row", task, endpoint, settings, tmp_path)
    assert run.counts.answered == (100 if how == "partial" else ROWS)
    assert run.stopped is None
    wanted = "asked with 2 shots of train; the row's gates are about 8 shots of train"
    assert run.otherwise == (wanted if how == "other shots" else None)
    assert read_run(tmp_path)["otherwise"] == run.otherwise


def test_a_pooled_run_counts_what_earlier_ones_lost(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    pooled = replace(patient, gate=Gate(0.93, runs=2), before=Counts(right=180, wrong=20))
    with double_of(accuracy=0.9) as (_, endpoint):
        run = evaluate("row", small_task, endpoint, pooled, tmp_path)
    assert run.counts.wrong == 9  # 28 of 400 may be: 20 were
    assert run.stopped == "29 answers are not right, 28 of 400 may be"


def test_a_dead_server_leaves_trouble_and_what_it_answered(
    double_of: DoubleOf, small_task: Task, tmp_path: Path
) -> None:
    with double_of(die_after=60, delay=0.01) as (double, endpoint):
        settings = Settings(
            limits=Limits(parallel=10),
            watch=lambda: None if double.process.poll() is None else "it was killed",
        )
        run = evaluate("row", small_task, endpoint, settings, tmp_path)
    assert run.trouble == ("it was killed",)
    assert run.counts.failed == 0
    assert 50 <= run.counts.answered == len(read_records(tmp_path)) <= 60
    assert read_run(tmp_path)["attempts"][0]["trouble"] == ["it was killed"]
