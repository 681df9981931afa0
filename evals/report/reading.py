"""Records and rescores as plain text, for a person who reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evals.prompts import Prompt
from evals.records import FORMAT, Record
from evals.rescore import Rescore
from evals.saved import SavedRun
from evals.sides import Flip

LISTED = 10  # changed answers that a rescore names


def run_text(run: SavedRun) -> str:
    """What a run is of, and how it is not complete."""
    configuration = run.configuration
    answered = run.answered.values()
    lines = [
        f"{run.name}: {run.folder}",
        f"  model {configuration['model']}, protocol {configuration['protocol']}, "
        f"{configuration['shots']} shots, questions {configuration['questions'].get('set')}",
        f"  {sum(r.right is True for r in answered)} of {len(answered)} answered are right, "
        f"{sum(r.value is None for r in answered)} invalid, "
        f"{sum(r.finish_reason == 'length' for r in answered)} truncated",
    ]
    return "\n".join([*lines, *(f"  {label}" for label in run.labels)])


def record_text(record: Record, prompt: Prompt | None, *, whole: bool = False) -> str:
    """One answer: its question (`whole`: its prompt), text, what was read from it, and gold."""
    lines = [f"--- {record.id}: {_judged(record)}"]
    if prompt is not None:
        lines += [prompt.text if whole else f"Question: {prompt.question.question}\nAnswer:"]
    if record.error is None:
        lines += [f"[answer, {_how(record)}]", (record.text or "").rstrip()]
    if prompt is not None:
        lines += ["[worked answer]", prompt.question.answer]
    return "\n".join(lines)


def flip_text(flip: Flip, prompt: Prompt | None) -> str:
    """A flipped question with both answers; this run is the candidate, the other its baseline."""
    kind = "lost" if flip.lost else "gained"
    lines = [f"--- {flip.id}: {kind}; gold {flip.baseline.gold}"]
    if prompt is not None:
        lines.append(f"Question: {prompt.question.question}\nAnswer:")
    for role, record in (("this run", flip.candidate), ("other", flip.baseline)):
        lines += [f"[{role}: {_judged(record)}; {_how(record)}]", (record.text or "").rstrip()]
    return "\n".join(lines)


def rescore_text(run: SavedRun, rescores: Sequence[Rescore]) -> str:
    """What each rule makes of a run, and the first answers that it judges otherwise."""
    lines = [f"rescore of {run.name}: {run.folder}; records read again, no server asked"]
    lines += [f"  {label}" for label in run.labels]
    for seen in rescores:
        accuracy = "-" if seen.accuracy is None else f"{seen.accuracy:.4f}"
        interval = (
            ""
            if seen.interval is None
            else " (95% interval {:.4f} to {:.4f})".format(*seen.interval)
        )
        lines.append(
            f"  {seen.rule.name}: {seen.right} of {seen.answered} right = {accuracy}{interval}, "
            f"{seen.invalid} invalid; {len(seen.changes)} judged otherwise than recorded"
        )
        lines.append(f"    ({seen.rule.about})")
        lines += [
            f"    {change.record.id}: read {change.value}, recorded {change.record.value}, "
            f"gold {change.record.gold}: {'right' if change.right else 'not right'} by this rule"
            for change in seen.changes[:LISTED]
        ]
        if len(seen.changes) > LISTED:
            lines.append(f"    and {len(seen.changes) - LISTED} more")
    return "\n".join(lines)


def rescore_values(run: SavedRun, rescores: Sequence[Rescore]) -> dict[str, Any]:
    """The same for a file, with every change."""
    return {
        "format": FORMAT,
        "rescore_of": str(run.folder),
        "name": run.name,
        "labels": run.labels,
        "rules": {
            seen.rule.name: {
                "answered": seen.answered,
                "right": seen.right,
                "invalid": seen.invalid,
                "accuracy": seen.accuracy,
                "interval": seen.interval,
                "changes": [
                    {
                        "id": change.record.id,
                        "value": None if change.value is None else str(change.value),
                        "recorded": change.record.value,
                        "gold": change.record.gold,
                        "right": change.right,
                    }
                    for change in seen.changes
                ],
            }
            for seen in rescores
        },
    }


def _judged(record: Record) -> str:
    if record.error is not None:
        return f"failed: {record.error}"
    read = "invalid" if record.value is None else f"read {record.value}"
    return f"{'right' if record.right else 'not right'}, {read}, gold {record.gold}"


def _how(record: Record) -> str:
    tokens = "-" if record.completion_tokens is None else record.completion_tokens
    return f"finish reason {record.finish_reason or '-'}, {tokens} tokens"
