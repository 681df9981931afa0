"""Sessions against doubles run ahead, a few at a time: most of their time is waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.against_double import Fault, Measured, measure

AT_ONCE = 3

Begin = Callable[[str, Fault], "Future[Measured]"]


@pytest.fixture(scope="session")
def begin(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Begin]:
    """Begins the session of one test, and those of the selected tests that come after it."""
    folder = tmp_path_factory.mktemp("faults")
    begun: dict[str, Future[Measured]] = {}
    ahead = not hasattr(request.config, "workerinput")  # a worker does not know which are its own
    with ThreadPoolExecutor(AT_ONCE) as pool:

        def submit(test: str, fault: Fault) -> None:
            if test not in begun:
                runs_dir = folder / str(len(begun)) / "runs"
                begun[test] = pool.submit(measure, fault, runs_dir)

        def begin(test: str, fault: Fault) -> Future[Measured]:
            submit(test, fault)
            for item in request.session.items if ahead else ():
                callspec = getattr(item, "callspec", None)
                if callspec is not None and isinstance(callspec.params.get("measured"), Fault):
                    submit(item.nodeid, callspec.params["measured"])
            return begun[test]

        yield begin
        for future in begun.values():
            future.cancel()


@pytest.fixture
def measured(request: pytest.FixtureRequest, begin: Begin) -> Measured:
    """A session against the double that `against_double` describes, at its end."""
    return begin(request.node.nodeid, request.param).result()


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """A folder for runs, not yet made."""
    return tmp_path / "runs"
