"""From counts and a gate to a verdict. Pure: no clock, no file, no server."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from evals.statistics import count_needed

# Beyond this share of invalid answers a run shows nothing new, and ends.
INVALID_SHARE_TO_STOP = 0.01


@dataclass(frozen=True, slots=True)
class Gate:
    """What a row must reach: least accuracy and most invalid answers, over `runs` runs pooled."""

    accuracy: float
    invalid: int = 0
    runs: int = 1


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of questions. Each is in one of right, wrong, invalid (no number) and failed.

    `right_sglang` counts by SGLang's rule, `truncated` the answers that the token limit cut: both
    lie across the other four.
    """

    right: int = 0
    wrong: int = 0
    invalid: int = 0
    failed: int = 0
    right_sglang: int = 0
    truncated: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.right + other.right,
            self.wrong + other.wrong,
            self.invalid + other.invalid,
            self.failed + other.failed,
            self.right_sglang + other.right_sglang,
            self.truncated + other.truncated,
        )

    @property
    def answered(self) -> int:
        return self.right + self.wrong + self.invalid

    @property
    def accuracy(self) -> float | None:
        """Right answers among those answered; None where nothing was."""
        return self.right / self.answered if self.answered else None


class Outcome(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    NO_VERDICT = "no verdict"
    REPORT = "report"  # measured whole, and nothing to hold it against


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reasons`, one line each, say why it is no pass."""

    outcome: Outcome
    reasons: tuple[str, ...]


def judge(
    counts: Counts,
    questions: int,
    gate: Gate | None,
    *,
    partial: bool = False,
    otherwise: str | None = None,
    trouble: Iterable[str] = (),
    void: Iterable[str] = (),
) -> Verdict:
    """The verdict on `counts`, of runs that were to ask `questions` questions in all.

    A fail is a fail only if it stands whatever the questions without an answer would have brought.
    `trouble` tells what went wrong with the measurement; `partial` that fewer questions were asked
    for than the gate is about, `otherwise` that the shots or the protocol are not those that it is
    about: neither ever gives a verdict; `void` that something else was measured than asked for,
    whose answers are no fail either.
    """
    voided = tuple(void)
    if voided:
        return Verdict(Outcome.NO_VERDICT, (*voided, *trouble))
    unanswered = questions - counts.answered
    missing = unanswered - counts.failed
    measurement = list(trouble)
    if counts.failed:
        measurement.append(f"{counts.failed} of {questions} requests failed for good")
    besides = tuple(f"besides: {line}" for line in measurement)
    if missing:
        measurement.append(f"{missing} of {questions} questions were not answered")
    if not counts.answered:
        measurement.append("no question was answered")
    if partial:
        runs = gate.runs if gate is not None else 1
        times = f" in each of {runs} runs" if runs > 1 else ""
        measurement.insert(
            0, f"a partial run: only {questions // runs} questions were asked for{times}"
        )
    if gate is not None and otherwise is not None:
        measurement.insert(0, otherwise)
    elif gate is not None and not partial:
        failures = _failures(counts, questions, gate)
        if failures:
            return Verdict(Outcome.FAIL, (*failures, *besides))
    if measurement:
        return Verdict(Outcome.NO_VERDICT, tuple(measurement))
    return Verdict(Outcome.PASS if gate is not None else Outcome.REPORT, ())


def enough(counts: Counts, questions: int, gate: Gate) -> str | None:
    """Why no further answer can change what a run shows, or None: the exact early stop.

    The accuracy is out of reach even if every open question were right; or invalid answers, more
    than the gate allows, have reached 1% of the questions.
    """
    needed = count_needed(gate.accuracy, questions)
    lost = counts.wrong + counts.invalid
    if questions - lost < needed:
        return f"{lost} answers are not right, {questions - needed} of {questions} may be"
    limit = max(gate.invalid + 1, math.ceil(INVALID_SHARE_TO_STOP * questions))
    if counts.invalid >= limit:
        return f"{counts.invalid} answers are invalid, {gate.invalid} may be"
    return None


def _failures(counts: Counts, questions: int, gate: Gate) -> list[str]:
    failures = []
    needed = count_needed(gate.accuracy, questions)
    best = questions - counts.wrong - counts.invalid
    if best < needed:
        failures.append(
            f"accuracy: {counts.right} of {counts.answered} answered are right, so at most {best} "
            f"of {questions} can be; {needed} are needed for {gate.accuracy:g}"
        )
    if counts.invalid > gate.invalid:
        failures.append(
            f"invalid: {counts.invalid} answers hold no number; {gate.invalid} may be so"
        )
    return failures
