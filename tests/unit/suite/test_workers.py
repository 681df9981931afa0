"""Which row a test belongs to, told by its node id alone."""

from __future__ import annotations

import pytest

from fixtures.suite.workers import row_of

ROWS = ("canary-stock-fa_off-cpu", "canary-stock-fa_on-cpu", "a-cpu")


@pytest.mark.parametrize(
    ("nodeid", "row"),
    [
        ("tests/test_gsm8k.py::test_gsm8k[canary-stock-fa_on-cpu]", "canary-stock-fa_on-cpu"),
        ("test_x.py::test_load[canary-stock-fa_off-cpu-64]", "canary-stock-fa_off-cpu"),
        ("test_x.py::test_load[64-canary-stock-fa_off-cpu]", "canary-stock-fa_off-cpu"),
        ("test_x.py::TestIt::test_load[a-cpu]", "a-cpu"),
        ("test_x.py::test_load[extra-cpu]", None),
        ("test_x.py::test_load[64]", None),
        ("test_a-cpu.py::test_load", None),
    ],
)
def test_the_row_of_a_test(nodeid: str, row: str | None) -> None:
    assert row_of(nodeid, ROWS) == row
