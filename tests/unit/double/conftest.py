"""Questions for the double, and the bytes that ask it one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROWS = 40


@pytest.fixture(scope="session")
def few_answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 40 questions "What is 2 times I?" with their answers."""
    file = tmp_path_factory.mktemp("double") / "questions.jsonl"
    rows = [
        {"question": f"What is 2 times {i}?", "answer": f"It is {2 * i}.\n#### {2 * i}"}
        for i in range(ROWS)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file
