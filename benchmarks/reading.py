"""`python -m benchmarks.reading`: how long kept runs take to read, by `history` and `compare`.

Runs of all the canary's questions are written to a temporary folder. Beside each command as a whole
stands the bare reading of the same files as JSON; beside `history` the same with every record read,
as where runs have no verdict.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from evals.__main__ import main as evals_main
from evals.prompts import PROTOCOLS
from evals.questions import load_folder
from evals.records import read_run, write_json
from evals.task import Task
from tests.unit.evals.run_folders import RIGHT, WRONG, row_of, write_run, write_verdict

QUESTIONS = Path(__file__).parents[1] / "fixtures/canary/questions"
PADDING = " and so it goes on" * 20  # to the length of what Maverick answers


def write_runs(folder: Path, runs: int) -> None:
    """Whole runs of one row, a day apart, with their verdicts."""
    task = Task(load_folder(QUESTIONS, "canary"), PROTOCOLS["train"])
    right, wrong = [RIGHT] * (task.whole - 60), [WRONG] * 60
    for day in range(runs):
        fates = wrong + right if day % 2 else right + wrong
        started = f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}T00:00:00+00:00"
        run = write_run(folder / str(day) / "row", task, fates, row=row_of(), started=started)
        file = run / "answers.jsonl"
        file.write_text(file.read_text("utf-8").replace('"text": "', f'"text": "{PADDING}'))
        write_verdict(run)


def seconds(what: Callable[[], object]) -> float:
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def bare(folder: Path) -> None:
    for file in folder.rglob("answers.jsonl"):
        for line in file.read_bytes().splitlines():
            json.loads(line)


def main(words: Sequence[str] | None = None) -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs of 1319 questions (200)")
    told = parser.parse_args(words)
    if told.runs < 2:
        parser.error("--runs: two at least, to be compared")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_runs(folder, told.runs)
        megabytes = sum(f.stat().st_size for f in folder.rglob("answers.jsonl")) / 1e6
        plot = ["--plot", str(folder / "plot.png")]
        pair = [folder / str(day) / "row" for day in range(2)]
        comparing = ["compare", *map(str, pair)]
        seconds(lambda: evals_main(comparing))  # imports scipy
        compared = seconds(lambda: evals_main(comparing))
        parsed_pair = seconds(lambda: [bare(run) for run in pair])
        by_verdicts = seconds(lambda: evals_main(["history", name]))
        plotted = seconds(lambda: evals_main(["history", name, *plot]))
        parsed = seconds(lambda: bare(folder))
        for file in folder.rglob("verdict.json"):
            file.unlink()
        by_counts = seconds(lambda: evals_main(["history", name]))
        for file in folder.rglob("run.json"):
            write_json(file, {k: v for k, v in read_run(file.parent).items() if k != "counts"})
        by_records = seconds(lambda: evals_main(["history", name]))
    print(f"\n{told.runs} runs, {megabytes:.0f} MB of records; seconds (ratio to bare JSON):")
    print(f"  bare JSON      {parsed:.2f}")
    for label, each in (
        ("by verdicts    ", by_verdicts),
        ("with plot      ", plotted),
        ("by counts      ", by_counts),
        ("every record   ", by_records),
    ):
        print(f"  {label}{each:.2f} ({each / parsed:.2f})")
    print(f"two of them, bare JSON {parsed_pair:.3f}")
    print(f"  compare        {compared:.3f} ({compared / parsed_pair:.1f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
