"""Baselines as plain text: saved, listed, and a run held against one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.baseline.file import Baseline, Key
from evals.compare import Comparison
from evals.identity import identity
from evals.report.pair import LISTED, comparison_text
from evals.report.table import aligned
from evals.saved import SavedRun
from evals.statistics import clustered_interval

HEADER = (
    "key",
    "accuracy",
    "95% interval",
    "invalid",
    "runs",
    "saved",
    "commit",
    "version",
    "note",
)


def listed_text(found: Sequence[tuple[Path, Baseline | str]]) -> str:
    """A line a baseline, and one for each file that is damaged."""
    baselines = [baseline for _, baseline in found if isinstance(baseline, Baseline)]
    damaged = [line for _, line in found if isinstance(line, str)]
    table = aligned([HEADER, *map(_cells, baselines)], left=(0, 5, 6, 7, 8))
    return "\n".join([table if baselines else "no baselines", *damaged])


def saved_text(baseline: Baseline, file: Path, failed: Sequence[Path] = ()) -> str:
    """Where it lies, and its line; a warning for each run whose own gate it `failed`."""
    warnings = [f"warning: {folder} failed its gate" for folder in failed]
    size = f"{file}: {file.stat().st_size / 1000:.1f} kB"
    return "\n".join([size, *warnings, listed_text([(file, baseline)])])


def check_text(seen: Comparison, baseline: Baseline, key: Key, listed: int | None = LISTED) -> str:
    """The comparison; before it a warning of another key, and what else differs."""
    parts = baseline.key.differences(key)
    told = [f"warning: the baseline is of another key: {'; '.join(parts)}"] if parts else []
    other = other_circumstances(seen.baseline.runs[0], seen.candidate.runs[0])
    told += [f"also different: {'; '.join(other)}"] if other else []
    return "\n".join([*told, comparison_text(seen, listed)])


def other_circumstances(there: SavedRun, here: SavedRun) -> list[str]:
    """What of build, versions, machine and commit differs: nothing that forbids a comparison."""
    names = ("versions", "machine")
    pages = [
        {"build": identity(run.about), **{name: run.about.get(name) for name in names}}
        for run in (there, here)
    ]
    found = []
    for name in pages[0]:
        ours, theirs = (_object(page[name]) for page in pages)
        keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
        each = [f"{key} {ours.get(key, '-')} there, {theirs.get(key, '-')} here" for key in keys]
        found += [f"{name} ({', '.join(each)})"] if each else []
    was, now = (commit_text(run.about.get("commit")) for run in (there, here))
    return [*found, f"commit {was} there, {now} here"] if was != now else found


def commit_text(commit: Any) -> str:
    """`369a671b02`, with a `+` where the checkout had changes."""
    commit = _object(commit)
    return f"{str(commit.get('sha', '-'))[:10]}{'+' if commit.get('changed') else ''}"


def version_text(server: Any) -> str:
    """The server's version, and the commit of its build where it tells one."""
    server = _object(server)
    build = _object(server.get("build")).get("commit")
    return f"{server.get('version', '-')}{f' ({str(build)[:10]})' if build else ''}"


def _cells(baseline: Baseline) -> tuple[str, ...]:
    asked, runs = baseline.asked.asked, baseline.runs
    right = [
        sum(each in "rR" for each in told)
        for told in zip(*(run.letters for run in runs), strict=True)
    ]
    low, high = clustered_interval(right, [len(runs)] * asked)
    return (
        str(baseline.key),
        f"{sum(right) / asked / len(runs):.4f}",
        f"{low:.4f} to {high:.4f}",
        str(sum(run.counts["invalid"] for run in runs)),
        str(len(runs)),
        baseline.saved[:10],
        commit_text(runs[-1].commit),
        version_text(runs[-1].server),
        baseline.note or "",
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
