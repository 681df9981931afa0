"""A run held against a baseline, which is read back as runs that `evals.compare` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evals.baseline.file import Baseline, Repeat
from evals.baseline.hashes import each_hash, hashed, ids
from evals.compare import Comparison, compare
from evals.errors import UsageError
from evals.parity import ParityGate
from evals.records import Record
from evals.saved import SavedRun


def check(baseline: Baseline, file: Path, runs: Sequence[SavedRun], gate: ParityGate) -> Comparison:
    """`runs` as the candidate against the baseline, which was read from `file`.

    Raises as `evals.compare.compare` does. Of flips, what the baseline answered is not known.
    """
    if len(runs) > 1 or len(baseline.runs) > 1:
        raise UsageError("repeats cannot be checked yet")
    seen = compare(runs_of(baseline, file)[0], hashed_run(runs[0]), gate)
    said = runs[0].answered
    flips = [
        replace(
            flip,
            baseline=replace(flip.baseline, gold=said[flip.id].gold, text=None, value=None),
            candidate=said[flip.id],
        )
        for flip in seen.flips
    ]
    return replace(seen, candidate=runs[0], flips=tuple(flips))


def hashed_run(run: SavedRun) -> SavedRun:
    """A run to be held against a baseline's."""
    return replace(run, records=tuple(map(hashed, run.records)))


def runs_of(baseline: Baseline, file: Path) -> list[SavedRun]:
    """Each repeat as a run with hashed records, whose folder is `file`."""
    asked, key = baseline.asked, baseline.key.model_dump()
    model = {"revision": asked.revision}
    configuration = {
        "name": baseline.row,
        "model": baseline.key.model,
        "questions": {"set": asked.questions, "sha256": asked.sha256, "asked": asked.asked},
        "protocol": baseline.key.protocol,
        "shots": asked.shots,
        "sampling": asked.sampling,
        "row": {**key, "model": model, "gate": baseline.gate},
    }
    prompts = each_hash(baseline.prompts)
    return [
        SavedRun(
            folder=file,
            about={
                "name": baseline.row,
                "started": repeat.started,
                "attempts": [{"started": repeat.started, "seconds": repeat.seconds}],
                "configuration": {**configuration, "parallel": repeat.parallel},
                "server": {"facts": repeat.server},
                "versions": repeat.versions,
                "machine": repeat.machine,
                "commit": repeat.commit,
            },
            records=tuple(_records(repeat, prompts)),
            labels=(),
            partial=False,
            sound=True,
        )
        for repeat in baseline.runs
    ]


def _records(repeat: Repeat, prompts: list[str]) -> list[Record]:
    texts, letters = each_hash(repeat.texts), repeat.letters
    otherwise = set(repeat.sglang_otherwise)
    return [
        Record(
            id=question,
            prompt_sha256=prompt,
            gold="",
            seconds=0.0,
            tries=1,
            text=text,
            value=None if letter in "iI" else "",
            right=letter in "rR",
            right_sglang=(letter in "rR") is not (question in otherwise),
            finish_reason="length" if letter.isupper() else "stop",
        )
        for question, prompt, text, letter in zip(
            ids(len(letters)), prompts, texts, letters, strict=True
        )
    ]
