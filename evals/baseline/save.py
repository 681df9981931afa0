"""From accepted runs to a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from pydantic import ValidationError

from evals.agreement import arguments, other_arguments, refuse_different, refuse_same, revision
from evals.baseline.file import (
    BASELINE_FORMAT,
    HASHES_A_LINE,
    LETTERS_A_LINE,
    Asked,
    Baseline,
    Key,
    Repeat,
)
from evals.baseline.hashes import hashed, ids, lines
from evals.baseline.store import first_mistake
from evals.errors import NotComparable, UsageError
from evals.identity import identity
from evals.records import Record, now
from evals.saved import SavedRun
from evals.scoring import count, tokens_per_second
from evals.verdict import Counts


def key_of(run: SavedRun) -> Key:
    """Raises UsageError for a run that does not tell its row."""
    row = run.configuration.get("row")
    row = row if isinstance(row, dict) else {}
    parts = ("engine", "backend", "generation", "tensor_parallel")
    lacks = [part for part in parts[:3] if row.get(part) is None]
    row = {"expert_parallel": 1, **row}  # of runs before there were such rows
    lacks += [
        part for part in ("tensor_parallel", "expert_parallel") if type(row.get(part)) is not int
    ]
    if lacks:
        raise UsageError(f"{run.folder / 'run.json'} does not tell the row's {', '.join(lacks)}")
    return Key(
        model=str(run.configuration["model"]),
        protocol=str(run.configuration["protocol"]),
        **{part: str(row[part]) for part in parts[:3]},
        tensor_parallel=row["tensor_parallel"],
        expert_parallel=row["expert_parallel"],
    )


def key_of_all(runs: Sequence[SavedRun]) -> Key:
    """The key of repeats. Raises NotComparable where they are not of one key and one build."""
    first = runs[0]
    for run in runs[1:]:
        found = key_of(first).differences(key_of(run))
        if identity(first.about) != identity(run.about):
            found.append("what the servers say of their build and options")
        found += other_arguments(first, run)
        if found:
            raise NotComparable(
                f"{first.folder} and {run.folder} are no repeats: they differ in {'; '.join(found)}"
            )
    return key_of(first)


def baseline_of(runs: Sequence[SavedRun], note: str | None = None) -> Baseline:
    """What is kept of one run, or of several of the same row, in the order of their start.

    Raises:
        UsageError: a run is given twice, be it as a copy, or does not tell its row.
        NotComparable: a run is not whole or not sound, or the runs are not of the same thing, key
            and build included.
    """
    refuse_same(runs)
    runs = sorted(runs, key=lambda run: run.started)
    for run in runs:
        _refuse_unaccepted(run)
    key_of_all(runs)
    for run in runs[1:]:
        refuse_different(runs[0], run)
    try:
        return _baseline(runs, note)
    except ValidationError as error:
        told = f"{runs[0].folder / 'run.json'} cannot make a baseline: {first_mistake(error)}"
        raise UsageError(told) from None


def _baseline(runs: Sequence[SavedRun], note: str | None) -> Baseline:
    first = runs[0]
    configuration, row = first.configuration, first.configuration["row"]
    return Baseline(
        format=BASELINE_FORMAT,
        key=key_of(first),
        saved=now(),
        note=note,
        row=first.name,
        gate=row.get("gate"),
        arguments=arguments(first),
        asked=Asked(
            questions=str(configuration["questions"].get("set")),
            sha256=configuration["questions"]["sha256"],
            asked=first.asked,
            shots=configuration["shots"],
            sampling=configuration["sampling"],
            revision=revision(configuration),
        ),
        runs=tuple(_repeat(run) for run in runs),
        prompts=lines([hashed(r).prompt_sha256 for r in _in_order(first)], HASHES_A_LINE),
    )


def _refuse_unaccepted(run: SavedRun) -> None:
    """`labels` say what keeps a run from being whole. Its ids must be those that a file implies."""
    if run.labels or run.partial or not run.sound:
        raise NotComparable(f"{run.folder} is no whole measurement: {'; '.join(run.labels)}")
    if set(run.answered) != set(ids(run.asked)):
        raise UsageError(f"{run.folder}: its questions are not test-0000 to {ids(run.asked)[-1]}")


def _in_order(run: SavedRun) -> list[Record]:
    return [run.answered[question] for question in ids(run.asked)]


def _repeat(run: SavedRun) -> Repeat:
    records, about = _in_order(run), run.about
    counts = sum(map(count, records), Counts())
    assert counts.accuracy is not None
    return Repeat(
        started=run.started,
        seconds=run.seconds,
        tokens_per_second=tokens_per_second(records, run.seconds),
        parallel=run.configuration.get("parallel"),
        versions=about.get("versions") or {},
        machine=about.get("machine") or {},
        commit=about.get("commit"),
        server=identity(about),
        counts=asdict(counts),
        accuracy=round(counts.accuracy, 6),
        sglang_otherwise=tuple(r.id for r in records if r.right_sglang is not r.right),
        outcomes=lines([_letter(record) for record in records], LETTERS_A_LINE, ""),
        texts=lines([hashed(record).text or "" for record in records], HASHES_A_LINE),
    )


def _letter(record: Record) -> str:
    letter = "r" if record.right else "i" if record.value is None else "w"
    return letter.upper() if record.finish_reason == "length" else letter
