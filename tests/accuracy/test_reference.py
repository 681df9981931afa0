"""A server is held against known answers: a reference implementation's, or another backend's.

After the gate: what is asked here must not warm the caches of a measured run.
"""

import pytest

from fixtures.measuring.gates import GateChecker
from fixtures.pytest_fixtures import Evaluate, MeasureDrift
from fixtures.servers.server import Server


@pytest.mark.reference
def test_reference_texts(server: Server, evaluate: Evaluate, gate: GateChecker) -> None:
    """The texts of one server are those of transformers in fp32, but for a few."""
    row = server.row
    assert row.reference_texts is not None
    least = row.reference_texts
    for evaluation in evaluate(server):
        gate.check_texts(evaluation, row.model.local_path() / "reference.jsonl", least)


@pytest.mark.drift
def test_reference_drift(server: Server, drift: MeasureDrift, gate: GateChecker) -> None:
    """Log-probabilities of a reference's answers are near its own: transformers' in fp32, or, for
    a model that it never answered, those of the generation's reference backend."""
    gate.check_drift(drift(server))
