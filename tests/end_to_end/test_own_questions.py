"""Questions of the user's own, in a folder that a matrix names: from the gate to `compare`."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import main
from tests.sessions import CANARY_QUESTIONS, runs_in
from tests.sglang_double.sessions import Machine

QUESTIONS = 40


def copy_questions(folder: Path, first: int) -> Path:
    """So many of the canary's, which the double can answer, from the number `first` on."""
    folder.mkdir(exist_ok=True)
    (folder / "train.jsonl").write_bytes((CANARY_QUESTIONS / "train.jsonl").read_bytes())
    lines = (CANARY_QUESTIONS / "test.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "test.jsonl").write_bytes(b"".join(lines[first : first + QUESTIONS]))
    return folder


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    matrix = machine.rows("")
    text = matrix.read_text()
    matrix.write_text(text.replace('questions = "canary"', 'questions = "mine"'))
    copy_questions(tmp_path / "mine", 0)
    return machine


def test_a_folder_of_questions_is_asked_and_known_by_its_rows(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = machine.folder / "mine"
    code, said = machine.run("-m", "h200")
    assert code == 0, said
    (run,) = runs_in(machine.folder / "runs")
    asked: dict[str, Any] = run.about["configuration"]["questions"]
    assert (asked["set"], asked["asked"]) == (str(mine), QUESTIONS)
    question = json.loads((mine / "test.jsonl").read_text().splitlines()[3])["question"]

    show = ["show", str(run.folder), "test-0003"]
    assert main(show) == 0
    assert f"give the folder of the question set {mine} by --q" in capsys.readouterr().out
    assert main([*show, f"--questions-dir={mine}"]) == 0
    assert question in capsys.readouterr().out

    code, said = machine.run("-m", "h200", f"--resume={run.folder}")
    assert code == 0, said
    machine.run("-m", "h200", runs="again")
    (again,) = runs_in(machine.folder / "again")
    assert main(["compare", str(run.folder), str(again.folder)]) == 0

    copy_questions(mine, QUESTIONS)
    code, said = machine.run("-m", "h200", f"--resume={run.folder}")
    assert code == 11, said
    assert "cannot be resumed: questions was " in said
    machine.run("-m", "h200", runs="other")
    (other,) = runs_in(machine.folder / "other")
    assert main(["compare", str(run.folder), str(other.folder)]) == 11
    assert f"they differ in questions ({mine}, test " in capsys.readouterr().err


@pytest.mark.parametrize(("marker", "code"), [("canary", 5), ("gsm8k", 5), ("h200", 0)])
def test_its_rows_are_selected_by_neither_question_sets_marker(
    machine: Machine, marker: str, code: int
) -> None:
    assert machine.run("-m", marker, "--dry-run")[0] == code
