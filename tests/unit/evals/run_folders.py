"""Run folders as a run leaves them, made without a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import count as count_up
from pathlib import Path
from typing import Any

from evals.completions import Endpoint, Failure, Reply
from evals.prompts import Prompt
from evals.records import FORMAT, Recorder, read_records, read_run, write_json
from evals.scoring import completion_tokens, count, make_record
from evals.task import Settings, Task, configuration
from evals.verdict import Counts

BEGUN = datetime(2026, 12, 1, tzinfo=UTC)
_written = count_up()
RIGHT, WRONG, INVALID, FAILED, MISSING = "right", "wrong", "invalid", "failed", "missing"


def outcome(prompt: Prompt, fate: str) -> Reply | Failure:
    """What the server said: the worked answer, another number, no number, or an error."""
    gold = prompt.question.gold
    texts = {RIGHT: f" It is {gold}.\n#### {gold}", WRONG: f" It is not.\n#### {gold + 1}"}
    if fate == FAILED:
        return Failure(prompt.question.id, "HTTP 500", 1.0, 6)
    return Reply(prompt.question.id, texts.get(fate, " I cannot tell."), "stop", 100, 10, 0.5, 1)


def write_run(
    folder: Path,
    task: Task,
    fates: Sequence[str],
    *,
    model: str = "tiny",
    row_name: str | None = None,
    **about: Any,
) -> Path:
    """A run of `task` with these fates, one a question; `about` goes into run.json.

    Its row has the folder's name, if it is given no other.

    Of `about`, row and server go into its configuration too, as those of a run do.
    """
    folder.mkdir(parents=True)
    name = row_name or folder.name
    prompts = task.prompts()
    assert len(fates) == len(prompts)
    records = [
        make_record(prompt, outcome(prompt, fate))
        for prompt, fate in zip(prompts, fates, strict=True)
        if fate != MISSING
    ]
    started = BEGUN + timedelta(milliseconds=next(_written))  # no two runs begin at once
    attempt = {
        "started": started.isoformat(timespec="milliseconds"),
        "asked": len(prompts),
        "ended": (started + timedelta(minutes=1)).isoformat(timespec="milliseconds"),
        "seconds": 60.0,
        "answered": sum(record.error is None for record in records),
        "failed": {r.id: r.error for r in records if r.error is not None},
        "stopped": None,
        "trouble": [],
    }
    content = {
        "format": FORMAT,
        "name": name,
        "attempts": [attempt],
        "configuration": configuration(
            name, task, Endpoint("http://nowhere", model), Settings(about=about)
        ),
        "partial": task.partial,
        "otherwise": task.otherwise,
        "counts": asdict(sum(map(count, records), Counts())),
        "completion_tokens": completion_tokens(records),
    }
    write_json(folder / "run.json", {**content, **about})
    with Recorder(folder, records):
        pass
    return folder


def write_verdict(folder: Path, outcome: str = "pass", **more: Any) -> None:
    """The verdict of a run that was the only one of its row; `more` is said beside or instead."""
    records, about = read_records(folder), read_run(folder)
    counts = sum(map(count, records), Counts())
    asked = about["configuration"]["questions"]["asked"]
    content = {"outcome": outcome, "reasons": [], "questions": asked, "counts": asdict(counts)}
    content |= {"seconds": 60.0, "tokens_per_second": 33.3, "stopped": None, "runs": [str(folder)]}
    content |= {"gate": {"accuracy": 0.93, "invalid": 0, "runs": 1}, "partial": about["partial"]}
    write_json(folder / "verdict.json", {"format": FORMAT, **content, **more})


def row_of(backend: str = "fa_on", **more: Any) -> dict[str, Any]:
    """What run.json says of a row."""
    where = {"engine": "llama_cpp", "backend": backend, "generation": "cpu", "tensor_parallel": 1}
    return {**where, "gate": {"accuracy": 0.93, "invalid": 0, "runs": 1}, **more}


def first(task: Task, questions: int) -> Task:
    """The same task of the first questions alone."""
    return replace(task, first=questions)
