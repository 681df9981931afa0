"""What a session asks of a row, and when that is not what the row's gates are about."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from evals.questions import load_folder
from fixtures.matrix.file import load_matrix
from fixtures.measuring.measure import task_of
from fixtures.suite.suite import CANARY_QUESTIONS
from tests.unit.suite.test_options import read

QUESTIONS = load_folder(CANARY_QUESTIONS, "canary")
CANARY, LONG = "canary-stock-fa3-h200", "maverick-fp8-fa3-h200-long"


@pytest.mark.parametrize(
    ("row", "words", "says"),
    [
        (CANARY, (), None),
        (CANARY, ("--shots=8",), None),
        (CANARY, ("--protocol=train",), None),
        (CANARY, ("--questions=40",), None),
        (CANARY, ("--shots=1",), "asked with 1 shot of train; the row's gates are about 8 shots"),
        (CANARY, ("--protocol=sglang-bench",), "asked with 8 shots of sglang-bench; .* of train$"),
        (CANARY, ("--protocol=long",), "asked with 80 shots of long; .* 8 shots of train$"),
        (CANARY, ("--protocol=long", "--shots=8"), "asked with 8 shots of long; .* 8 shots of tra"),
        (LONG, ("--protocol=long", "--shots=80"), None),
        (LONG, ("--shots=40",), "asked with 40 shots of long; .* about 80 shots of long$"),
        (LONG, ("--protocol=train",), "asked with 80 shots of train; .* about 80 shots of long$"),
    ],
)
def test_what_differs_from_the_rows_own_is_told(
    row: str, words: tuple[str, ...], says: str | None
) -> None:
    suite: Any = SimpleNamespace(options=read(*words), questions=lambda _: QUESTIONS)
    task = task_of(suite, load_matrix().row(row))
    if says is None:
        assert task.otherwise is None
    else:
        assert re.match(says, str(task.otherwise)), task.otherwise
