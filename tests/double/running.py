"""The double as a process of its own, for a test or a benchmark to measure a client against."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.double.behaviour import Behaviour
from tests.double.stats import Stats

_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 30.0


@dataclass(frozen=True)
class Double:
    """A double that runs; `base_url` is without `/v1`."""

    base_url: str
    pid: int
    behaviour: Behaviour
    process: subprocess.Popen[bytes]

    def stats(self) -> Stats:
        """What it has seen so far. Raises OSError once it has died."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.base_url}/stats", timeout=10) as response:
            return Stats(**json.load(response))


@contextmanager
def running_double(**options: Any) -> Iterator[Double]:
    """Start a double with the options of `Behaviour`, and kill it whatever happens.

    It ends by itself too, should this process be killed: its standard input closes then.
    Raises ValueError for an option it does not have or cannot use, RuntimeError if it does not
    start.
    """
    behaviour = Behaviour.of({"exit_with_stdin": True, **options})
    command = [sys.executable, "-m", "tests.double", *behaviour.arguments()]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints
        )
        try:
            where = _first_line(process, complaints)
            yield Double(f"http://127.0.0.1:{where['port']}", where["pid"], behaviour, process)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()


def _first_line(process: subprocess.Popen[bytes], complaints: IO[bytes]) -> dict[str, int]:
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], _START_SECONDS)
    line = process.stdout.readline() if readable else b""
    if not line:
        complaints.seek(0)
        said = complaints.read().decode(errors="replace").strip() or "it said nothing"
        raise RuntimeError(f"the double did not start: {said}")
    where: dict[str, int] = json.loads(line)
    return where
