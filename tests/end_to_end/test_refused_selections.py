"""What a session refuses once it knows its rows: in one line, before any server starts."""

from pathlib import Path

import pytest

from tests.sglang_double.sessions import Machine

USAGE = 4
WAYS = pytest.mark.parametrize("way", [(), ("--dry-run",), ("-n", "2")], ids=" ".join)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """With one H200 and one row: a canary under fa3."""
    machine = Machine(tmp_path)
    machine.rows("")
    return machine


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
