"""A comparison as plain text, and as values for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evals.agreement import arguments, other_arguments
from evals.compare import Comparison
from evals.paired import POWER
from evals.parity import MOST_REPEATS, Parity
from evals.records import FORMAT, Record
from evals.saved import SavedRun
from evals.sides import Flip, Side

LISTED = 10  # flipped questions that are shown
LONGEST = 300  # characters of a text that is shown on one line


def comparison_text(seen: Comparison, listed: int | None = LISTED) -> str:
    """All that a person wants to know of a pair; `listed` flipped questions, None: all."""
    verdict, cells = seen.verdict, seen.verdict.cells
    low, high = verdict.interval
    lines = [f"{seen.candidate.name} against {seen.baseline.name}: {_headline(seen)}"]
    lines += _notes(seen)
    for role, side in _sides(seen):
        lines += [f"  {role}: {_accuracy(side)}", *_repeats(side)]
        lines += [f"    {_where(run)}" for run in side.runs]
    several = _several(seen)
    lines += [
        f"  difference: {100 * (0.0 - cells.drop):+.2f} points, candidate less baseline "
        f"(95% interval {100 * low:+.2f} to {100 * high:+.2f}"
        + (
            f", clustered by question: {verdict.effective:.0f} effective questions)"
            if several
            else ")"
        ),
        f"  cells{', mean over pairs of runs' if several else ''}: {_number(cells.both)} right in "
        f"both, {_number(cells.lost)} lost, {_number(cells.gained)} gained, "
        f"{_number(cells.neither)} right in neither; {_number(cells.discordant)} discordant "
        f"({cells.discordant / cells.questions:.2%})",
        f"  {_test(seen)}, one-sided: p = {verdict.p:.4g}"
        + (f", {verdict.corrected:.4g} corrected" if verdict.corrected != verdict.p else ""),
        f"  texts: {_number(seen.changed)} of {seen.compared} changed"
        + (", mean over pairs of runs" if several else ""),
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
    return {
        "format": FORMAT,
        "outcome": seen.outcome,
        "runs": [
            {"name": run.name, "folder": str(run.folder), "labels": run.labels, "role": role}
            for role, side in _sides(seen)
            for run in side.runs
        ],
        "arguments": {role: arguments(side.runs[0]) for role, side in _sides(seen)},
        "asked": seen.asked,
        "compared": seen.compared,
        "counts": [asdict(side.pooled) for _, side in _sides(seen)],
        "repeats_of": {role: _side_values(side) for role, side in _sides(seen)},
        "difference": 0.0 - seen.verdict.cells.drop,
        **asdict(seen.verdict),
        "changed_texts": seen.changed,
        "flips": [
            {
                "id": flip.id,
                "lost": flip.lost,
                "gold": flip.baseline.gold,
                "right": flip.right,
                "values": [flip.baseline.value, flip.candidate.value],
                "texts": [flip.baseline.text, flip.candidate.text],
            }
            for flip in seen.flips
        ],
    }


def _sides(seen: Comparison) -> tuple[tuple[str, Side], tuple[str, Side]]:
    return ("baseline", seen.baseline), ("candidate", seen.candidate)


def _several(seen: Comparison) -> bool:
    return any(len(side.runs) > 1 for _, side in _sides(seen))


def _test(seen: Comparison) -> str:
    if not _several(seen):
        return "McNemar, exact"
    if len(seen.baseline.runs) == len(seen.candidate.runs):
        return "sign-flip test by question, exact"
    return "sign-flip test by question, approximate where sides have unequally many runs"


def _side_values(side: Side) -> dict[str, Any]:
    """Accuracy and how repeats of one side differ; what takes several runs is null of one."""
    return {
        "accuracies": side.accuracies,
        "accuracy": side.accuracy,
        "interval": side.interval,
        "standard_deviation": side.spread,
        "right": None if side.right is None else asdict(side.right),
        "texts": None if side.texts is None else asdict(side.texts),
    }


def _headline(seen: Comparison) -> str:
    if seen.outcome is not None:
        return seen.outcome.upper()
    who = "all runs" if _several(seen) else "both"
    return f"NO VERDICT (on what {who} answered: {seen.verdict.parity})"


def _notes(seen: Comparison) -> list[str]:
    verdict, cells = seen.verdict, seen.verdict.cells
    tolerance = f"{100 * verdict.gate.tolerance:g} points"
    notes = []
    if others := other_arguments(seen.baseline.runs[0], seen.candidate.runs[0]):
        notes.append(f"  warning: other arguments, baseline and candidate: {', '.join(others)}")
    if seen.compared < seen.asked:
        who = "all runs" if _several(seen) else "both"
        notes.append(
            f"  compared: the {seen.compared} of {seen.asked} questions that {who} answered"
        )
    for role, side in _sides(seen):
        for run in side.runs:
            which = f"{role} {run.folder}" if len(side.runs) > 1 else role
            notes += [f"  {which}: {label}" for label in run.labels]
    if verdict.parity is Parity.WORSE:
        notes.append(
            f"  significant at {verdict.gate.alpha:g}, and the drop of {100 * cells.drop:.2f} "
            f"points is above the tolerance of {tolerance}"
        )
    elif seen.outcome is Parity.CANNOT_TELL:
        what = "runs of each side" if _several(seen) else "repeats"
        repeats = (
            f"more than {MOST_REPEATS} {what} would be needed"
            if verdict.repeats is None
            else f"{verdict.repeats} {what} might settle it, more if the same answers flip "
            "each time"
        )
        notes.append(
            f"  warning: a drop above {200 * verdict.gate.tolerance:g} points is neither shown nor "
            f"excluded; {repeats}"
        )
    return notes


def _accuracy(side: Side) -> str:
    counts, (low, high) = side.pooled, side.interval
    several = len(side.runs) > 1
    return (
        (f"{len(side.runs)} runs, " if several else "")
        + f"{counts.right} of {counts.answered} right = {side.accuracy:.4f} (95% interval "
        f"{low:.4f} to {high:.4f}{', clustered by question' if several else ''}), "
        f"{counts.invalid} invalid, {counts.truncated} truncated"
    )


def _repeats(side: Side) -> list[str]:
    """How the runs of one side differ among themselves; nothing of a single one."""
    if side.right is None or side.texts is None or side.spread is None:
        return []
    each = ", ".join(f"{accuracy:.4f}" for accuracy in side.accuracies)
    right, texts = side.right, side.texts
    return [
        f"    each run: {each}; standard deviation {100 * side.spread:.2f} points",
        f"    between two repeats {right.share:.2%} of the questions flip and {texts.share:.2%} of "
        f"the texts change; in all {len(right.questions)} and {len(texts.questions)} questions",
    ]


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
    sizes = [len(answers) for answers in flip.answers]
    (ours, theirs), gold = flip.right, flip.baseline.gold
    rights = "" if max(sizes) == 1 else f", {ours} of {sizes[0]} right → {theirs} of {sizes[1]}"
    return [
        f"    {flip.id} {'lost' if flip.lost else 'gained'}{rights}: gold {gold}",
        f"      baseline  {_answer(flip.baseline)}",
        f"      candidate {_answer(flip.candidate)}",
    ]


def _number(value: float) -> str:
    """Whole numbers as such, means over pairs of runs to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _answer(record: Record) -> str:
    if record.text is None:  # of a baseline
        return f"{'right' if record.right else 'not right'}; its text is not kept"
    text = " / ".join(line for line in (record.text or "").splitlines() if line.strip())
    short = text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
    return f"{'invalid' if record.value is None else record.value}: {short.strip()}"
