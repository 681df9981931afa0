"""Baselines: what may become one, and what its file holds and refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.baseline.check import runs_of
from evals.baseline.file import BASELINE_FORMAT, Baseline, Key
from evals.baseline.hashes import hashed
from evals.baseline.save import baseline_of, key_of
from evals.baseline.store import load_baseline, write_baseline
from evals.errors import NotComparable, UsageError
from evals.prompts import PROTOCOLS
from evals.questions import load_folder
from evals.saved import load_run
from evals.task import Task
from tests.unit.evals.baselines import (
    FATES,
    NAME,
    SERVER,
    Save,
    edited,
    said,
    set_to,
)
from tests.unit.evals.conftest import ROWS, row, write_rows
from tests.unit.evals.run_folders import (
    FAILED,
    MISSING,
    RIGHT,
    WRONG,
    first,
    row_of,
    write_run,
)


def test_a_baseline_tells_key_build_counts_and_note(saved: Path) -> None:
    kept = load_baseline(saved)
    assert saved.name == NAME
    assert str(kept.key) == "tiny llama_cpp fa_on cpu train tp1"
    assert (kept.note, kept.row, kept.gate) == ("release 1", "accepted", row_of()["gate"])
    assert kept.runs[0].server == SERVER["facts"]
    assert kept.runs[0].accuracy == 0.98
    assert kept.runs[0].counts["right"] == 196
    assert kept.runs[0].letters == "wwwi" + 196 * "r"
    assert kept.runs[0].tokens_per_second == round(200 * 10 / 60, 1)


def test_runs_come_back_from_a_baseline_as_they_were(run: Save, store: Path) -> None:
    folder = run()
    file = folder / "answers.jsonl"
    cut = file.read_text().replace('"finish_reason": "stop"', '"finish_reason": "length"', 5)
    file.write_text(cut.replace('"right_sglang": true', '"right_sglang": false', 7))
    before = load_run(folder)
    kept = load_baseline(write_baseline(baseline_of([before]), store))
    after = runs_of(kept, saved_at := store / NAME)[0]
    assert (after.folder, after.asked, after.started) == (saved_at, ROWS, before.started)
    for ours, theirs in zip(after.records, sorted(before.records, key=lambda r: r.id), strict=True):
        theirs = hashed(theirs)
        for name in ("id", "prompt_sha256", "text", "right", "right_sglang", "finish_reason"):
            assert getattr(ours, name) == getattr(theirs, name)
        assert (ours.value is None) == (theirs.value is None)


def test_the_order_of_answers_does_not_matter(run: Save, store: Path) -> None:
    folders = [run(name, started="2026-12-01T00:00:00+00:00") for name in ("a", "b")]
    file = folders[1] / "answers.jsonl"
    file.write_text("".join(reversed(file.read_text().splitlines(keepends=True))))
    one, other = (baseline_of([load_run(folder)]) for folder in folders)
    assert one.runs == other.runs
    assert one.prompts == other.prompts


@pytest.mark.parametrize(
    ("fates", "told"),
    [
        ([FAILED, *FATES[1:]], "1 of 200 requests failed for good"),
        ([MISSING, *FATES[1:]], "1 of 200 questions were not answered"),
    ],
)
def test_a_run_that_is_not_whole_is_refused(run: Save, fates: list[str], told: str) -> None:
    with pytest.raises(NotComparable, match=f"is no whole measurement: {told}"):
        baseline_of([load_run(run(fates=fates))])


def test_a_partial_run_and_one_without_a_verdict_are_refused(
    run: Save, tmp_path: Path, small_task: Task
) -> None:
    part = write_run(tmp_path / "part", first(small_task, 20), [RIGHT] * 20, row=row_of())
    with pytest.raises(NotComparable, match="a partial run: only 20 questions"):
        baseline_of([load_run(part)])
    folder = run()
    verdict = {"outcome": "no verdict", "reasons": ["another backend ran"]}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    with pytest.raises(NotComparable, match="its own verdict is none: another backend ran"):
        baseline_of([load_run(folder)])


def test_a_run_that_does_not_tell_its_row_has_no_key(tmp_path: Path, small_task: Task) -> None:
    folder = write_run(tmp_path / "run", small_task, FATES)
    with pytest.raises(UsageError, match="does not tell the row's engine, backend"):
        key_of(load_run(folder))


def test_a_run_that_names_no_revision_of_its_model_can_be_kept(run: Save) -> None:
    assert baseline_of([load_run(run(row=row_of(model="tiny")))]).asked.revision is None


def test_a_tensor_parallel_size_that_is_no_number_is_no_part_of_a_key(run: Save) -> None:
    with pytest.raises(UsageError, match="does not tell the row's tensor_parallel"):
        key_of(load_run(run(row=row_of(tensor_parallel="two"))))


def test_a_model_of_a_long_name_has_a_baseline(
    capsys: pytest.CaptureFixture[str], run: Save, store: Path
) -> None:
    one, other = (run(last, model="m" * 299 + last) for last in "mn")
    for folder in (one, other):
        assert said(capsys, "save", folder, f"--dir={store}")[0] == 0
    names = [file.name for file in store.iterdir()]
    assert len(names) == 2
    assert max(map(len, names)) < 240
    again = run("again", model=f"{'m' * 299}m")
    code, out, _ = said(capsys, "check", again, f"--dir={store}")
    assert (code, "another key" in out) == (0, False)


def test_repeats_make_one_baseline_in_the_order_of_their_start(run: Save) -> None:
    runs = [
        load_run(run(f"r{day}", [WRONG] * day + [RIGHT] * (200 - day), started=f"2026-12-0{day}"))
        for day in (3, 1, 2)
    ]
    kept = baseline_of(runs)
    assert [repeat.started[-1] for repeat in kept.runs] == ["1", "2", "3"]
    assert [repeat.counts["wrong"] for repeat in kept.runs] == [1, 2, 3]


def test_a_run_that_failed_its_gate_is_kept_under_a_warning(
    capsys: pytest.CaptureFixture[str], run: Save, store: Path
) -> None:
    folder = run()
    (folder / "verdict.json").write_text(json.dumps({"outcome": "fail"}))
    code, out, _ = said(capsys, "save", folder, f"--dir={store}")
    assert code == 0
    assert f"warning: {folder} failed its gate" in out


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"row": row_of("fa_off")}, "backend fa_on there, fa_off here"),
        ({"server": {"facts": {"version": "1.3"}}}, "what the servers say of their build"),
        ({"row": row_of(arguments={"slots": 4})}, r"slots \(not set and 4\)"),
    ],
)
def test_repeats_that_differ_are_refused(run: Save, about: dict[str, Any], told: str) -> None:
    with pytest.raises(NotComparable, match=told):
        baseline_of([load_run(run("a", row=row_of(arguments={}))), load_run(run("b", **about))])


def test_the_same_run_twice_is_no_repeat(run: Save, tmp_path: Path) -> None:
    folder = run()
    copy = shutil.copytree(folder, tmp_path / "copy")
    for other, told in ((folder, f"{folder} is given twice"), (copy, f"{folder} and {copy} hold")):
        with pytest.raises(UsageError, match=told):
            baseline_of([load_run(folder), load_run(other)])


def test_a_file_is_not_written_over_unless_told_to(
    capsys: pytest.CaptureFixture[str], run: Save, saved: Path, store: Path
) -> None:
    before, other = saved.read_bytes(), run("other", [RIGHT] * ROWS)
    code, out, err = said(capsys, "save", other, f"--dir={store}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is there already: --replace" in err
    assert saved.read_bytes() == before
    code, out, _ = said(capsys, "save", other, f"--dir={store}", "--replace", "--note", "anew")
    assert code == 0
    assert out.startswith(f"{saved}: ")
    assert out.endswith("  anew\n")
    assert load_baseline(saved).note == "anew"
    assert [file.name for file in store.iterdir()] == [NAME]


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_of_another_key_is_told_and_never_replaced(
    run: Save, store: Path, replace: bool
) -> None:
    one, other = (baseline_of([load_run(run(model, model=model))]) for model in ("tin y", "tin-y"))
    before = write_baseline(one, store).read_bytes()
    told = "is the baseline of tin y .*, not of tin-y .*: each needs a folder of its own"
    with pytest.raises(UsageError, match=told):
        write_baseline(other, store, replace=replace)
    assert [file.read_bytes() for file in store.iterdir()] == [before]


def test_a_repeat_of_all_questions_takes_under_40_kb(tmp_path: Path, store: Path) -> None:
    folder = tmp_path / "questions"
    folder.mkdir()
    write_rows(folder / "train.jsonl", [row(n) for n in range(2000, 2008)])
    write_rows(folder / "test.jsonl", [row(n) for n in range(1, 1320)])
    task = Task(load_folder(folder, "whole"), PROTOCOLS["train"])
    fates = [RIGHT] * 1250 + [WRONG] * 69
    run = load_run(write_run(tmp_path / "run", task, fates, row=row_of()))
    file = write_baseline(baseline_of([run]), store)
    assert file.stat().st_size < 40_000
    assert max(map(len, file.read_text().splitlines())) <= 110


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (set_to("format", value=BASELINE_FORMAT + 1), "has format 2, this version reads up to 1"),
        (set_to("format", value="1"), "is no baseline"),
        (set_to("format", value=0), "is no baseline"),
        (set_to("notes", value=""), "damaged: notes: Extra inputs are not permitted"),
        (set_to("runs", value=[]), "damaged: runs: "),
        (set_to("key", "tensor_parallel", value="1"), "damaged: key.tensor_parallel: "),
        (set_to("runs", 0, "outcomes", value=["r" * 199]), "outcomes: 199 questions instead of 20"),
        (set_to("runs", 0, "outcomes", value=["r" * 200]), "counts.right: 196, but its outcomes h"),
        (set_to("runs", 0, "outcomes", 0, value="x" * 100), "damaged: runs.0.outcomes.0: "),
        (set_to("runs", 0, "texts", 0, value="00000000"), "texts: 191 questions instead of 200"),
        (set_to("runs", 0, "accuracy", value=0.99), "accuracy: 0.99 is not its counts'"),
        (set_to("runs", 0, "sglang_otherwise", value=["test-0001"] * 2), "twice or unknown"),
        (set_to("runs", 0, "sglang_otherwise", value=["test-0200"]), "twice or unknown"),
        (set_to("prompts", 0, value="00000000"), "prompts: 191 questions instead of 200"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    saved: Path, change: Callable[[dict[str, Any]], object], told: str
) -> None:
    edited(saved, change)
    with pytest.raises(UsageError) as refused:
        load_baseline(saved)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"format": 1}', b"[" * 100_000])
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / NAME
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot be read|is no baseline"):
        load_baseline(file)


def test_a_note_of_bytes_that_are_no_text_can_be_read_back(run: Save, store: Path) -> None:
    file = write_baseline(baseline_of([load_run(run())], "caf\udce9"), store)
    assert load_baseline(file).note == "caf?"


def test_list_shows_each_baseline_and_names_damaged_files(
    capsys: pytest.CaptureFixture[str], saved: Path, store: Path
) -> None:
    (store / "broken.baseline.json").write_text("{")
    code, out, _ = said(capsys, "list", f"--dir={store}")
    assert code == 0
    heading, line, broken = out.splitlines()
    assert heading.startswith("key ")
    assert line.startswith("tiny llama_cpp fa_on cpu train tp1 ")
    assert line.split()[6:] == [
        "0.9800",
        *["0.9497", "to", "0.9922"],
        "1",
        "1",
        load_baseline(saved).saved[:10],
        "-",
        "1.2",
        *["release", "1"],
    ]
    assert broken.startswith(f"{store / 'broken.baseline.json'} cannot be read")


def test_a_line_break_in_a_models_name_does_not_break_the_list(
    capsys: pytest.CaptureFixture[str], run: Save, store: Path
) -> None:
    assert said(capsys, "save", run(model="tin\ny"), f"--dir={store}")[0] == 0
    _, line = said(capsys, "list", f"--dir={store}")[1].splitlines()
    assert line.startswith("tin y llama_cpp fa_on cpu train tp1 ")


def test_a_key_makes_a_readable_file_name_whatever_it_holds() -> None:
    key = Key(
        model="meta-llama/Llama 4: Scout",
        engine="sglang",
        backend="fa3",
        generation="h200",
        protocol="train",
        tensor_parallel=8,
    )
    name = "meta-llama-Llama-4-Scout-sglang-fa3-h200-train-tp8.baseline.json"
    assert key.file_name == name


def test_a_text_with_lone_surrogates_and_blanks_at_its_end_is_hashed(run: Save) -> None:
    record = load_run(run()).records[0]
    texts = [hashed(replace(record, text=f"a\udc80{end}")).text for end in ("", " \n", "b")]
    assert texts[0] == texts[1] != texts[2]
    assert isinstance(baseline_of([load_run(run("b"))]), Baseline)
