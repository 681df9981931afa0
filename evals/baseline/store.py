"""Baselines on disk: one file a key, in one folder."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from evals.baseline.file import BASELINE_FORMAT, ENDING, Baseline, Key
from evals.errors import RecordsNotWritten, UsageError
from evals.records import parsed, write_json


def load_baseline(file: Path) -> Baseline:
    """Raises UsageError, one line, for a file that is damaged, of a newer format, or none."""
    try:
        text = file.read_text("utf-8")
        content = parsed(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    number = content.get("format") if isinstance(content, dict) else None
    if type(number) is not int or number < 1 or not {"key", "runs"} <= content.keys():
        raise UsageError(f"{file} is no baseline: it has no format number, key and runs")
    if number > BASELINE_FORMAT:
        raise UsageError(
            f"{file} has format {number}, this version reads up to {BASELINE_FORMAT}: "
            "read it with the version that wrote it"
        )
    try:
        return Baseline.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{file} is damaged: {first_mistake(error)}") from None


def first_mistake(error: ValidationError) -> str:
    """`runs.0.outcomes: 199 questions instead of 200`."""
    first = error.errors(include_url=False)[0]
    where = "".join(f"{part}." for part in first["loc"]).removesuffix(".")
    return f"{where + ': ' if where else ''}{first['msg'].removeprefix('Value error, ')}"


def baselines_in(folder: Path) -> list[tuple[Path, Baseline | str]]:
    """Every baseline in `folder`, by file name; in place of a damaged one, one line that says so.

    Raises UsageError where it is no folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder of baselines")
    try:
        files = sorted(file for file in folder.iterdir() if file.name.endswith(ENDING))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None
    found: list[tuple[Path, Baseline | str]] = []
    for file in files:
        try:
            found.append((file, load_baseline(file)))
        except UsageError as error:
            found.append((file, str(error)))
    return found


def baseline_for(key: Key, folder: Path) -> tuple[Path, Baseline]:
    """The baseline of a key. Raises UsageError, with the keys that are there, where it is not."""
    file = folder / key.file_name
    if not file.exists():
        there = [
            str(baseline.key) if isinstance(baseline, Baseline) else f"{file.name} (damaged)"
            for file, baseline in baselines_in(folder)
        ]
        raise UsageError(f"{folder} has no baseline of {key}; it has: {', '.join(there) or 'none'}")
    baseline = load_baseline(file)
    if baseline.key != key:
        raise UsageError(
            f"{file} is the baseline of {baseline.key}, not of {key}, whose file has the same "
            "name: each needs a folder of its own"
        )
    return file, baseline


def write_baseline(baseline: Baseline, folder: Path, *, replace: bool = False) -> Path:
    """Writes the file of the baseline's key whole or not at all, and returns it.

    Raises UsageError where the file is there and is not the key's, or `replace` is not said;
    RecordsNotWritten.
    """
    file = folder / baseline.key.file_name
    if file.exists():
        baseline_for(baseline.key, folder)
        if not replace:
            raise UsageError(f"{file} is there already: --replace writes it anew")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordsNotWritten(f"{folder} cannot be made: {error}") from error
    # Bytes that are no text, in a note say, come as lone surrogates, which pydantic does not read.
    plain = json.dumps(baseline.model_dump(mode="json"), ensure_ascii=False)
    write_json(file, json.loads(plain.encode(errors="replace")))
    return file
