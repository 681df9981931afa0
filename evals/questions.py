"""Question sets in GSM8K's form: loaded, checked against what is known, given stable ids."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evals.answers import extract_answer
from evals.errors import UsageError
from evals.records import parsed

SPLITS = ("train", "test")
KNOWN_SETS = Path(__file__).with_name("question_sets.toml")


@dataclass(frozen=True, slots=True)
class Question:
    """One row. `answer` is the worked answer, `gold` the number it ends in after `####`."""

    id: str
    question: str
    answer: str
    gold: Decimal


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`test` is what is scored, `train` what few-shot examples may come from."""

    name: str
    train: tuple[Question, ...]
    test: tuple[Question, ...]
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a published split must be: its number of rows and `rows_sha256` of them."""

    rows: int
    sha256: str


def rows_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 over rows in canonical form: question and answer alone, one compact JSON list a line.

    A file, a Parquet table and the hub give the same digest for the same text.
    """
    digest = hashlib.sha256()
    for row in rows:
        pair = [row["question"].replace("\r\n", "\n"), row["answer"].replace("\r\n", "\n")]
        digest.update(json.dumps(pair, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def known_set(name: str) -> dict[str, Expected]:
    """What `question_sets.toml` says of a published set; empty for a set it does not name."""
    table = tomllib.loads(KNOWN_SETS.read_text("utf-8")).get(name, {})
    return {split: Expected(**table[split]) for split in SPLITS if split in table}


def load_folder(
    folder: Path, name: str, expected: Mapping[str, Expected] | None = None
) -> QuestionSet:
    """Loads `train.jsonl` and `test.jsonl` of `folder`.

    Raises:
        UsageError: a file is missing, unreadable, or not what `expected` says.
    """
    if "\0" in str(folder):
        raise UsageError(f"{name!a}: {str(folder)!a} is no folder: a name holds no NUL byte")
    if not folder.is_dir():
        raise UsageError(f"{name}: {folder} is no folder; it must hold train.jsonl and test.jsonl")
    expected = expected or {}
    remedy = "; fetch it again" if expected else ""  # nobody else has a user's own file
    rows = {split: _read_jsonl(folder / f"{split}.jsonl", name, remedy) for split in SPLITS}
    return _question_set(name, rows, expected, where=str(folder))


def load_hub(path: str, config: str, name: str, expected: Mapping[str, Expected]) -> QuestionSet:
    """Loads a set with the `datasets` library, from the hub or from its cache.

    Raises:
        UsageError: the hub cannot be reached, or holds something else than `expected`.
    """
    import datasets  # half a second and 150 MB: only where it is needed

    remedy = "give a folder with train.jsonl and test.jsonl by --gsm8k=DIR or GSM8K_DIR"
    try:
        loaded = datasets.load_dataset(path, config)
        rows = {split: [dict(row) for row in loaded[split]] for split in SPLITS}
    except Exception as error:  # the library raises whatever its transports raise
        cause = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UsageError(f"{name}: {path} did not load ({cause}); {remedy}") from error
    return _question_set(name, rows, expected, where=f"{path} ({config})")


def load_gsm8k(folder: Path | None) -> QuestionSet:
    """GSM8K from `folder`, or from the hub where that is None; checked row by row either way."""
    expected = known_set("gsm8k")
    if folder is not None:
        return load_folder(folder, "gsm8k", expected)
    return load_hub("openai/gsm8k", "main", "gsm8k", expected)


def _read_jsonl(file: Path, name: str, remedy: str) -> list[dict[str, str]]:
    try:
        # Not splitlines(): GSM8K holds U+2028, which JSON allows inside a text.
        lines = file.read_text("utf-8-sig").removesuffix("\n").split("\n")
    except FileNotFoundError:
        raise UsageError(
            f"{name}: {file} is missing; the folder must hold train.jsonl and test.jsonl"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{name}: {file} cannot be read: {error}") from None
    rows: list[dict[str, str]] = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_row(line))
        except ValueError as error:
            raise UsageError(f"{name}: {file} line {number} {error}{remedy}") from None
    return rows


def _row(line: str) -> dict[str, str]:
    """Raises ValueError, which says what is wrong with the line and what is allowed."""
    allowed = "must be an object with the texts question and answer"
    if not line.strip():
        raise ValueError(f"is blank: it {allowed}")
    try:
        row = parsed(line)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"is not JSON ({error.msg}: character {error.pos + 1}): it {allowed}"
        ) from None
    except ValueError as error:
        raise ValueError(f"cannot be read ({error}): it {allowed}") from None
    if not isinstance(row, dict):
        raise ValueError(allowed)
    for key in ("question", "answer"):
        text = row.get(key)
        if not isinstance(text, str):
            raise ValueError(allowed)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"has half a character in its {key}, {text[error.start]!a}: a \\ud800 to \\udfff "
                "must be one of a surrogate pair"
            ) from None
    return row


def _question_set(
    name: str,
    rows: Mapping[str, list[dict[str, str]]],
    expected: Mapping[str, Expected],
    *,
    where: str,
) -> QuestionSet:
    digests = {split: rows_sha256(rows[split]) for split in SPLITS}
    for split, known in expected.items():
        if len(rows[split]) != known.rows:
            raise UsageError(
                f"{name}: {split} of {where} has {len(rows[split])} rows, the published one has "
                f"{known.rows}; fetch it again"
            )
        if digests[split] != known.sha256:
            raise UsageError(
                f"{name}: {split} of {where} is not the published one: sha256 of its rows is "
                f"{digests[split][:12]}…, expected {known.sha256[:12]}…; fetch it again"
            )
    if not rows["test"]:
        raise UsageError(f"{name}: test of {where} has no rows, so nothing can be scored")
    return QuestionSet(
        name,
        train=tuple(_question(name, "train", *numbered) for numbered in enumerate(rows["train"])),
        test=tuple(_question(name, "test", *numbered) for numbered in enumerate(rows["test"])),
        sha256=digests,
    )


def _question(name: str, split: str, index: int, row: Mapping[str, str]) -> Question:
    gold = extract_answer(row["answer"].rpartition("####")[2]) if "####" in row["answer"] else None
    if gold is None:
        raise UsageError(
            f"{name}: {split} row {index}: the answer must end in '#### ' and a number"
        )
    return Question(f"{split}-{index:04d}", row["question"], row["answer"], gold)
