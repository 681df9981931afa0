"""A run held against a baseline, which is read back as runs that `evals.compare` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evals.baseline.file import Baseline, Repeat
from evals.baseline.hashes import each_hash, hashed, ids
from evals.compare import Comparison, compare
from evals.parity import ParityGate
from evals.records import Record
from evals.saved import SavedRun


def check(baseline: Baseline, file: Path, runs: Sequence[SavedRun], gate: ParityGate) -> Comparison:
    """`runs` as the candidate against all runs of the baseline, which was read from `file`.

    Raises as `evals.compare.compare` does. Of flips, the baseline's texts are not known.
    """
    seen = compare(runs_of(baseline, file), [hashed_run(run) for run in runs], gate)
    flips = []
    for flip in seen.flips:
        said = tuple(run.answered[flip.id] for run in runs)
        kept = [replace(one, gold=said[0].gold, text=None, value=None) for one in flip.answers[0]]
        flips.append(replace(flip, answers=(tuple(kept), said)))
    candidate = replace(seen.candidate, runs=tuple(runs))
    return replace(seen, candidate=candidate, flips=tuple(flips))


def hashed_run(run: SavedRun) -> SavedRun:
    """A run to be held against a baseline's."""
    return replace(run, records=tuple(map(hashed, run.records)))


def runs_of(baseline: Baseline, file: Path) -> list[SavedRun]:
    """Each repeat as a run with hashed records, whose folder is `file` and the repeat's number."""
    asked, key = baseline.asked, baseline.key.model_dump()
    model = {"revision": asked.revision}
    configuration = {
        "name": baseline.row,
        "model": baseline.key.model,
        "questions": {"set": asked.questions, "sha256": asked.sha256, "asked": asked.asked},
        "protocol": baseline.key.protocol,
        "shots": asked.shots,
        "sampling": asked.sampling,
        "row": {**key, "model": model, "gate": baseline.gate, "arguments": baseline.arguments},
    }
    prompts = each_hash(baseline.prompts)
    return [
        SavedRun(
            folder=Path(f"{file} (run {number})") if len(baseline.runs) > 1 else file,
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
        for number, repeat in enumerate(baseline.runs, 1)
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
