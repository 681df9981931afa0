"""What is asked and how, and when two attempts ask the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from evals.agreement import shown
from evals.client import Limits
from evals.completions import Endpoint, Sampling
from evals.errors import UsageError
from evals.identity import identity
from evals.prompts import Prompt, Protocol, build_prompts
from evals.questions import QuestionSet
from evals.verdict import Counts, Gate


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked. `first`: only that many questions, which makes the run partial.

    `usual`: the protocol and the shots that the row's gates are about, where it has any.
    """

    questions: QuestionSet
    protocol: Protocol
    shots: int = 8
    first: int | None = None
    usual: tuple[str, int] | None = None

    def prompts(self) -> list[Prompt]:
        """One prompt a question. Raises UsageError for a number that the set does not hold."""
        prompts = build_prompts(self.questions, self.protocol, self.shots)
        if self.first is not None and not 1 <= self.first <= self.whole:
            raise UsageError(
                f"{self.first} questions: {self.questions.name} allows 1 to {self.whole}"
            )
        return prompts[: self.first]

    @property
    def whole(self) -> int:
        """How many questions a whole run asks."""
        return len(self.questions.test[: self.protocol.questions])

    @property
    def partial(self) -> bool:
        return self.first is not None and self.first < self.whole

    @property
    def otherwise(self) -> str | None:
        """One line where it is not what the row's gates are about: they say nothing of it."""
        asked = self.protocol.name, self.shots
        if self.usual is None or self.usual == asked:
            return None
        return f"asked with {_shots(*asked)}; the row's gates are about {_shots(*self.usual)}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How it is asked. No `gate`, or no `early_stop`: every question is asked.

    `before` are the counts of earlier runs that the same gate pools, `about` what the record says
    of row and server, `watch` returns why the server is dead, or None while it lives.
    """

    sampling: Sampling = field(default_factory=Sampling)
    limits: Limits = field(default_factory=Limits)
    gate: Gate | None = None
    early_stop: bool = True
    before: Counts = field(default_factory=Counts)
    about: Mapping[str, Any] = field(default_factory=dict)
    watch: Callable[[], str | None] = lambda: None
    progress: TextIO | None = None


def configuration(name: str, task: Task, endpoint: Endpoint, settings: Settings) -> dict[str, Any]:
    """What must agree for answers of two attempts to belong to one run."""
    return {
        "name": name,
        "model": endpoint.model,
        "questions": {
            "set": task.questions.name,
            "sha256": dict(task.questions.sha256),
            "asked": task.whole if task.first is None else task.first,
        },
        "protocol": task.protocol.name,
        "shots": task.shots,
        "sampling": {**asdict(settings.sampling), "stop": list(settings.sampling.stop)},
        "seeds": {"sampling": None},  # greedy decoding draws nothing
        "parallel": settings.limits.parallel,
        "row": settings.about.get("row"),
        "server": identity(settings.about),
    }


def refuse_other(earlier: Mapping[str, Any], ours: Mapping[str, Any], folder: Path) -> None:
    """Raises UsageError, naming each difference between two configurations."""
    pairs = {key: (earlier.get(key), ours.get(key)) for key in ours}
    differences = [
        f"{key} was {shown(was, now)}, is {shown(now, was)}"
        for key, (was, now) in pairs.items()
        if was != now
    ]
    if differences:
        raise UsageError(f"{folder} cannot be resumed: {'; '.join(differences)}")


def _shots(protocol: str, shots: int) -> str:
    return f"{shots} shot{'s' * (shots != 1)} of {protocol}"
