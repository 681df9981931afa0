"""Whole sessions of the suite, run as users run them: pytest in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
CANARY_QUESTIONS = ROOT / "fixtures" / "canary" / "questions"
MARK = "LLAMA4_ACCURACY_TESTED_SESSION"  # in the environment of everything that a session starts
GONE_SECONDS = 15.0  # within which a session that was killed has left nothing behind

# What no user sees either way: caches in the checkout, and plugins that take a second to load.
_QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")


@dataclass(frozen=True)
class Run:
    """A run folder."""

    folder: Path

    @property
    def about(self) -> dict[str, Any]:
        return _object(self.folder / "run.json")

    @property
    def verdict(self) -> dict[str, Any]:
        return _object(self.folder / "verdict.json")

    @property
    def answers(self) -> list[dict[str, Any]]:
        lines = (self.folder / "answers.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @property
    def score(self) -> dict[str, int]:
        """The counts of the verdict."""
        counts: dict[str, int] = self.verdict["counts"]
        return counts


@dataclass(frozen=True)
class Session:
    """A session that has ended; `output` is standard output and error as a terminal mixes them."""

    exit_code: int
    output: str
    seconds: float
    runs_dir: Path

    @property
    def runs(self) -> list[Run]:
        """Its run folders, oldest first."""
        return runs_in(self.runs_dir)

    @property
    def run(self) -> Run:
        """Its only run folder."""
        (run,) = self.runs
        return run


class RunningSession:
    """A session under way, leader of its own process group as under a shell."""

    def __init__(
        self, process: subprocess.Popen[bytes], said: int, mark: str, runs_dir: Path
    ) -> None:
        """`said` is the open file that it writes to."""
        self.process = process
        self.runs_dir = runs_dir
        self._said = said
        self._mark = mark

    def output(self) -> str:
        """What it has written so far."""
        # Not seek and read: the session writes at the same offset.
        return os.pread(self._said, os.fstat(self._said).st_size, 0).decode(errors="replace")

    def answered(self) -> int:
        """Answers on disk so far."""
        files = self.runs_dir.glob("*/answers.jsonl")
        return sum(file.read_bytes().count(b"\n") for file in files)

    def processes(self) -> list[psutil.Process]:
        """Everything alive that this session started, itself included."""
        return marked(MARK, self._mark)

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def wait_for(self, condition: Callable[[], bool], seconds: float = 120.0) -> None:
        """Until `condition`; AssertionError if the session ends before, or after `seconds`."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, f"the session ended too early:\n{self.output()}"
            assert time.monotonic() < deadline, f"not within {seconds:g} s"
            time.sleep(0.01)


def run_session(*arguments: str, runs_dir: Path, timeout: float = 300.0, **options: Any) -> Session:
    """`pytest tests/accuracy ARGUMENTS` to its end, after which nothing that it started may live.

    `options` are those of `start_session`. AssertionError for a process left or a traceback.
    """
    started = time.monotonic()
    with start_session(*arguments, runs_dir=runs_dir, **options) as running:
        try:
            exit_code = running.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end within {timeout:g} s:\n{running.output()}") from None
        seconds = time.monotonic() - started
        left = [process.cmdline() for process in running.processes()]
        assert left == [], f"the session left {left}"
        session = Session(exit_code, running.output(), seconds, runs_dir)
    assert "Traceback" not in session.output, session.output
    assert "INTERNALERROR" not in session.output, session.output
    return session


def outside() -> dict[str, str]:
    """The environment of a session: ours, less what changes what it does or prints."""
    theirs = ("PYTEST_", "GSM8K_", "CUDA_")
    printing = ("CI", "BUILD_NUMBER")  # with either, pytest's summary repeats messages in full
    kept = {k: v for k, v in os.environ.items() if not k.startswith(theirs) and k not in printing}
    return {**kept, "COLUMNS": "200"}


@contextmanager
def start_session(
    *arguments: str,
    runs_dir: Path,
    tests: tuple[str, ...] = ("tests/accuracy",),
    environment: Mapping[str, str] | None = None,
    largest_file: int | None = None,
) -> Iterator[RunningSession]:
    """A session under way; killed on the way out.

    `largest_file` in bytes stands for a full disk: beyond it writing fails.
    """
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "pytest", *tests, *_QUIET, "--runs-dir", str(runs_dir)]

    def limit() -> None:
        if largest_file is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=ROOT,
            env={**outside(), MARK: mark, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limit,
        )
        try:
            yield RunningSession(process, said.fileno(), mark, runs_dir)
        finally:
            process.kill()
            process.wait()
            for left in marked(MARK, mark):
                left.kill()


def marked(name: str, value: str | None = None) -> list[psutil.Process]:
    """The processes with this variable in their environment, with this value where one is given."""

    def is_marked(process: psutil.Process) -> bool:
        try:
            found = process.environ().get(name)
        except (psutil.Error, OSError):
            return False
        return found is not None and value in (None, found)

    return [process for process in psutil.process_iter() if is_marked(process)]


def wait_until(condition: Callable[[], bool], seconds: float) -> float:
    """The seconds until `condition` held; AssertionError after `seconds`."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, f"not within {seconds:g} s"
        time.sleep(0.02)
    return time.monotonic() - started


def runs_in(runs_dir: Path) -> list[Run]:
    """The run folders there, oldest first."""
    return [Run(file.parent) for file in sorted(runs_dir.glob("*/run.json"))]


def _object(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content
