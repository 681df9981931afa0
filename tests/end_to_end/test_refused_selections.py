"""What a session refuses once it knows its rows: in one line, before any server starts."""

from pathlib import Path

import pytest

from tests.sglang_double.sessions import Machine

USAGE = 4
QUESTION = '{"question": "1 + 1?", "answer": "#### 2"}\n'
WAYS = pytest.mark.parametrize("way", [(), ("--dry-run",), ("-n", "2")], ids=" ".join)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """With one H200 and one row: a canary under fa3."""
    machine = Machine(tmp_path)
    machine.rows("")
    return machine


def own_questions(machine: Machine, train: str = QUESTION * 3, row: str = "") -> Path:
    """The folder of three questions that the row's model has instead of the canary's."""
    matrix, folder = machine.rows(row), machine.folder / "mine"
    matrix.write_text(matrix.read_text().replace('questions = "canary"', 'questions = "mine"'))
    folder.mkdir()
    (folder / "train.jsonl").write_text(train)
    (folder / "test.jsonl").write_text(QUESTION * 3)
    return folder


def refused(machine: Machine, *words: str) -> str:
    """The one line that ends a session of the rows on an H200; nothing has been started."""
    code, said = machine.run("-m", "h200", *words)
    assert code == USAGE, said
    assert "INTERNALERROR" not in said
    assert machine.starts == []
    assert list(machine.folder.glob("runs/*")) == []
    (line,) = [line for line in said.splitlines() if line.startswith("ERROR: ")]
    return line.removeprefix("ERROR: ")


@WAYS
def test_a_model_path_that_no_row_would_take(machine: Machine, way: tuple[str, ...]) -> None:
    line = refused(machine, "--model-path=/no/weights", *way)
    assert line.startswith("--model-path=/no/weights: the models of the selected rows lie at paths")
    assert line.endswith(
        "(tiny); allowed: --model-path=PATH or MODEL=PATH with rows of a model from the hub: none"
    )


@WAYS
def test_questions_that_are_no_json(machine: Machine, way: tuple[str, ...]) -> None:
    folder = own_questions(machine, train=QUESTION + "{\n")
    line = refused(machine, *way)
    assert line.startswith(f"tiny-fa3-h200: {folder}: {folder}/train.jsonl line 2 is not JSON")


@WAYS
def test_more_shots_than_there_are_rows_to_show(machine: Machine, way: tuple[str, ...]) -> None:
    folder = own_questions(machine)
    assert refused(machine, *way) == (
        f"tiny-fa3-h200: 8 shots: {folder} allows 0 to 3 from its train split; "
        "give fewer by the row's key shots, or more rows in train.jsonl"
    )


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("--shots=4", "give fewer by --shots, or more rows in train.jsonl"),
        ("--protocol=long", "give fewer by --shots, or more rows in train.jsonl"),
        ("--protocol=sglang-bench", "the row's key shots, or more rows in test.jsonl"),
        ("--questions=50", "50 questions: {folder} allows 1 to 3"),
    ],
)
def test_more_than_the_questions_hold_by_an_option(machine: Machine, word: str, says: str) -> None:
    row = "" if word == "--protocol=sglang-bench" else "shots = 3"
    folder = own_questions(machine, row=row)
    assert refused(machine, "--dry-run", word).endswith(says.format(folder=folder))


def test_questions_that_can_be_asked_and_those_of_rows_left_out_refuse_nothing(
    machine: Machine,
) -> None:
    own_questions(machine, row="shots = 3")
    code, said = machine.run("-m", "h200", "--dry-run", "--questions=3")
    assert code == 0, said
    (machine.folder / "mine" / "test.jsonl").write_text("{")
    code, said = machine.run("-m", "h200", "-k", "no_such_row", "--dry-run")
    assert code == 5, said
