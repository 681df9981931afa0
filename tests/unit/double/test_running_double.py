"""Starting and ending the double's process: it says why it cannot start, and never stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.double import running_double


def test_a_double_that_cannot_start_says_why(few_answers: Path) -> None:
    with running_double(answers=few_answers) as double:
        taken = int(double.base_url.rpartition(":")[2])
        with (
            pytest.raises(RuntimeError, match=r"did not start: .*address already in use"),
            running_double(answers=few_answers, port=taken),
        ):
            pass


def test_it_is_gone_after_a_failed_test(few_answers: Path) -> None:
    with pytest.raises(ZeroDivisionError), running_double(answers=few_answers) as double:
        _ = 1 / 0
    assert not _runs(double.pid)


def test_it_ends_with_the_process_that_started_it(few_answers: Path) -> None:
    program = (
        "import sys, time\nfrom tests.double import running_double\n"
        f"with running_double(answers={str(few_answers)!r}) as double:\n"
        "    print(double.pid, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether the process is there and no zombie, which an idle process 1 may leave it."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
