"""`python -m benchmarks.client --answers DIR`: what our client costs, beside two bare ones.

For each load the clients take turns, each run in a process of its own against a double of its own:
a busy machine then slows them alike, and the ratios stay.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from evals.machine import commit, machine, versions
from evals.records import now
from tests.double import running_double

ROOT = Path(__file__).resolve().parents[1]
CLIENTS = ("evals", "bare asyncio", "aiohttp gather")
ACCURACY = 0.9348
QUIET_PERCENT = 8.0  # of all cores, before a run begins
FIGURES = ("loop_seconds", "call_seconds", "cpu_seconds", "double_cpu_seconds", "peak_mb",
           "max_in_flight", "busy_percent_before")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Load:
    """`delay` seconds to each answer, `parallel` requests at once; most allowed, where a bar is."""

    delay: float
    parallel: int
    bars: Mapping[str, float]

    @property
    def name(self) -> str:
        return f"{self.delay * 1000:.0f} ms, {self.parallel} in flight"


PEAK_MB = 150.0
LOADS = (
    Load(0.05, 128, {"loop_seconds": 0.8, "cpu_seconds": 0.8, "peak_mb": PEAK_MB}),
    Load(0.2, 50, {"loop_seconds": 27 * 0.2 * 1.03, "peak_mb": PEAK_MB}),
    Load(0.05, 1319, {"peak_mb": PEAK_MB}),
    Load(1.0, 1319, {"peak_mb": PEAK_MB}),
)


def wait_for_idle_cores(patience: float) -> float:
    """Waits until others leave the processor alone, `patience` seconds at most.

    Returns how busy it was at last, in percent of all cores.
    """
    deadline = time.monotonic() + patience
    while True:
        busy: float = psutil.cpu_percent(interval=0.3)
        if busy <= QUIET_PERCENT or time.monotonic() >= deadline:
            return busy


def measure(load: Load, client: str, answers: Path, patience: float) -> dict[str, float]:
    """One run of one client: what it says, and what the double saw."""
    with running_double(answers=answers, accuracy=ACCURACY, delay=load.delay) as double:
        before = double.stats().cpu_seconds
        busy = wait_for_idle_cores(patience)
        words = [client, double.base_url, str(answers), str(load.parallel)]
        command = [sys.executable, "-m", "benchmarks.one_run", *words]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{client} at {load.name} ended with code {done.returncode}")
        seen = double.stats()
    figures: dict[str, float] = json.loads(done.stdout)
    return figures | {
        "double_cpu_seconds": round(seen.cpu_seconds - before, 4),
        "max_in_flight": seen.max_in_flight,
        "busy_percent_before": busy,
    }


def compare(
    load: Load, answers: Path, repeats: int, patience: float
) -> dict[str, list[dict[str, float]]]:
    """All runs at one load, by client; the clients alternate."""
    runs: dict[str, list[dict[str, float]]] = {client: [] for client in CLIENTS}
    for _ in range(repeats):
        for client in CLIENTS:
            runs[client].append(measure(load, client, answers, patience))
    return runs


def table(load: Load, runs: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Median and span of each figure for each client; ours besides as a ratio to the bare one."""
    lines: list[tuple[str, ...]] = [(load.name, *CLIENTS, "ratio to bare", "bar")]
    for figure in FIGURES:
        values = {client: [run[figure] for run in runs[client]] for client in CLIENTS}
        ours, bare = (statistics.median(values[client]) for client in CLIENTS[:2])
        bar = load.bars.get(figure)
        met = "" if bar is None else f"{bar:.4g}: {'met' if ours <= bar else 'NOT MET'}"
        ratio = f"{ours / bare:.2f}" if bare else "-"
        lines.append((figure, *(span(values[client]) for client in CLIENTS), ratio, met))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def span(values: Sequence[float]) -> str:
    """`median (least..most)`."""
    return f"{statistics.median(values):.4g} ({min(values):.4g}..{max(values):.4g})"


def main(words: Sequence[str] | None = None) -> int:
    """Measures every load, prints its table, and writes all runs where `--out` says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.client", description=__doc__)
    parser.add_argument(
        "--answers", type=Path, required=True, help="folder with train.jsonl and test.jsonl"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of each client at each load")
    parser.add_argument(
        "--patience", type=float, default=0.0, help="seconds to wait for idle cores before a run"
    )
    parser.add_argument("--out", type=Path, help="JSON file for all figures")
    told = parser.parse_args(words)
    result: dict[str, Any] = {
        "written": now(),
        "versions": versions(),
        "machine": machine(),
        "commit": commit(ROOT),
        "load_average_at_start": os.getloadavg()[0],
        "loads": {},
    }
    for load in LOADS:
        runs = compare(load, told.answers, told.repeats, told.patience)
        result["loads"][load.name] = runs
        print(table(load, runs), end="\n\n", flush=True)
    if told.out is not None:
        told.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
