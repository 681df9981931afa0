"""`python -m benchmarks.canaries`: what the canaries show on a GPU, as data.

Runs whole sessions of the suite one after another, each in a run folder of its own, and writes
after each what all have shown so far: command, exit code, seconds, GPU memory in use before and
afterwards, and each row's scores, times, drift and parity.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.run_summary import Unreadable, circumstances, rows_of
from evals.errors import EvalsError, UsageError
from evals.records import write_json
from fixtures.hardware.gpus import gpus

ROOT = Path(__file__).parents[1]
PAIR = "stock and (fa3 or triton) and not default"  # by -k: the reference of Hopper, and another
Sessions = Mapping[str, Sequence[str]]


def sessions_of(generation: str) -> dict[str, list[str]]:
    """Each session's words to pytest: the gate of the canaries, then repeats of two backends."""
    return {
        "canaries": ["-m", f"{generation} and canary"],
        **{
            f"repeats-{parallel}": [
                *("-m", generation, "-k", PAIR),
                *("--repeats", "3", "--parallel", str(parallel)),
            ]
            for parallel in (50, 512)
        },
    }


def measured(
    name: str, words: Sequence[str], runs: Path, others: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Runs one session, its output on ours: what it showed, and on what.

    `interrupted`: by a signal, to it or to us.
    """
    told = ["pytest", *words, *others]
    command = [sys.executable, "-m", *told, f"--runs-dir={runs.absolute()}"]
    print(f"\n== {name}: {shlex.join(told)}", flush=True)
    before = [gpu.used >> 20 for gpu in gpus()]
    begun = time.monotonic()
    code, interrupted = _run(command)
    seconds = time.monotonic() - begun
    seen: dict[str, Any] = {
        "session": name,
        "command": told,
        "exit_code": code,
        "interrupted": interrupted,
        "seconds": round(seconds, 1),
        "gpu_memory_mib_before": before,
        "gpu_memory_mib_after": [gpu.used >> 20 for gpu in gpus()],
        "gpu_processes_after": [str(process) for gpu in gpus() for process in gpu.processes],
    }
    try:
        return {**seen, "rows": rows_of(runs)}, circumstances(runs)
    except Unreadable as error:  # the others' data are not lost
        return {**seen, "rows": [], "unreadable": str(error)}, {}


def _run(command: Sequence[str]) -> tuple[int, bool]:
    """Its exit code, and whether a signal came.

    Ctrl-C reaches it from the terminal and SIGTERM from here: it is left to end by itself.
    """
    signals: list[int] = []
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL) as session:

        def pass_on(number: int, _: object) -> None:
            signals.append(number)
            if number == signal.SIGTERM:
                session.send_signal(signal.SIGINT)

        before = {each: signal.signal(each, pass_on) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            code = session.wait()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
    return code, bool(signals) or code < 0 or code == pytest.ExitCode.INTERRUPTED


def measure_all(sessions: Sessions, runs_dir: Path, out: Path, others: Sequence[str]) -> int:
    """0 where each session ended with 0 and measured something; 2 where one was interrupted.

    `out` holds what was seen so far. Nothing comes after a session that was refused. Raises
    UsageError where `out` or a run folder is there already, RecordsNotWritten for an `out` that
    cannot be written, both before anything runs.
    """
    if out.exists():
        raise UsageError(f"{out} is there already: name another --out")
    for name in sessions:
        if (runs_dir / name).exists():
            raise UsageError(f"{runs_dir / name} is there already: name another --runs-dir")
    data: dict[str, Any] = {"date": datetime.now().astimezone().date().isoformat()}
    seen: list[dict[str, Any]] = []
    write_json(out, data)
    for name, words in sessions.items():
        session, on = measured(name, words, runs_dir / name, others)
        data |= on
        seen.append(session)
        write_json(out, {**data, "sessions": seen})
        if not session["rows"]:
            print(f"\n== {name}: nothing was measured, or it cannot be read", flush=True)
        if session["interrupted"]:
            return 2
        if session["exit_code"] == pytest.ExitCode.USAGE_ERROR:
            break
    return int(any(session["exit_code"] or not session["rows"] for session in seen))


def main(words: Sequence[str] | None = None) -> int:
    """Prints what the sessions print. 0, 1: a session failed, 2: interrupted, or wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.canaries", description=__doc__)
    parser.add_argument("--generation", default="h200", choices=("h100", "h200"), help="(h200)")
    parser.add_argument("--sessions", nargs="+", metavar="NAME", help="these only (all)")
    parser.add_argument(
        "--runs-dir", type=Path, default=Path("runs"), help="where runs are kept (runs)"
    )
    parser.add_argument("--out", type=Path, required=True, help="the file of data to write")
    parser.add_argument("others", nargs="*", help="after --: more options for every session")
    told = parser.parse_args(words)
    known = sessions_of(told.generation)
    for name in told.sessions or ():
        if name not in known:
            parser.error(f"--sessions: {name!r} is unknown; allowed: {', '.join(known)}")
    if any(word.startswith("-m") for word in told.others):
        parser.error("-m: each session has its own")
    chosen = {name: known[name] for name in told.sessions or known}
    try:
        return measure_all(chosen, told.runs_dir, told.out, told.others)
    except EvalsError as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
