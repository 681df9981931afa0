"""A comparison of two runs as plain text, and as values for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evals.compare import Comparison, Flip
from evals.paired import POWER
from evals.parity import MOST_REPEATS, Parity
from evals.records import FORMAT, Record
from evals.saved import SavedRun
from evals.statistics import wilson_interval
from evals.verdict import Counts

LISTED = 10  # flipped questions that are shown
LONGEST = 300  # characters of a text that is shown on one line


def comparison_text(seen: Comparison, listed: int | None = LISTED) -> str:
    """All that a person wants to know of a pair; `listed` flipped questions, None: all."""
    verdict, cells = seen.verdict, seen.verdict.cells
    low, high = verdict.interval
    lines = [f"{seen.candidate.name} against {seen.baseline.name}: {_headline(seen)}"]
    lines += _notes(seen)
    for role, run, counts in zip(
        ("baseline", "candidate"), (seen.baseline, seen.candidate), seen.counts, strict=True
    ):
        lines += [f"  {role}: {_accuracy(counts)}", f"    {_where(run)}"]
    lines += [
        f"  difference: {100 * (0.0 - cells.drop):+.2f} points, candidate less baseline "
        f"(95% interval {100 * low:+.2f} to {100 * high:+.2f})",
        f"  cells: {cells.both} right in both, {cells.lost} lost, {cells.gained} gained, "
        f"{cells.neither} right in neither; {cells.discordant} discordant "
        f"({cells.discordant / cells.questions:.2%})",
        f"  McNemar, exact, one-sided: p = {verdict.p:.4g}"
        + (f", {verdict.corrected:.4g} corrected" if verdict.corrected != verdict.p else ""),
        f"  texts: {seen.changed} of {seen.compared} changed",
        f"  smallest drop found with {POWER:.0%} power: {_smallest(seen)}",
    ]
    flips = seen.flips[:listed]
    if flips:
        lines.append(f"  flipped questions: {len(seen.flips)}")
        lines += [line for flip in flips for line in _flip(flip)]
    if len(flips) < len(seen.flips):
        lines.append(f"    and {len(seen.flips) - len(flips)} more: --all, or --json=FILE")
    return "\n".join(lines)


def comparison_values(seen: Comparison) -> dict[str, Any]:
    """The same for a file, with every flipped question."""
    verdict = asdict(seen.verdict)
    return {
        "format": FORMAT,
        "outcome": seen.outcome,
        "runs": [
            {"name": run.name, "folder": str(run.folder), "labels": run.labels}
            for run in (seen.baseline, seen.candidate)
        ],
        "asked": seen.asked,
        "compared": seen.compared,
        "counts": [asdict(counts) for counts in seen.counts],
        "difference": 0.0 - seen.verdict.cells.drop,
        **verdict,
        "changed_texts": seen.changed,
        "flips": [
            {
                "id": flip.id,
                "lost": flip.lost,
                "gold": flip.baseline.gold,
                "values": [flip.baseline.value, flip.candidate.value],
                "texts": [flip.baseline.text, flip.candidate.text],
            }
            for flip in seen.flips
        ],
    }


def _headline(seen: Comparison) -> str:
    if seen.outcome is not None:
        return seen.outcome.upper()
    return f"NO VERDICT (on what both answered: {seen.verdict.parity})"


def _notes(seen: Comparison) -> list[str]:
    verdict, cells = seen.verdict, seen.verdict.cells
    tolerance = f"{100 * verdict.gate.tolerance:g} points"
    notes = []
    if seen.compared < seen.asked:
        notes.append(
            f"  compared: the {seen.compared} of {seen.asked} questions that both answered"
        )
    for role, run in (("baseline", seen.baseline), ("candidate", seen.candidate)):
        notes += [f"  {role}: {label}" for label in run.labels]
    if verdict.parity is Parity.WORSE:
        notes.append(
            f"  significant at {verdict.gate.alpha:g}, and the drop of {100 * cells.drop:.2f} "
            f"points is above the tolerance of {tolerance}"
        )
    elif seen.outcome is Parity.CANNOT_TELL:
        repeats = (
            f"more than {MOST_REPEATS} repeats would be needed"
            if verdict.repeats is None
            else f"{verdict.repeats} repeats would settle it if these shares stay"
        )
        notes.append(
            f"  warning: a drop above {200 * verdict.gate.tolerance:g} points is neither shown nor "
            f"excluded; {repeats}"
        )
    return notes


def _accuracy(counts: Counts) -> str:
    low, high = wilson_interval(counts.right, counts.answered)
    return (
        f"{counts.right} of {counts.answered} right = {counts.accuracy:.4f} (95% interval "
        f"{low:.4f} to {high:.4f}), {counts.invalid} invalid, {counts.truncated} truncated"
    )


def _where(run: SavedRun) -> str:
    """The folder, and how the server differs from others."""
    row = run.configuration.get("row")
    row = row if isinstance(row, Mapping) else {}
    server = run.about.get("server")
    facts = server.get("facts") if isinstance(server, Mapping) else None
    version = facts.get("version") if isinstance(facts, Mapping) else None
    parts = [str(row[key]) for key in ("engine", "backend", "generation") if row.get(key)]
    parts += [str(version)] if version else []
    parallel = run.configuration.get("parallel")
    parts += [f"{parallel} in flight"] if parallel is not None else []
    return ", ".join([str(run.folder), *parts])


def _smallest(seen: Comparison) -> str:
    alone, both = (
        "none" if drop is None else f"{100 * drop:.2f} points" for drop in seen.verdict.smallest
    )
    tolerance = f"{100 * seen.verdict.gate.tolerance:g}"
    return alone if alone == both else f"{alone} by the test, {both} with tolerance {tolerance}"


def _flip(flip: Flip) -> list[str]:
    return [
        f"    {flip.id} {'lost' if flip.lost else 'gained'}: gold {flip.baseline.gold}",
        f"      baseline  {_answer(flip.baseline)}",
        f"      candidate {_answer(flip.candidate)}",
    ]


def _answer(record: Record) -> str:
    if record.text is None:  # of a baseline
        return f"{'right' if record.right else 'not right'}; its text is not kept"
    text = " / ".join(line for line in (record.text or "").splitlines() if line.strip())
    short = text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
    return f"{'invalid' if record.value is None else record.value}: {short.strip()}"
