"""A run folder: every answer on disk as it comes, and enough beside it to go on or to read it.

`run.json` says what was measured, `answers.jsonl` holds one object a question, `verdict.json` what
came out of it, `server.log` what the server said. A crash loses the requests in flight and no more.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any, Self, cast

from evals.errors import RecordsNotWritten, UsageError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One question's outcome. Where `error` is set it failed, and what it answered is unknown.

    `text` is the model's own, `value` the number read from it as decimal text (None: invalid),
    `seconds` those of the try that was answered.
    """

    id: str
    prompt_sha256: str
    gold: str
    seconds: float
    tries: int
    text: str | None = None
    value: str | None = None
    right: bool | None = None
    right_sglang: bool | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None


RECORD_KEYS = tuple(field.name for field in fields(Record))


def now() -> str:
    """The time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def stamp() -> str:
    """The time in UTC, to the second, as folders and files are named by."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S")


def create_run(runs_dir: Path, name: str) -> Path:
    """Makes and returns a new folder `<time>-<name>` under `runs_dir`.

    Raises RecordsNotWritten where that cannot be made.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    begun = stamp()
    for attempt in range(1, 1000):
        folder = runs_dir / (f"{begun}-{plain}" if attempt == 1 else f"{begun}-{plain}-{attempt}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if runs_dir.is_dir():
                continue
            raise RecordsNotWritten(f"runs folder {runs_dir} is no folder") from None
        except OSError as error:
            raise RecordsNotWritten(f"run folder {folder} cannot be made: {error}") from error
        return folder
    raise RecordsNotWritten(f"{runs_dir} holds 999 runs of this second already")


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Writes `content` whole or not at all. Raises RecordsNotWritten.

    A device, a pipe or a link, such as /dev/stdout, stays what it is.
    """
    try:
        stays = file.exists() and not file.is_file()
        target = file if stays else Path(os.path.realpath(file))
        part = target if stays else target.with_name(f"{target.name}.part")
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        part.write_text(text, "utf-8", errors="backslashreplace")  # lone surrogates: JSON's escape
        if not stays:
            part.replace(target)
    except OSError as error:
        raise RecordsNotWritten(f"{file} cannot be written: {error.strerror}") from error


def parsed(text: str | bytes) -> Any:
    """What JSON holds. Raises ValueError for what is none, or is nested too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_run(folder: Path) -> dict[str, Any]:
    """The content of `run.json`. Raises UsageError if it is damaged or of a newer format."""
    file = folder / "run.json"
    try:
        content = parsed(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        why = "it has no run.json" if folder.is_dir() else "there is no such folder"
        raise UsageError(f"{folder} is no run folder: {why}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    number = content.get("format") if isinstance(content, dict) else None
    if type(number) is not int or number < 1:
        raise UsageError(f"{file} has no format number: it is not a run's")
    if number > FORMAT:
        raise UsageError(
            f"{file} has format {number}, this version reads up to {FORMAT}: "
            "read it with the version that wrote it"
        )
    configuration, attempts = content.get("configuration"), content.get("attempts")
    lacks = []
    if not isinstance(configuration, dict) or not isinstance(configuration.get("name"), str):
        lacks.append("configuration")
    if not isinstance(attempts, list) or not all(map(_is_attempt, attempts)):
        lacks.append("attempts")
    if not isinstance(content.get("void") or [], list):
        lacks.append("void")
    if lacks:
        raise UsageError(f"{file} does not tell {', '.join(lacks)}: it is damaged")
    return cast("dict[str, Any]", content)


def _is_attempt(value: Any) -> bool:
    """An attempt that was killed says neither how long it took nor what it answered."""
    return (
        isinstance(value, dict)
        and is_number(value.get("seconds", 0.0))
        and isinstance(value.get("trouble", []), list)
        and all(type(value.get(key)) in (int, NoneType) for key in ("asked", "answered"))
    )


def is_number(value: Any) -> bool:
    """Of what a run counts or measures: neither negative, NaN nor infinity."""
    return type(value) in (int, float) and 0 <= value < 1e12


def read_records(folder: Path, *, torn_end: bool = False) -> list[Record]:
    """Every record of a run, in the order they came.

    A crash can leave the last line unfinished: `torn_end` leaves that line out.

    Raises:
        UsageError: a line is no record, or a question has two.
    """
    file = folder / "answers.jsonl"
    records: list[Record] = []
    seen: set[str] = set()
    for number, line in _lines(file, torn_end=torn_end):
        try:
            row = parsed(line)
            record = Record(**{key: value for key, value in row.items() if key in RECORD_KEYS})
            _check(record)
        except (ValueError, TypeError, AttributeError, InvalidOperation):
            raise UsageError(f"{file} line {number} is no record: the file is damaged") from None
        if record.id in seen:
            raise UsageError(f"{file} line {number}: question {record.id} has a record already")
        seen.add(record.id)
        records.append(record)
    return records


def _check(record: Record) -> None:
    """Raises TypeError, or InvalidOperation, for a value that no run writes."""
    texts = (record.id, record.prompt_sha256, record.gold)
    counted = (record.prompt_tokens, record.completion_tokens)
    answered = record.error is None
    if not (
        all(isinstance(text, str) for text in texts)
        and Decimal(record.gold).is_finite()
        and is_number(record.seconds)
        and type(record.tries) is int
        and isinstance(record.text, str if answered else str | None)
        and isinstance(record.right, bool if answered else bool | None)
        and isinstance(record.right_sglang, bool | None)
        and isinstance(record.value, str | None)
        and isinstance(record.finish_reason, str | None)
        and all(type(tokens) in (int, NoneType) for tokens in counted)
        and isinstance(record.error, str | None)
    ):
        raise TypeError


def _lines(file: Path, *, torn_end: bool) -> Iterator[tuple[int, bytes]]:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    *lines, rest = content.split(b"\n")
    if rest and not torn_end:
        raise UsageError(f"{file} ends in the middle of a line: the run was cut short")
    yield from enumerate(lines, 1)


class Recorder:
    """Appends records to `answers.jsonl` of a run folder, each handed to the system at once."""

    def __init__(self, folder: Path, kept: list[Record] | None = None) -> None:
        """Starts the file anew with the records `kept` of an earlier attempt, if any."""
        self.file = folder / "answers.jsonl"
        part = folder / "answers.jsonl.part"
        try:
            part.write_bytes(b"".join(_line(record) for record in kept or ()))
            part.replace(self.file)
            self._descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise RecordsNotWritten(f"{self.file} cannot be written: {error}") from error

    def append(self, record: Record) -> None:
        """Raises RecordsNotWritten: a full disk must not pass for an answer given."""
        line = _line(record)
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError as error:
            raise RecordsNotWritten(f"{self.file} cannot be written: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)


def _line(record: Record) -> bytes:
    row = {key: getattr(record, key) for key in RECORD_KEYS}
    return json.dumps(row).encode() + b"\n"  # ASCII: a model's text may hold lone surrogates
