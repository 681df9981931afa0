"""`python -m benchmarks.canaries`: what the canaries show on a GPU, as data.

Runs whole sessions of the suite one after another, each in a run folder of its own, and writes
after each what all have shown so far: command, exit code, seconds, GPU memory in use afterwards,
and each row's scores, times, drift and parity.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.run_summary import circumstances, rows_of
from evals.errors import EvalsError
from evals.records import write_json
from fixtures.hardware.gpus import gpus

ROOT = Path(__file__).parents[1]
PAIR = "stock and (fa3 or triton) and not default"  # by -k: the reference of Hopper, and another
Sessions = Mapping[str, Sequence[str]]


def sessions_of(generation: str) -> dict[str, list[str]]:
    """Each session's words to pytest: the gate by canary, then repeats of two backends."""
    canaries = f"{generation} and canary"
    return {
        **{name: ["-m", canaries, "-k", name] for name in ("stock", "chunked", "wide")},
        **{
            f"repeats-{parallel}": [
                *("-m", generation, "-k", PAIR),
                *("--repeats", "3", "--parallel", str(parallel)),
            ]
            for parallel in (50, 512)
        },
    }


def measured(name: str, words: Sequence[str], runs: Path, others: Sequence[str]) -> dict[str, Any]:
    """Runs one session, its output on ours. UsageError for a run that cannot be read."""
    command = [sys.executable, "-m", "pytest", f"--runs-dir={runs}", *words, *others]
    print(f"\n== {name}: pytest {' '.join(words)}", flush=True)
    begun = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    seconds = time.monotonic() - begun
    return {
        "session": name,
        "command": ["pytest", *words],
        "exit_code": code,
        "seconds": round(seconds, 1),
        "gpu_memory_mib_after": [gpu.used >> 20 for gpu in gpus()],
        "gpu_processes_after": [str(process) for gpu in gpus() for process in gpu.processes],
        "rows": rows_of(runs),
    }


def measure_all(sessions: Sessions, runs_dir: Path, out: Path, others: Sequence[str]) -> int:
    """0 where every session was sound and passed; `out` holds what was seen until the end.

    Raises UsageError for a run folder that holds something, or a run that cannot be read.
    """
    data: dict[str, Any] = {"date": datetime.now().astimezone().date().isoformat()}
    seen: list[dict[str, Any]] = []
    for name, words in sessions.items():
        runs = runs_dir / name
        if runs.exists():
            raise FileExistsError(f"{runs} is there already: name another --runs-dir")
        seen.append(measured(name, words, runs, others))
        data |= circumstances(runs)
        write_json(out, {**data, "options": list(others), "sessions": seen})
    return int(any(session["exit_code"] for session in seen))


def main(words: Sequence[str] | None = None) -> int:
    """Prints what the sessions print. Ends with 1 if one did not end with 0, with 2 for usage."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.canaries", description=__doc__)
    parser.add_argument("--generation", default="h200", choices=("h100", "h200"))
    parser.add_argument("--sessions", nargs="+", metavar="NAME", help="these only (all)")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), help="where runs are kept")
    parser.add_argument("--out", type=Path, required=True, help="the file of data to write")
    parser.add_argument("others", nargs="*", help="after --: more options for every session")
    told = parser.parse_args(words)
    known = sessions_of(told.generation)
    for name in told.sessions or ():
        if name not in known:
            parser.error(f"--sessions: {name!r} is unknown; allowed: {', '.join(known)}")
    chosen = {name: known[name] for name in told.sessions or known}
    try:
        return measure_all(chosen, told.runs_dir, told.out, told.others)
    except (EvalsError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
