"""The gate of each row of the matrix."""

from fixtures.measuring.gates import GateChecker
from fixtures.pytest_fixtures import Evaluate
from fixtures.servers.server import Server


def test_gsm8k(server: Server, evaluate: Evaluate, gate: GateChecker) -> None:
    """Accuracy and invalid answers of one server, on all of its questions."""
    gate.check(evaluate(server))
