"""Verdicts as plain text: a table of all rows, and a message for each that did not pass."""

from __future__ import annotations

from collections.abc import Sequence

from evals.report.table import aligned
from evals.summary import Summary

LISTED = 10  # failed questions that a message names

HEADER = (
    "row", "verdict", "right", "needed", "accuracy", "95% interval", "SGLang's rule", "invalid",
    "truncated", "failed", "retried", "tok/s", "p50 s", "p99 s", "seconds",
)  # fmt: skip


def verdict_table(summaries: Sequence[Summary]) -> str:
    """One line a row, columns aligned."""
    return aligned([HEADER, *(cells(summary) for summary in summaries)])


def cells(summary: Summary) -> tuple[str, ...]:
    """What the table says of one row, as under `HEADER`."""
    counts = summary.counts
    return (
        summary.name,
        _verdict(summary) + (f" ({summary.protocol})" if summary.otherwise else ""),
        f"{counts.right}/{counts.answered}",
        _or_dash(summary.needed, "{}"),
        _or_dash(summary.accuracy, "{:.4f}"),
        "-" if summary.interval is None else "{:.4f} to {:.4f}".format(*summary.interval),
        _or_dash(summary.accuracy_sglang, "{:.4f}"),
        str(counts.invalid),
        str(counts.truncated),
        str(counts.failed),
        str(summary.retried),
        _or_dash(summary.tokens_per_second, "{:.0f}"),
        _or_dash(summary.latency.get("p50"), "{:.2f}"),
        _or_dash(summary.latency.get("p99"), "{:.2f}"),
        f"{summary.seconds:.1f}",
    )


def message(summary: Summary) -> str:
    """What a person needs to know of a row: observed, required, how sure, where, what next."""
    counts, gate = summary.counts, summary.gate
    lines = [f"{summary.name}: {_verdict(summary)}"]
    if summary.known_defect is not None:
        lines.append(f"  {summary.known_defect}")
    lines += [f"  {reason}" for reason in summary.reasons]
    if summary.accuracy is not None and summary.interval is not None:
        low, high = summary.interval
        lines.append(
            f"  observed: {counts.right} right of {counts.answered} answered = "
            f"{summary.accuracy:.4f} (95% interval {low:.4f} to {high:.4f}); by SGLang's rule "
            f"{summary.accuracy_sglang:.4f}; {counts.invalid} invalid, {counts.truncated} truncated"
        )
    if gate is not None and summary.needed is not None:
        pooled = f", {gate.runs} runs pooled" if gate.runs > 1 else ""
        lines.append(
            f"  required: accuracy {gate.accuracy:g} = {summary.needed} of {summary.questions}, "
            f"at most {gate.invalid} invalid{pooled}"
        )
    if len(summary.accuracies) > 1:
        lines.append(f"  {repeats_line(summary)}")
    if summary.chance_to_fail is not None:
        lines.append(
            f"  near the gate: a system whose true accuracy is {summary.accuracy:.4f} fails it by "
            f"luck {summary.chance_to_fail:.0%} of the time"
        )
    if summary.stopped is not None:
        lines.append(f"  stopped early: {summary.stopped}")
    if summary.failed:
        lines += ["  failed requests:", *_failed(summary.failed)]
    lines.append(f"  protocol: {summary.protocol}")
    lines += [f"  {key}: {_plain(value)}" for key, value in summary.server.items() if value]
    lines.append(f"  records: {', '.join(summary.runs)}")
    alone = gate is None or gate.runs == 1  # pooled runs cannot be resumed
    if (summary.failed or summary.missing) and summary.stopped is None and alone:
        lines.append(f"  next: ask what is missing with --resume={summary.runs[-1]}")
    return "\n".join(lines)


def repeats_line(summary: Summary) -> str:
    """How several runs of one row differ."""
    each = ", ".join(_or_dash(accuracy, "{:.4f}") for accuracy in summary.accuracies)
    line = f"accuracy of each of {len(summary.accuracies)} runs: {each}"
    if summary.spread is None or summary.repeats is None:
        return line
    flipping = summary.repeats.questions
    named = f": {_few(flipping)}" if flipping else ""
    return (
        f"{line}; standard deviation {100 * summary.spread:.2f} points; between two runs "
        f"{summary.repeats.share:.2%} of the questions flip, {len(flipping)} in all{named}"
    )


def _few(questions: Sequence[str]) -> str:
    more = len(questions) - LISTED
    return ", ".join(questions[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(inner) or '(empty)'}" for key, inner in value.items())
    return str(value)


def _verdict(summary: Summary) -> str:
    return "KNOWN DEFECT" if summary.known_defect is not None else summary.outcome.upper()


def _failed(failed: dict[str, str]) -> list[str]:
    lines = [f"    {question}: {error}" for question, error in list(failed.items())[:LISTED]]
    if len(failed) > LISTED:
        rest = ", ".join(list(failed)[LISTED:])
        lines.append(f"    and {len(failed) - LISTED} more: {rest}")
    return lines


def _or_dash(value: float | int | None, form: str) -> str:
    return "-" if value is None else form.format(value)
