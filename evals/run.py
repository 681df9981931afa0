"""One run: questions to prompts, to a server, to answers, to records, to counts.

The only place that knows this order.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from evals import client
from evals.completions import Endpoint, Failure, Reply, Request
from evals.errors import NoVerdict, RecordsNotWritten, UsageError
from evals.identity import identity
from evals.machine import commit, machine, versions
from evals.progress import Progress
from evals.prompts import Prompt
from evals.records import FORMAT, Record, Recorder, now, read_records, read_run, write_json
from evals.scoring import completion_tokens, count, make_record
from evals.task import Settings, Task, configuration, refuse_other
from evals.verdict import Counts, enough


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one run brought. `trouble` says, one line each, how the measurement failed.

    `asked` questions were to be asked; `seconds` is the time that the loop took, over all attempts;
    `stopped` says why the run ended before all were asked, where an early stop ended it; `void`,
    one line each, that something else was measured than was asked for: no answer counts then;
    `otherwise` that it was not asked as the row's gates are about (`Task.otherwise`).
    """

    name: str
    folder: Path
    asked: int
    partial: bool
    protocol: str
    shots: int
    server: dict[str, Any]
    records: tuple[Record, ...]
    counts: Counts
    seconds: float
    stopped: str | None
    trouble: tuple[str, ...]
    void: tuple[str, ...] = ()
    otherwise: str | None = None


def evaluate(
    name: str, task: Task, endpoint: Endpoint, settings: Settings, folder: Path
) -> Evaluation:
    """Asks the task's questions and records them in `folder`, an empty one or that of a run.

    A run that is there already is gone on with: what it still lacks is asked, failed requests
    again. Returns with `trouble` where the measurement failed; what was answered is kept.

    Raises:
        UsageError: the task cannot be, or the run in `folder` is of another configuration.
        RecordsNotWritten: `folder` cannot be written to.
    """
    prompts = task.prompts()
    ours = configuration(name, task, endpoint, settings)
    about: dict[str, Any] = {"format": FORMAT, "name": name, "started": now(), "attempts": []}
    kept: list[Record] = []
    try:
        with FileLock(folder / ".lock", blocking=False):
            if (folder / "run.json").exists():
                about = read_run(folder)
                earlier = {"server": identity(about), **about["configuration"]}
                refuse_other(earlier, ours, folder)
                kept = _kept(folder, prompts)
                (folder / "verdict.json").unlink(missing_ok=True)  # of what is no longer so
                about.pop("void", None)
            about |= {"configuration": ours, "partial": task.partial, "otherwise": task.otherwise}
            about |= settings.about
            about |= {"versions": versions(), "machine": machine(), "commit": commit(Path.cwd())}
            return _Run(name, task, prompts, kept, folder, about, settings).go(endpoint)
    except Timeout:
        raise UsageError(f"{folder} is being written by another process") from None
    except OSError as error:
        raise RecordsNotWritten(f"{folder} cannot be written to: {error}") from error


def _kept(folder: Path, prompts: list[Prompt]) -> list[Record]:
    """The answers of earlier attempts, scored anew: only what the model said is taken from them.

    Raises UsageError for one to another question or prompt than this run's.
    """
    asked = {prompt.question.id: prompt for prompt in prompts}
    kept = []
    for record in read_records(folder, torn_end=True):
        if record.error is not None:
            continue
        prompt = asked.get(record.id)
        if prompt is None or record.prompt_sha256 != prompt.sha256:
            what = "is no question of this run" if prompt is None else "was asked by another prompt"
            raise UsageError(f"{folder} cannot be resumed: {record.id!r} in answers.jsonl {what}")
        reply = Reply(
            record.id,
            record.text or "",
            record.finish_reason,
            record.prompt_tokens,
            record.completion_tokens,
            record.seconds,
            record.tries,
        )
        kept.append(make_record(prompt, reply))
    return kept


class _Run:
    """One attempt at a run, with what earlier attempts left."""

    def __init__(
        self,
        name: str,
        task: Task,
        prompts: list[Prompt],
        kept: list[Record],
        folder: Path,
        about: dict[str, Any],
        settings: Settings,
    ) -> None:
        self.name, self.task, self.folder, self.about = name, task, folder, about
        self.settings = settings
        self.prompts = {prompt.question.id: prompt for prompt in prompts}
        self.records = kept
        self.counts = sum((count(record) for record in kept), Counts())
        self.stopped = self._enough()

    def go(self, endpoint: Endpoint) -> Evaluation:
        done = {record.id for record in self.records}
        requests = [
            Request(prompt.question.id, prompt.text)
            for prompt in self.prompts.values()
            if prompt.question.id not in done and self.stopped is None
        ]
        trouble: list[str] = []
        attempt: dict[str, Any] = {"started": now(), "asked": len(requests), "ended": None}
        self.about["attempts"] = [*self.about["attempts"], attempt]
        write_json(self.folder / "run.json", self.about)
        bar = Progress(self.name, len(self.prompts), len(done), file=self.settings.progress)
        begun = time.perf_counter()
        try:
            with Recorder(self.folder, self.records) as recorder, closing(bar):
                asyncio.run(
                    client.ask(
                        requests,
                        endpoint,
                        self.settings.sampling,
                        self.settings.limits,
                        lambda outcome: self._receive(outcome, recorder, bar),
                        cause_of_death=self.settings.watch,
                    )
                )
        except NoVerdict as error:
            trouble.append(str(error))
        except KeyboardInterrupt:
            trouble.append("interrupted")
            raise
        finally:
            attempt |= {
                "ended": now(),
                "seconds": round(time.perf_counter() - begun, 3),
                "answered": len([r for r in self.records if r.error is None]) - len(done),
                "failed": {r.id: r.error for r in self.records if r.error is not None},
                "stopped": self.stopped,
                "trouble": trouble,
            }
            self.about["ended"] = attempt["ended"]
            self.about["counts"] = asdict(self.counts)  # for who wants no more of many runs
            self.about["completion_tokens"] = completion_tokens(self.records)
            write_json(self.folder / "run.json", self.about)
        return Evaluation(
            name=self.name,
            folder=self.folder,
            asked=len(self.prompts),
            partial=self.task.partial,
            protocol=self.task.protocol.name,
            shots=self.task.shots,
            server=self.about.get("server", {}),
            records=tuple(self.records),
            counts=self.counts,
            seconds=sum(a.get("seconds", 0.0) for a in self.about["attempts"]),
            stopped=self.stopped,
            trouble=tuple(trouble),
            otherwise=self.task.otherwise,
        )

    def _receive(self, outcome: Reply | Failure, recorder: Recorder, bar: Progress) -> None:
        record = make_record(self.prompts[outcome.id], outcome)
        recorder.append(record)
        self.records.append(record)
        self.counts += count(record)
        bar.update(self.counts)
        self.stopped = self._enough()
        if self.stopped is not None:
            raise client.Enough

    def _enough(self) -> str | None:
        settings = self.settings
        if settings.gate is None or not settings.early_stop:
            return None
        if self.task.partial or self.task.otherwise:
            return None
        questions = len(self.prompts) * settings.gate.runs
        return enough(settings.before + self.counts, questions, settings.gate)
