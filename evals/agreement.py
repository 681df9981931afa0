"""Whether runs are of the same thing, and may be compared or pooled, and what differs if not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from evals.errors import NotComparable, UsageError
from evals.identity import identity
from evals.records import Record
from evals.saved import SavedRun

MUST_AGREE = ("model", "protocol", "shots", "sampling")


def shown(value: Any, other: Any) -> str:
    """A value that is not `other`; of an object only what differs."""
    if isinstance(value, dict) and isinstance(other, dict):
        keys = sorted(key for key in value if key not in other or value[key] != other[key])
        value = {key: value[key] for key in keys}
    return json.dumps(value)


def refuse_different(baseline: SavedRun, candidate: SavedRun) -> None:
    """Raises NotComparable for runs that are not of the same thing."""
    found = differences(baseline.configuration, candidate.configuration)
    found = found or _prompts(baseline, candidate)
    if found:
        raise NotComparable(
            f"{baseline.folder} and {candidate.folder} cannot be compared: they differ in "
            + "; ".join(found)
        )


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """What of two configurations, one line each, makes their answers those to different things."""
    found = [
        f"{key} ({shown(first[key], second[key])} and {shown(second[key], first[key])})"
        for key in MUST_AGREE
        if first[key] != second[key]
    ]
    revisions = revision(first), revision(second)
    if None not in revisions and revisions[0] != revisions[1]:
        found.append(f"revision of the model ({revisions[0]} and {revisions[1]})")
    if first["questions"]["sha256"] != second["questions"]["sha256"]:
        found.append(f"questions ({_set(first)} and {_set(second)})")
    return found


def arguments(run: SavedRun) -> dict[str, Any] | None:
    """What the run's row told its server besides the backend; None where it does not say."""
    row = run.configuration.get("row")
    told = row.get("arguments") if isinstance(row, dict) else None
    return told if isinstance(told, dict) else None


def other_arguments(one: SavedRun, other: SavedRun) -> list[str]:
    """`page_size (16 and not set)`, one for each that differs; none where a run does not say.

    A name may be written with dashes or underscores.
    """
    told = [arguments(run) for run in (one, other)]
    first, second = (
        {name.replace("-", "_"): json.dumps(value) for name, value in (each or {}).items()}
        for each in told
    )
    return [
        f"{name} ({first.get(name, 'not set')} and {second.get(name, 'not set')})"
        for name in sorted(first.keys() | second.keys() if None not in told else ())
        if first.get(name) != second.get(name)
    ]


def refuse_same(runs: Sequence[SavedRun]) -> None:
    """Raises UsageError where two of them are one: the same folder, or what holds a copy of it.

    Repeats with the same answers are two: each began at a time of its own.
    """
    for one, other in combinations(runs, 2):
        if one.folder.resolve() == other.folder.resolve():
            raise UsageError(f"{one.folder} is given twice: a run counts once")
        if one.origin is not None and one.origin == other.origin:
            raise UsageError(
                f"{one.folder} and {other.folder} hold the same run, which began at "
                f"{one.started}: a run counts once"
            )


def refuse_mixture(runs: Sequence[SavedRun], role: str) -> None:
    """Raises NotComparable for runs of one side that are no repeats of one row and build."""
    for one, other in combinations(runs, 2):
        rows = [run.configuration["name"] for run in (one, other)]
        servers = [identity(run.about) for run in (one, other)]
        found = []
        if rows[0] != rows[1]:
            found.append(f"row ({rows[0]} and {rows[1]})")
        if None not in servers and servers[0] != servers[1]:
            found.append(f"server ({shown(*servers)} and {shown(*reversed(servers))})")
        found += other_arguments(one, other)
        if found:
            raise NotComparable(
                f"{one.folder} and {other.folder} are no repeats, as runs of the {role} must be: "
                f"they differ in {'; '.join(found)}"
            )


def _prompts(baseline: SavedRun, candidate: SavedRun) -> list[str]:
    ours = {record.id: (record.prompt_sha256, record.gold) for record in baseline.records}
    others = [r.id for r in candidate.records if ours.get(r.id) not in (None, _asked(r))]
    return [f"the prompts of {len(others)} questions, the first {others[0]}"] if others else []


def _asked(record: Record) -> tuple[str, str]:
    return record.prompt_sha256, record.gold


def revision(configuration: Mapping[str, Any]) -> str | None:
    """That of the model, where the row names one."""
    row = configuration.get("row")
    model = row.get("model") if isinstance(row, dict) else None
    return model.get("revision") if isinstance(model, dict) else None


def _set(configuration: Mapping[str, Any]) -> str:
    questions = configuration["questions"]
    return f"{questions.get('set')}, test {str(questions['sha256'].get('test'))[:12]}…"
