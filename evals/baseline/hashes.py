"""What stands for texts in a baseline: hashes, a few on a line.

A baseline keeps no texts. Records read back from one hold the hash of a text instead, and so do
those of a run that is held against it: see `hashed`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from evals.records import Record


def hashed(record: Record) -> Record:
    """The record with 8 hexadecimal digits in place of its text, and of its prompt and gold."""
    text = None if record.text is None else _hash(record.text.rstrip())
    prompt = _hash(f"{record.prompt_sha256} {record.gold}")
    return replace(record, prompt_sha256=prompt, gold="", text=text)


def ids(questions: int) -> list[str]:
    """The ids of a test split's first questions (`evals.questions`)."""
    return [f"test-{number:04d}" for number in range(questions)]


def lines(items: list[str], each: int, between: str = " ") -> tuple[str, ...]:
    """`each` items a line."""
    return tuple(between.join(items[at : at + each]) for at in range(0, len(items), each))


def each_hash(hashes: Iterable[str]) -> list[str]:
    """The hashes of all lines."""
    return [each for line in hashes for each in line.split()]


def _hash(text: str) -> str:
    """Texts of models may hold lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
