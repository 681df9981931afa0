"""What the double is told to do: one frozen dataclass, its checks, and its command line."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn


def _help(meaning: str) -> dict[str, str]:
    """Metadata of a field of `Behaviour`: the help text of its option."""
    return {"help": meaning}


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Every option of `python -m tests.double`, under the same name.

    A `…_share` picks that part of the questions, exactly, and holds at every try; no question is
    in two of them. A `…_rate` is drawn anew at each try. All draws depend on nothing but the seed,
    the question and the number of the try.
    """

    answers: Path = field(metadata=_help("JSONL of question and answer, or a folder's test.jsonl"))
    port: int = field(default=0, metadata=_help("0: one that the system chooses"))
    seed: int = field(default=0, metadata=_help("of every draw"))
    accuracy: float = field(
        default=1.0, metadata=_help("share of the questions answered with the right number")
    )
    delay: float = field(default=0.0, metadata=_help("seconds from a request to its answer"))

    error_rate: float = field(default=0.0, metadata=_help("HTTP 500"))
    drop_rate: float = field(default=0.0, metadata=_help("connection reset instead of an answer"))
    rate_limit_rate: float = field(default=0.0, metadata=_help("HTTP 429 at once"))
    retry_after: int = field(default=0, metadata=_help("seconds in the Retry-After of a 429"))

    reject_share: float = field(default=0.0, metadata=_help("HTTP 400 at once"))
    reject: bool = field(default=False, metadata=_help("HTTP 400 at once for every completion"))
    hang_share: float = field(default=0.0, metadata=_help("never answered"))
    fail_share: float = field(default=0.0, metadata=_help("HTTP 500 at every try"))
    half_body_share: float = field(
        default=0.0, metadata=_help("half of the promised body, then closed")
    )
    malformed_share: float = field(
        default=0.0, metadata=_help("HTTP 200 with a body that is not JSON")
    )
    no_choices_share: float = field(
        default=0.0, metadata=_help("HTTP 200 with an empty list of choices")
    )
    empty_share: float = field(default=0.0, metadata=_help("an empty text"))
    invalid_share: float = field(default=0.0, metadata=_help("a text without any number"))
    truncated_share: float = field(
        default=0.0, metadata=_help("finish_reason length, cut before ####")
    )

    die_after: int | None = field(
        default=None, metadata=_help("completions answered, then it exits at once")
    )
    hang_after: int | None = field(
        default=None, metadata=_help("completions answered, then none is any more")
    )
    api_key: str | None = field(
        default=None, metadata=_help("HTTP 401 without, but for /health…, /stats")
    )
    model: str | None = field(default=None, metadata=_help("HTTP 404 for any other model"))
    server_info: Path | None = field(
        default=None, metadata=_help("JSON file that GET /server_info gives")
    )
    logprobs: Path | None = field(
        default=None, metadata=_help("npz file of a canary's answers that POST /generate scores")
    )
    logprob_shift: float = field(
        default=0.0, metadata=_help("nats added to each log-probability of POST /generate")
    )
    other_tokens: bool = field(
        default=False, metadata=_help("POST /generate scores other tokens than were sent")
    )
    exit_with_stdin: bool = field(
        default=False, metadata=_help("exit when standard input closes: the parent is gone")
    )

    def __post_init__(self) -> None:
        """Raise ValueError, one line, for a value that makes no sense."""
        shares = {name: getattr(self, name) for name in _names("_share")}
        rates = {name: getattr(self, name) for name in _names("_rate")}
        for name, value in {"accuracy": self.accuracy, **shares, **rates}.items():
            if not 0 <= value <= 1:
                raise ValueError(f"{name} = {value}: give a share from 0 to 1")
        for kind, parts in (("shares", shares), ("rates", rates)):
            if sum(parts.values()) > 1 + 1e-9:
                given = ", ".join(f"{name} {value}" for name, value in parts.items() if value)
                raise ValueError(f"{kind} exclude each other, so they sum to 1 at most: {given}")
        if not (math.isfinite(self.delay) and self.delay >= 0):
            raise ValueError(f"delay = {self.delay}: give seconds, 0 or more")
        if self.retry_after < 0:
            raise ValueError(f"retry_after = {self.retry_after}: give seconds, 0 or more")
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port = {self.port}: give 0 to 65535")
        for name in ("die_after", "hang_after"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise ValueError(f"{name} = {count}: give a number of completions, 1 or more")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Behaviour:
        """The behaviour with these options; ValueError names one that does not exist."""
        known = [item.name for item in fields(cls)]
        for name in options:
            if name not in known:
                raise ValueError(f"the double has no option {name!r}: it has {', '.join(known)}")
        if "answers" not in options:
            raise ValueError("the double needs answers: a JSONL file, or a folder with test.jsonl")
        named = ("answers", "server_info", "logprobs")
        paths = {name: Path(options[name]) for name in named if options.get(name)}
        return cls(**{**options, **paths})

    def arguments(self) -> list[str]:
        """The command line that says the same; defaults are left out."""
        words: list[str] = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value is True:
                words.append(_option(item.name))
            elif value != item.default:
                words.append(f"{_option(item.name)}={value}")
        return words


def from_arguments(words: Sequence[str]) -> Behaviour:
    """Read a command line; ends the process with code 2 and one line if it cannot be used."""
    parser = _Parser(
        prog="python -m tests.double", description=Behaviour.__doc__, allow_abbrev=False
    )
    for item in fields(Behaviour):
        kind = str(item.type).removesuffix(" | None")
        meaning = item.metadata["help"]
        if kind == "bool":
            parser.add_argument(_option(item.name), action="store_true", help=meaning)
        else:
            reader = {"float": float, "int": int, "str": str, "Path": Path}[kind]
            parser.add_argument(
                _option(item.name), type=reader, default=argparse.SUPPRESS, help=meaning
            )
    try:
        return Behaviour.of(vars(parser.parse_args(words)))
    except ValueError as error:
        parser.error(str(error))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _names(suffix: str) -> list[str]:
    return [item.name for item in fields(Behaviour) if item.name.endswith(suffix)]
