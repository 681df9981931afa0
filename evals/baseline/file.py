"""A baseline: an accepted measurement in one small file, to be committed or kept in a store.

One file a key. Questions stand in the order of their ids, `test-0000` on; hashes are the first 8
hexadecimal digits of a SHA-256, lines are short: so that a diff shows where a measurement changed.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evals.baseline.hashes import each_hash, ids

BASELINE_FORMAT = 1
ENDING = ".baseline.json"
LONGEST_NAME = 200  # before the ending; file systems take 255 in all
LETTERS_A_LINE = 100
HASHES_A_LINE = 10

Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Letters = Annotated[str, Field(pattern=r"^[rwiRWI]+$")]
Hashes = Annotated[str, Field(pattern=r"^[0-9a-f]{8}( [0-9a-f]{8})*$")]


class Entry(BaseModel):
    """A table in a file that people may edit: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Key(Entry):
    """What a baseline is of. Another build, machine or date is measured against the same one."""

    model: str
    engine: str
    backend: str
    generation: str
    protocol: str
    tensor_parallel: Size
    expert_parallel: Size = 1

    def __str__(self) -> str:
        *parts, tensor_parallel, expert_parallel = self.model_dump().values()
        experts = [f"ep{expert_parallel}"] if expert_parallel > 1 else []
        return " ".join([*parts, f"tp{tensor_parallel}", *experts])

    @property
    def file_name(self) -> str:
        """Of a name too long for a file system, the start and a hash of all of it."""
        name = re.sub(r"[^A-Za-z0-9._]+", "-", str(self))
        if len(name) > LONGEST_NAME:
            name = f"{name[:LONGEST_NAME]}-{sha256(str(self).encode()).hexdigest()[:8]}"
        return name + ENDING

    def differences(self, other: Key) -> list[str]:
        """`backend fa3 there, triton here`, where here is `other`."""
        ours, theirs = self.model_dump(), other.model_dump()
        return [
            f"{part.replace('_', ' ')} {ours[part]} there, {theirs[part]} here"
            for part in ours
            if ours[part] != theirs[part]
        ]


class Asked(Entry):
    """What a comparison needs to agree, as in run.json; `asked` questions, that is all of them."""

    questions: str
    sha256: dict[str, str]
    asked: Annotated[int, Field(ge=1, le=10_000)]  # as ids have four digits
    shots: int
    sampling: dict[str, Any]
    revision: str | None


class Repeat(Entry):
    """One run. `server` is what it said of its build and how it ran (`evals.identity`).

    `outcomes`: a letter a question: right, wrong or invalid, a capital where the token limit cut
    the answer. `sglang_otherwise`: the questions that SGLang's rule judges otherwise. `texts`: a
    hash of each answer, without the blanks it ends in.
    """

    started: str
    seconds: Seconds
    tokens_per_second: Seconds | None
    parallel: int | None
    versions: dict[str, str]
    machine: dict[str, Any]
    commit: dict[str, Any] | None
    server: dict[str, Any] | None
    counts: dict[str, Count]
    accuracy: float
    sglang_otherwise: tuple[str, ...]
    outcomes: tuple[Letters, ...]
    texts: tuple[Hashes, ...]

    @property
    def letters(self) -> str:
        return "".join(self.outcomes)


class Baseline(Entry):
    """`row` is the name of the runs. `prompts`: a hash of each prompt with its gold.

    `arguments` are the row's; None in files of before they were kept.
    """

    format: int
    key: Key
    saved: str
    note: str | None
    row: str
    gate: dict[str, Any] | None
    arguments: dict[str, Any] | None = None
    asked: Asked
    runs: Annotated[tuple[Repeat, ...], Field(min_length=1)]
    prompts: tuple[Hashes, ...]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        """Every question once, everywhere, and the counts that its letters give."""
        asked = self.asked.asked
        known = set(ids(asked))
        _all_of("prompts", len(each_hash(self.prompts)), asked)
        for number, run in enumerate(self.runs):
            _all_of(f"runs.{number}.outcomes", len(run.letters), asked)
            _all_of(f"runs.{number}.texts", len(each_hash(run.texts)), asked)
            otherwise = run.sglang_otherwise
            if len(set(otherwise)) < len(otherwise) or not known.issuperset(otherwise):
                raise ValueError(f"runs.{number}.sglang_otherwise: a question twice or unknown")
            for letter, name in zip("rwi", ("right", "wrong", "invalid"), strict=True):
                seen = run.letters.lower().count(letter)
                if run.counts.get(name) != seen:
                    raise ValueError(
                        f"runs.{number}.counts.{name}: {run.counts.get(name)}, "
                        f"but its outcomes hold {seen}"
                    )
            if abs(run.counts["right"] / asked - run.accuracy) > 1e-6:
                raise ValueError(f"runs.{number}.accuracy: {run.accuracy} is not its counts'")
        return self


def _all_of(what: str, seen: int, asked: int) -> None:
    if seen != asked:
        raise ValueError(f"{what}: {seen} questions instead of {asked}")
