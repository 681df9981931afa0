"""The text of each request: raw-completion few-shot prompts, under a named protocol."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from evals.errors import UsageError
from evals.questions import Question, QuestionSet


@dataclass(frozen=True, slots=True)
class Protocol:
    """Where the shots come from, and how many where the protocol says so.

    Every question of the test split is scored, or the first `questions`.
    """

    name: str
    shots_from: str
    about: str
    shots: int | None = None
    questions: int | None = None


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("train", "train", "shots are the first rows of the train split: nothing leaks"),
        Protocol(
            "sglang-bench",
            "test",
            "shots are the first rows of the test split and are scored too, as in SGLang's "
            "bench_sglang.py",
        ),
        Protocol(
            "long",
            "train",
            "as train, with prompts of over 10,000 tokens; 200 questions are all of it",
            shots=80,
            questions=200,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent for one question, with the SHA-256 of its UTF-8 text in hexadecimal."""

    question: Question
    text: str
    sha256: str


def protocol_named(name: str) -> Protocol:
    """Raises UsageError for a name that is none of `PROTOCOLS`."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise UsageError(f"protocol {name!r} is none of: {', '.join(PROTOCOLS)}") from None


def build_prompts(questions: QuestionSet, protocol: Protocol, shots: int) -> list[Prompt]:
    """One prompt for each question that is scored, in order, each behind the same `shots` shots.

    Raises:
        UsageError: `shots` is negative or more than the split holds.
    """
    split = questions.train if protocol.shots_from == "train" else questions.test
    if not 0 <= shots <= len(split):
        raise UsageError(
            f"{shots} shots: {questions.name} allows 0 to {len(split)} from its "
            f"{protocol.shots_from} split"
        )
    shown = "".join(
        f"Question: {shot.question}\nAnswer: {shot.answer}\n\n" for shot in split[:shots]
    )
    prompts = []
    for question in questions.test[: protocol.questions]:
        text = f"{shown}Question: {question.question}\nAnswer:"
        prompts.append(Prompt(question, text, hashlib.sha256(text.encode()).hexdigest()))
    return prompts
