"""A small question set of the tests' own, and the real GSM8K where GSM8K_DIR says it lies."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from evals.baseline.save import baseline_of
from evals.baseline.store import write_baseline
from evals.client import Limits, ask
from evals.completions import Endpoint, Failure, Reply, Request, Sampling
from evals.prompts import PROTOCOLS
from evals.questions import QuestionSet, load_folder, load_gsm8k
from evals.saved import load_run
from evals.task import Settings, Task
from tests.double import Double, running_double
from tests.unit.evals.baselines import FATES, SERVER, Save
from tests.unit.evals.run_folders import INVALID, RIGHT, WRONG, row_of, write_run

ROWS = 200
DoubleOf = Callable[..., AbstractContextManager[tuple[Double, Endpoint]]]
QUICK = Limits(parallel=20, first_backoff=0.01, longest_backoff=0.05)
# A shared machine makes single examples slow for no fault of the code's.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def row(number: int) -> dict[str, str]:
    """A problem and its worked answer, in GSM8K's form."""
    return {
        "question": f"A box holds {number} eggs. How many do two boxes hold?",
        "answer": f"Two boxes hold 2 * {number} = <<2*{number}={2 * number}>>{2 * number} eggs.\n"
        f"#### {2 * number}",
    }


def write_rows(file: Path, rows: list[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10 rows of train, 200 of test."""
    folder = tmp_path_factory.mktemp("small")
    write_rows(folder / "train.jsonl", [row(1000 + number) for number in range(10)])
    write_rows(folder / "test.jsonl", [row(number) for number in range(1, ROWS + 1)])
    return folder


@pytest.fixture(scope="session")
def small(small_folder: Path) -> QuestionSet:
    return load_folder(small_folder, "small")


@pytest.fixture(scope="session")
def small_task(small: QuestionSet) -> Task:
    return Task(small, PROTOCOLS["train"], shots=2)


@pytest.fixture(scope="session")
def gsm8k_folder() -> Path:
    folder = os.environ.get("GSM8K_DIR")
    if not folder:
        pytest.skip("needs GSM8K: GSM8K_DIR is not set to a folder with its train and test.jsonl")
    return Path(folder)


@pytest.fixture(scope="session")
def gsm8k(gsm8k_folder: Path) -> QuestionSet:
    return load_gsm8k(gsm8k_folder)


@pytest.fixture
def double_of(small_folder: Path) -> DoubleOf:
    """`with double_of(...) as (double, endpoint)`: a double that knows the small set's answers."""

    @contextmanager
    def start(**options: Any) -> Iterator[tuple[Double, Endpoint]]:
        with running_double(answers=small_folder, **options) as double:
            yield double, Endpoint(double.base_url, "double")

    return start


@pytest.fixture
def patient() -> Settings:
    """Six tries, with backoffs that a test can wait for."""
    return Settings(limits=Limits(first_backoff=0.01, longest_backoff=0.05))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder for baselines, not made yet."""
    return tmp_path / "baselines"


@pytest.fixture
def run(tmp_path: Path, small_task: Task) -> Save:
    """Writes a run folder of these fates, of a row with a key."""

    def write(name: str = "run", fates: Sequence[str] = FATES, **about: Any) -> Path:
        about = {"row": row_of(), "server": SERVER, **about}
        return write_run(tmp_path / name, small_task, fates, **about)

    return write


@pytest.fixture
def saved(run: Save, store: Path) -> Path:
    """The file of a baseline."""
    return write_baseline(baseline_of([load_run(run("accepted"))], "release 1"), store)


@pytest.fixture(scope="session")
def requests(small_task: Task) -> list[Request]:
    return [Request(prompt.question.id, prompt.text) for prompt in small_task.prompts()]


def asked(
    requests: Sequence[Request],
    endpoint: Endpoint,
    limits: Limits = QUICK,
    cause_of_death: Callable[[], str | None] = lambda: None,
) -> dict[str, Reply | Failure]:
    """What became of each request, which is told of exactly once."""
    outcomes: dict[str, Reply | Failure] = {}

    def receive(outcome: Reply | Failure) -> None:
        assert outcome.id not in outcomes
        outcomes[outcome.id] = outcome

    asyncio.run(ask(requests, endpoint, Sampling(), limits, receive, cause_of_death=cause_of_death))
    return outcomes


@pytest.fixture
def baseline(tmp_path: Path, small_task: Task) -> Path:
    return write_run(tmp_path / "baseline", small_task, [RIGHT] * 199 + [WRONG])


@pytest.fixture
def candidate(tmp_path: Path, small_task: Task) -> Path:
    fates = [WRONG] * 6 + [INVALID] * 2 + [RIGHT] * 192
    return write_run(tmp_path / "candidate", small_task, fates)
