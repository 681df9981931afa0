"""Where a reference implementation's texts are known, the reference backend gives the same ones."""

import pytest

from fixtures.gates import GateChecker
from fixtures.pytest_fixtures import Evaluate
from fixtures.servers import Server


@pytest.mark.reference
def test_reference_texts(server: Server, evaluate: Evaluate, gate: GateChecker) -> None:
    """The texts of one server are those of transformers in fp32, but for a few."""
    row = server.row
    assert row.reference_texts is not None
    least = row.reference_texts
    for evaluation in evaluate(server):
        gate.check_texts(evaluation, row.model.local_path() / "reference.jsonl", least)
