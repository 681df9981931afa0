"""All that is told of a row: its verdict, and the figures beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np

from evals.records import FORMAT, Record, write_json
from evals.repeats import Disagreement, disagreement
from evals.run import Evaluation
from evals.scoring import tokens_per_second
from evals.statistics import chance_to_fail, clustered_interval, count_needed
from evals.verdict import Counts, Gate, Outcome, judge

PERCENTILES = (50, 90, 99)
LEAST_RISK = 0.005  # up to here a risk is 0% where it is told


@dataclass(frozen=True, slots=True)
class Summary:
    """One row's verdict over its runs, pooled.

    `questions` is what all runs together were to ask. `interval` is Wilson's 95% one, of several
    runs clustered by question; both it and `accuracy` are over the questions answered, None where
    none was. `repeats` tells, of several runs, which questions were right in some of them alone.
    `chance_to_fail` is set where the gate lies within the interval: what a system of this accuracy
    risks by luck, if that is not 0%. `retried` counts answers that took more than one try;
    `latency` maps a percentile to seconds. `failed` maps the id of each question whose request
    failed to its error; `stopped` says why an early stop ended the last run; `known_defect` why a
    fail was expected; `otherwise` that the runs were not asked as the gate is about, where nothing
    is `needed`.
    """

    name: str
    outcome: Outcome
    reasons: tuple[str, ...]
    questions: int
    counts: Counts
    accuracy: float | None
    interval: tuple[float, float] | None
    gate: Gate | None
    needed: int | None
    chance_to_fail: float | None
    accuracy_sglang: float | None
    retried: int
    seconds: float
    tokens_per_second: float | None
    latency: dict[str, float]
    failed: dict[str, str]
    missing: int
    stopped: str | None
    partial: bool
    protocol: str
    runs: tuple[str, ...]
    accuracies: tuple[float | None, ...]
    server: dict[str, Any]
    repeats: Disagreement | None = None
    known_defect: str | None = None
    otherwise: str | None = None

    @property
    def spread(self) -> float | None:
        """The standard deviation of the runs' accuracies; None of a single run."""
        known = [accuracy for accuracy in self.accuracies if accuracy is not None]
        return stdev(known) if len(known) > 1 else None


def summarize(evaluations: Sequence[Evaluation], gate: Gate | None) -> Summary:
    """Pools the runs of one row, which are one or more, and judges them.

    A row that declares more runs than were made has no verdict: the rest count as not answered.
    """
    first = evaluations[0]
    runs = max(len(evaluations), gate.runs if gate is not None else 1)
    questions = first.asked * runs
    counts = sum((evaluation.counts for evaluation in evaluations), Counts())
    partial = any(evaluation.partial for evaluation in evaluations)
    trouble = [line for evaluation in evaluations for line in evaluation.trouble]
    void = [line for evaluation in evaluations for line in evaluation.void]
    verdict = judge(
        counts,
        questions,
        gate,
        partial=partial,
        otherwise=first.otherwise,
        trouble=trouble,
        void=void,
    )
    records = [record for evaluation in evaluations for record in evaluation.records]
    seconds = sum(evaluation.seconds for evaluation in evaluations)
    answered = counts.answered
    interval = _interval(records)
    held = gate if first.otherwise is None else None
    needed = count_needed(held.accuracy, questions) if held is not None else None
    return Summary(
        name=first.name,
        outcome=verdict.outcome,
        reasons=verdict.reasons,
        questions=questions,
        counts=counts,
        accuracy=counts.accuracy,
        interval=interval,
        gate=gate,
        needed=needed,
        chance_to_fail=_risk(counts.accuracy, interval, held, first.asked),
        accuracy_sglang=counts.right_sglang / answered if answered else None,
        retried=sum(record.tries > 1 for record in records if record.error is None),
        seconds=round(seconds, 3),
        tokens_per_second=tokens_per_second(records, seconds),
        latency=_latency(records),
        failed={record.id: record.error for record in records if record.error is not None},
        missing=questions - answered - counts.failed,
        stopped=evaluations[-1].stopped,
        partial=partial,
        protocol=f"{first.protocol}, {first.shots} shots",
        runs=tuple(str(evaluation.folder) for evaluation in evaluations),
        accuracies=tuple(evaluation.counts.accuracy for evaluation in evaluations),
        server=first.server,
        repeats=_repeats(evaluations),
        otherwise=first.otherwise,
    )


def write_summary(summary: Summary) -> Path:
    """Writes `verdict.json` into the folder of the last run, and returns where it lies."""
    file = Path(summary.runs[-1]) / "verdict.json"
    write_json(file, {"format": FORMAT, **asdict(summary)})
    return file


def summary_from(content: Mapping[str, Any]) -> Summary:
    """The summary that `write_summary` wrote, from the file's content."""
    plain = {key: value for key, value in content.items() if key != "format"}
    gate, interval, repeats = plain["gate"], plain["interval"], plain.get("repeats")
    return Summary(
        **plain
        | {
            "outcome": Outcome(plain["outcome"]),
            "reasons": tuple(plain["reasons"]),
            "counts": Counts(**plain["counts"]),
            "interval": None if interval is None else (interval[0], interval[1]),
            "gate": None if gate is None else Gate(**gate),
            "runs": tuple(plain["runs"]),
            "accuracies": tuple(plain["accuracies"]),
            "repeats": repeats and Disagreement(repeats["share"], tuple(repeats["questions"])),
        }
    )


def _repeats(evaluations: Sequence[Evaluation]) -> Disagreement | None:
    """Of the questions that every run answered."""
    right = [
        {record.id: record.right is True for record in evaluation.records if record.error is None}
        for evaluation in evaluations
    ]
    common = sorted(set.intersection(*(set(of_run) for of_run in right)))
    return disagreement({key: [of_run[key] for of_run in right] for key in common})


def _interval(records: Sequence[Record]) -> tuple[float, float] | None:
    answered = [record for record in records if record.error is None]
    answers = Counter(record.id for record in answered)
    right = Counter(record.id for record in answered if record.right is True)
    if not answers:
        return None
    return clustered_interval([right[question] for question in answers], list(answers.values()))


def _risk(
    accuracy: float | None,
    interval: tuple[float, float] | None,
    gate: Gate | None,
    questions: int,
) -> float | None:
    """Luck is in which `questions` are asked; asking them again takes none of it away.

    None also of a risk that is 0 in whole percents.
    """
    if accuracy is None or interval is None or gate is None:
        return None
    if not interval[0] <= gate.accuracy <= interval[1]:
        return None
    risk = chance_to_fail(accuracy, questions, count_needed(gate.accuracy, questions))
    return risk if risk > LEAST_RISK else None


def _latency(records: Sequence[Record]) -> dict[str, float]:
    seconds = [record.seconds for record in records if record.error is None]
    if not seconds:
        return {}
    values = np.percentile(seconds, PERCENTILES)
    return {f"p{p}": round(float(v), 4) for p, v in zip(PERCENTILES, values, strict=True)}
