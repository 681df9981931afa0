"""Run folders that are damaged: each is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evals.errors import UsageError
from evals.records import FORMAT, write_json
from evals.run import evaluate
from evals.saved import load_run
from evals.task import Settings, Task
from tests.unit.evals.conftest import ROWS, DoubleOf
from tests.unit.evals.run_folders import (
    FAILED,
    MISSING,
    RIGHT,
    write_run,
)

ALL_RIGHT = [RIGHT] * ROWS


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("torn", "ends in the middle of a line"),
        ("cut", "holds 190 answers, run.json tells of 200: the file was truncated"),
        ("gone", "holds 0 answers, run.json tells of 200"),
        ("twice", "question test-0000 has a record already"),
        ("newer", f"has format {FORMAT + 1}, this version reads up to {FORMAT}"),
        ("format 0", "has no format number: it is not a run's"),
        ("no configuration", "does not tell configuration: it is damaged"),
        ("no shots", "does not tell shots: it is damaged"),
        ("no attempts", "does not tell attempts: it is damaged"),
        ("deep", "run.json cannot be read: it is nested too deeply"),
    ],
)
def test_a_damaged_run_is_refused_in_one_line(
    tmp_path: Path, small_task: Task, damage: str, said: str
) -> None:
    folder = write_run(tmp_path / "run", small_task, ALL_RIGHT)
    file = folder / "answers.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    about = json.loads((folder / "run.json").read_text())
    if damage == "torn":
        file.write_text("".join(lines)[:-20])
    elif damage == "cut":
        file.write_text("".join(lines[:190]))
    elif damage == "gone":
        file.unlink()
    elif damage == "twice":
        file.write_text("".join([*lines, lines[0]]))
    elif damage == "newer":
        about["format"] = FORMAT + 1
    elif damage == "format 0":
        about["format"] = 0
    elif damage == "no shots":
        del about["configuration"]["shots"]
    elif damage != "deep":
        del about[damage.removeprefix("no ")]
    write_json(folder / "run.json", about)
    if damage == "deep":
        (folder / "run.json").write_text("[" * 100_000)
    with pytest.raises(UsageError) as refused:
        load_run(folder)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", {"name": "tiny"}),
        ("protocol", ["train"]),
        ("shots", "many"),
        ("sampling", []),
        ("questions", {"sha256": {}, "asked": 0}),
        ("questions", {"sha256": {}, "asked": True}),
        ("questions", {"asked": ROWS}),
        ("void", 5),
        ("otherwise", [1]),
    ],
)
def test_a_value_that_no_run_writes_is_damage(
    tmp_path: Path, small_task: Task, key: str, value: object
) -> None:
    folder = write_run(tmp_path / "run", small_task, ALL_RIGHT)
    about = json.loads((folder / "run.json").read_text())
    (about if key in ("void", "otherwise") else about["configuration"])[key] = value
    write_json(folder / "run.json", about)
    with pytest.raises(UsageError, match=f"run.json does not tell {key}: it is damaged"):
        load_run(folder)


def test_what_is_no_run_folder_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, why in {"": "it has no run.json", "file": "no such folder", "a": "no such"}.items():
        with pytest.raises(UsageError, match=f"{tmp_path / name} is no run folder: .*{why}"):
            load_run(tmp_path / name)


def test_a_run_gone_on_with_counts_what_it_found_and_what_it_added(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    folder = write_run(tmp_path / "run", small_task, [RIGHT] * 150 + [FAILED] * 20 + [MISSING] * 30)
    file = folder / "answers.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:100]))
    with double_of() as (_, endpoint):
        settings = replace(patient, gate=None)
        about = json.loads((folder / "run.json").read_text())
        about["configuration"] |= {"model": endpoint.model}
        write_json(folder / "run.json", about)
        evaluate("run", small_task, endpoint, settings, folder)
    run = load_run(folder)
    assert (len(run.answered), run.labels) == (ROWS, ())
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:199]))
    with pytest.raises(UsageError, match="holds 199 answers, run"):
        load_run(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"outcome": "no verdict", "reasons": [1]}', "is damaged"),
        ('{"outcome": "no verdict", "reasons": null}', "is damaged"),
        ("[]", "is damaged"),
        ("{", "cannot be read: "),
        ("[" * 100_000, "cannot be read: it is nested too deeply"),
    ],
)
def test_a_run_whose_verdict_is_damaged_is_refused_in_one_line(
    tmp_path: Path, small_task: Task, content: str, said: str
) -> None:
    folder = write_run(tmp_path / "run", small_task, ALL_RIGHT)
    (folder / "verdict.json").write_text(content)
    with pytest.raises(UsageError) as refused:
        load_run(folder)
    assert str(refused.value).startswith(f"{folder / 'verdict.json'} {said}")
    assert "\n" not in str(refused.value)
