"""A session measures the double: what the double is told, what the session is given, what came."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.double import Behaviour, Planned, Stats, plan, running_double
from tests.sessions import CANARY_QUESTIONS, Run, Session, run_session

QUESTIONS = 1319
NEEDED = 1227  # right answers, at 0.93
ATTACHED = ("-m", "cpu", "--question-set", "canary", "--generation", "cpu")
GATE = "tests/accuracy/test_gsm8k.py::test_gsm8k[served-attached-cpu]"


@dataclass(frozen=True)
class Fault:
    """`double` are options of `Behaviour`, `arguments` those of pytest."""

    double: Mapping[str, Any]
    arguments: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)  # of `start_session`


@dataclass(frozen=True)
class Measured:
    """A session that measured a double, and what that double saw (None where it had died)."""

    session: Session
    behaviour: Behaviour
    stats: Stats | None

    @property
    def run(self) -> Run:
        return self.session.run

    @cached_property
    def planned(self) -> dict[str, Planned]:
        """What the double was to do about each question, by the question's id."""
        return planned_by_id(self.behaviour)


def against_double(*arguments: str, **double: Any) -> pytest.MarkDecorator:
    """For a test that takes `measured`: a session with `arguments` against such a double."""
    fault = Fault(double, arguments)
    return pytest.mark.parametrize("measured", [pytest.param(fault, id="double")], indirect=True)


def measure(fault: Fault, runs_dir: Path) -> Measured:
    """Runs the session of a fault to its end."""
    with running_double(answers=CANARY_QUESTIONS, **fault.double) as double:
        arguments = (*ATTACHED, "--base-url", double.base_url, *fault.arguments)
        session = run_session(*arguments, runs_dir=runs_dir, **fault.options)
        try:
            stats = double.stats()
        except OSError:
            stats = None
    return Measured(session, double.behaviour, stats)


def planned_by_id(behaviour: Behaviour) -> dict[str, Planned]:
    """The double's plan by the ids that the suite gives to questions."""
    planned = plan(behaviour)
    lines = (CANARY_QUESTIONS / "test.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line)["question"].strip() for line in lines]
    return {f"test-{index:04d}": planned[q] for index, q in enumerate(questions)}
