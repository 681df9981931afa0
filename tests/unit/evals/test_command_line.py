"""`python -m evals`: what each command prints, and the code it ends with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.__main__ import main
from evals.task import Task
from tests.unit.evals.command_line import said
from tests.unit.evals.conftest import ROWS
from tests.unit.evals.run_folders import (
    FAILED,
    MISSING,
    RIGHT,
    WRONG,
    first,
    row_of,
    write_run,
    write_verdict,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("fates", "code"),
    [
        ([RIGHT] * ROWS, 0),
        ([WRONG] * 3 + [RIGHT] * 197, 0),  # cannot tell: a warning, no failure
        ([WRONG] * 10 + [RIGHT] * 190, 10),
        ([RIGHT] * 190 + [FAILED] * 10, 11),
        ([WRONG] * 30 + [MISSING] * 10 + [RIGHT] * 160, 10),
    ],
)
def test_compare_ends_with_the_verdicts_code(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    small_task: Task,
    baseline: Path,
    fates: list[str],
    code: int,
) -> None:
    other = write_run(tmp_path / "other", small_task, fates)
    ended, out, err = said(capsys, "compare", baseline, other)
    assert (ended, err) == (code, "")
    assert out.startswith("other against baseline: ")


def test_compare_takes_repeats_of_either_side(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, small_task: Task, baseline: Path
) -> None:
    again = write_run(tmp_path / "again", small_task, [RIGHT] * ROWS, row_name="baseline")
    fates = [WRONG] * 10 + [RIGHT] * 190
    worse = [write_run(tmp_path / f"worse{n}", small_task, fates, row_name="worse") for n in (1, 2)]
    words = ("compare", "--baseline", baseline, again, "--candidate", *worse)
    code, out, err = said(capsys, *words)
    assert (code, err) == (10, "")
    assert "2 runs, 380 of 400 right" in out
    assert said(capsys, "compare", baseline, worse[0], "--candidate", worse[1])[0] == 10
    code, out, err = said(capsys, "compare", baseline, baseline)
    assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, err = said(capsys, "compare", baseline, again, "--candidate", worse[0])
    assert (code, out, err.count("\n")) == (11, "", 1)


@pytest.mark.parametrize("fault", ["partial", "not sound", "twice", "a copy", "a mixture"])
def test_the_same_fault_ends_with_the_same_code_in_compare_and_baseline_save(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, small_task: Task, fault: str
) -> None:
    def written(name: str, backend: str = "fa_on", questions: int = ROWS) -> Path:
        task, row = first(small_task, questions), row_of(backend)
        folder = tmp_path / name
        return write_run(folder, task, [RIGHT] * questions, row_name=backend, row=row)

    one = written("one", questions=20 if fault == "partial" else ROWS)
    runs = [one]
    if fault == "not sound":
        write_verdict(one, "no verdict", reasons=["another backend ran"])
    if fault == "twice":
        runs = [one, one]
    if fault == "a copy":
        runs = [one, Path(shutil.copytree(one, tmp_path / "copy"))]
    if fault == "a mixture":
        runs = [one, written("mixed", "fa_off")]
    theirs = written("theirs", questions=20 if fault == "partial" else ROWS)
    expected = 2 if fault in ("twice", "a copy") else 11
    compared = said(capsys, "compare", "--baseline", *runs, "--candidate", theirs)
    saved = said(capsys, "baseline", "save", *runs, "--dir", tmp_path / "baselines")
    assert (compared[0], saved[0]) == (expected, expected)
    assert (saved[1], saved[2].count("\n")) == ("", 1)


def test_compare_without_a_candidate_names_what_is_missing(
    capsys: pytest.CaptureFixture[str], baseline: Path
) -> None:
    code, out, err = said(capsys, "compare", baseline)
    assert (code, out) == (2, "")
    assert "no run as the candidate" in err


def test_runs_of_different_things_end_with_11_and_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, small_task: Task, baseline: Path
) -> None:
    other = write_run(tmp_path / "other", small_task, [RIGHT] * ROWS, model="other")
    code, out, err = said(capsys, "compare", baseline, other)
    assert (code, out, err.count("\n")) == (11, "", 1)
    assert "cannot be compared: they differ in model" in err


def test_wrong_use_ends_with_2_and_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, baseline: Path
) -> None:
    for words in (
        ("compare", baseline, tmp_path / "nowhere"),
        ("rescore", baseline, "--rule", "loose"),
        ("show", baseline, "test-9999"),
        ("show", baseline, "--wrong", "--questions-dir", tmp_path / "nowhere"),
    ):
        code, out, err = said(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["compare", "a", "b", "--alpha", "2"],
        ["compare", "a", "b", "--alpha", "x"],
        ["compare", "a", "b", "--tolerance", "nan"],
        ["compare", "a", "b", "--tolerance", "-1"],
        ["show", "a", "--wrong", "--invalid"],
    ],
)
def test_what_the_parser_refuses_ends_with_2(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert refused.value.code == 2
    assert "_alpha" not in capsys.readouterr().err


def test_compare_writes_all_of_it_as_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, baseline: Path, candidate: Path
) -> None:
    file = tmp_path / "pair.json"
    code, out, _ = said(capsys, "compare", baseline, candidate, "--all", "--json", file)
    content = json.loads(file.read_text())
    assert code == 10
    assert content["outcome"] == content["parity"] == "worse"
    assert content["cells"] == {"both": 191, "lost": 8, "gained": 1, "neither": 0}
    assert [flip["id"] for flip in content["flips"]][-1] == "test-0199"
    assert "test-0199 gained" in out


def test_a_tolerance_is_in_points(
    capsys: pytest.CaptureFixture[str], baseline: Path, candidate: Path
) -> None:
    # 8 lost, 1 gained of 200: a drop of 3.5 points, which is not above itself.
    assert said(capsys, "compare", baseline, candidate, "--tolerance", "3.49")[0] == 10
    assert said(capsys, "compare", baseline, candidate, "--tolerance", "3.5")[0] == 0


def test_rescore_takes_one_rule_or_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, candidate: Path
) -> None:
    file = tmp_path / "rescore.json"
    code, out, _ = said(capsys, "rescore", candidate, "--rule", "strict", "--json", file)
    assert code == 0
    assert "strict: 192 of 200 right" in out
    assert "sglang" not in out
    assert list(json.loads(file.read_text())["rules"]) == ["strict"]
    out = said(capsys, "rescore", candidate)[1]
    assert all(f"  {rule}: " in out for rule in ("project", "sglang", "flexible", "strict"))


@pytest.mark.parametrize("command", ["rescore", "show"])
def test_a_run_that_was_cut_short_is_read_and_labelled(
    capsys: pytest.CaptureFixture[str], baseline: Path, command: str
) -> None:
    file = baseline / "answers.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    code, out, _ = said(capsys, command, baseline)
    assert code == 0
    assert "the last line of its records is unfinished" in out
    assert "1 of its 200 answers are lost" in out
    assert said(capsys, "compare", baseline, baseline)[0] == 2


@pytest.mark.parametrize("command", ["rescore", "show"])
def test_a_partial_run_is_read_and_labelled(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, small_task: Task, command: str
) -> None:
    part = write_run(tmp_path / "part", first(small_task, 20), [RIGHT] * 20)
    out = said(capsys, command, part)[1]
    assert "a partial run: only 20 questions were asked for" in out


def test_a_text_with_lone_surrogates_is_printed_and_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, baseline: Path, candidate: Path
) -> None:
    for folder in (baseline, candidate):
        file = folder / "answers.jsonl"
        file.write_text(file.read_text().replace("It is", "It \\udc80 is"))
    file = tmp_path / "pair.json"
    code, out, _ = said(capsys, "compare", baseline, candidate, "--json", file)
    assert code == 10
    assert "It \\udc80 is" in out
    assert "It \udc80 is" in json.loads(file.read_text())["flips"][0]["texts"][0]


def test_a_reader_that_goes_away_changes_no_code(baseline: Path, candidate: Path) -> None:
    words = [sys.executable, "-m", "evals", "compare", str(baseline), str(candidate)]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
        assert process.wait(60) == 10
    assert complaint == b""


@pytest.mark.parametrize("name", ["full", "closed"])
def test_an_output_that_cannot_be_written_ends_in_no_traceback(baseline: Path, name: str) -> None:
    words = [sys.executable, "-m", "evals", "show", str(baseline)]
    close = "exec 1>&-" if name == "closed" else "exec 1>/dev/full"
    done = subprocess.run(
        ["sh", "-c", f'{close}; exec "$@"', "sh", *words], cwd=ROOT, capture_output=True, text=True
    )
    told = "error: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == ((0, "") if name == "closed" else (11, told))


def test_what_a_terminal_would_obey_is_shown_instead(
    capsys: pytest.CaptureFixture[str], baseline: Path
) -> None:
    file = baseline / "answers.jsonl"
    file.write_text(file.read_text().replace(" It is not.", "\\u001b[2J\\r\\u009b1m\\tIt is not."))
    out = said(capsys, "show", baseline, "--wrong")[1]
    assert "\n\\x1b[2J\\r\\x9b1m\tIt is not.\n#### 401\n" in out


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    """A folder that may not be looked into. Root may: so it is somebody else meanwhile."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0)
    us = os.geteuid()
    os.seteuid(us or 65534)
    yield folder
    os.seteuid(us)


@pytest.mark.parametrize("command", [["history"], ["baseline", "list", "--dir"], ["show"]])
def test_a_path_that_may_not_be_looked_at_ends_with_2_and_one_line(
    capsys: pytest.CaptureFixture[str], locked: Path, command: list[str]
) -> None:
    for place in (locked, locked / "inner"):
        code, out, err = said(capsys, *command, place)
        assert (code, out, err.count("\n")) == (2, "", 1)
