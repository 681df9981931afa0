"""From what came back for a question to its record, and from a record to counts."""

from __future__ import annotations

from collections.abc import Iterable

from evals.answers import extract_answer, sglang_answer
from evals.completions import Failure, Reply
from evals.prompts import Prompt
from evals.records import Record
from evals.verdict import Counts


def make_record(prompt: Prompt, outcome: Reply | Failure) -> Record:
    """What is written of one outcome: an answer read by both rules, or a failure and its error."""
    question = prompt.question
    if isinstance(outcome, Failure):
        return Record(
            id=question.id,
            prompt_sha256=prompt.sha256,
            gold=str(question.gold),
            seconds=round(outcome.seconds, 4),
            tries=outcome.tries,
            error=outcome.error,
        )
    value, by_sglang = extract_answer(outcome.text), sglang_answer(outcome.text)
    return Record(
        id=question.id,
        prompt_sha256=prompt.sha256,
        gold=str(question.gold),
        seconds=round(outcome.seconds, 4),
        tries=outcome.tries,
        text=outcome.text,
        value=None if value is None else str(value),
        right=value == question.gold,
        right_sglang=by_sglang is not None and by_sglang == sglang_answer(question.answer),
        finish_reason=outcome.finish_reason,
        prompt_tokens=outcome.prompt_tokens,
        completion_tokens=outcome.completion_tokens,
    )


def count(record: Record) -> Counts:
    """The counts of one record."""
    if record.error is not None:
        return Counts(failed=1)
    return Counts(
        right=int(record.right is True),
        wrong=int(record.right is False and record.value is not None),
        invalid=int(record.value is None),
        right_sglang=int(record.right_sglang is True),
        truncated=int(record.finish_reason == "length"),
    )


def completion_tokens(records: Iterable[Record]) -> int | None:
    """Of all requests together; None where the server counted no tokens."""
    tokens = [r.completion_tokens for r in records if r.completion_tokens is not None]
    return sum(tokens) if tokens else None


def tokens_per_second(records: Iterable[Record], seconds: float) -> float | None:
    """Of all requests together; None where the server counted no tokens."""
    tokens = completion_tokens(records)
    return round(tokens / seconds, 1) if tokens is not None and seconds else None
