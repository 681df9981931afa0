"""What becomes of each question, and of each try: pure draws from seed, question and try."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path

from tests.double.behaviour import Behaviour


class Fate(StrEnum):
    """What a question meets at every try; each but ANSWER is the `…_share` of that name."""

    ANSWER = "answer"
    REJECT = "reject"
    HANG = "hang"
    FAIL = "fail"
    HALF_BODY = "half_body"
    MALFORMED = "malformed"
    NO_CHOICES = "no_choices"
    EMPTY = "empty"
    INVALID = "invalid"
    TRUNCATED = "truncated"


class Mishap(StrEnum):
    """What one try may meet; each is the `…_rate` of that name."""

    ERROR = "error"
    DROP = "drop"
    RATE_LIMIT = "rate_limit"


@dataclass(frozen=True, slots=True)
class Planned:
    """One question's part: `right` says whether the text it gets ends in the gold number."""

    question: str
    fate: Fate
    right: bool
    text: str

    @property
    def finish_reason(self) -> str:
        return "length" if self.fate is Fate.TRUNCATED else "stop"


def plan(behaviour: Behaviour) -> dict[str, Planned]:
    """Every question of the answers file with what the double does about it.

    Shares are exact: of n questions the first round(p * n) in hash order. The order that deals out
    accuracy is not the one that deals out fates, so these meet right and wrong answers alike.
    """
    golds = read_golds(behaviour.answers)
    chosen = set(
        _shuffled(golds, behaviour.seed, "right")[: round(behaviour.accuracy * len(golds))]
    )
    fates = _fates(behaviour, _shuffled(golds, behaviour.seed, "fate"))
    planned = {}
    for question, gold in golds.items():
        fate = fates.get(question, Fate.ANSWER)
        number = gold if question in chosen else str(_value(gold) + 1)
        right = question in chosen and fate is Fate.ANSWER
        planned[question] = Planned(question, fate, right, _text(fate, number))
    return planned


def mishap(behaviour: Behaviour, question: str, attempt: int) -> Mishap | None:
    """What this try of this question meets; `attempt` counts from 1."""
    if not (behaviour.error_rate or behaviour.drop_rate or behaviour.rate_limit_rate):
        return None
    drawn = _hash(behaviour.seed, "try", question, attempt) / 2**64
    for kind in Mishap:
        drawn -= getattr(behaviour, f"{kind}_rate")
        if drawn < 0:
            return kind
    return None


def read_golds(path: Path) -> dict[str, str]:
    """Question → the number after `#### `, as written. ValueError names a file or line at fault."""
    file = path / "test.jsonl" if path.is_dir() else path
    golds: dict[str, str] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"answers = {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            gold = row["answer"].rpartition("#### ")[2].strip()
            _value(gold)
            golds[row["question"].strip()] = gold
        except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation) as error:
            raise ValueError(
                f'{file}:{number}: not a row of {{"question", "answer": "… #### N"}}'
            ) from error
    if not golds:
        raise ValueError(f"{file}: no questions in it")
    return golds


def question_in(prompt: str) -> str:
    """The question that a few-shot prompt asks at its end."""
    return prompt.rpartition("Question: ")[2].partition("\nAnswer:")[0].strip()


def _fates(behaviour: Behaviour, order: list[str]) -> dict[str, Fate]:
    """Deal out one stretch of the order to each share; all of it when everything is rejected."""
    if behaviour.reject:
        return dict.fromkeys(order, Fate.REJECT)
    fates: dict[str, Fate] = {}
    for fate in Fate:
        if fate is not Fate.ANSWER:
            count = round(getattr(behaviour, f"{fate}_share") * len(order))
            fates |= dict.fromkeys(order[len(fates) : len(fates) + count], fate)
    return fates


def _text(fate: Fate, number: str) -> str:
    """A worked answer, or what its fate leaves of it. A truncated one holds another number."""
    if fate is Fate.EMPTY:
        return ""
    if fate is Fate.INVALID:
        return " This cannot be told from what is given."
    start = f" First there are {_value(number) + 2}; then"
    if fate is Fate.TRUNCATED:
        return start
    return f"{start} 2 of them are taken away, which leaves {number}.\n#### {number}"


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _shuffled(questions: dict[str, str], seed: int, purpose: str) -> list[str]:
    return sorted(questions, key=lambda question: _hash(seed, purpose, question))


def _hash(*parts: object) -> int:
    """64 bits that depend on the parts alone, unlike `hash()`, which differs by process."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest)
