"""Each backend against its generation's reference, question by question."""

import pytest

from fixtures.matrix.pairs import Pair
from fixtures.measuring.parity_gate import ParityChecker


@pytest.mark.parity
def test_backend_parity(pair: Pair, parity: ParityChecker) -> None:
    """A backend answers no worse than the reference, as far as their questions can tell."""
    parity.check(pair)
