"""Rows of the canary under llama.cpp, few questions each: what the tests of whole sessions run."""

from __future__ import annotations

from pathlib import Path

import psutil

from tests.sessions import ROOT, RunningSession

CANARY = ROOT / "fixtures" / "canary" / "stock"
ROW = "canary-stock-fa_off-cpu"  # the reference backend's

HEAD = f"""
[models.canary-stock]
path = "{CANARY}"
questions = "canary"
source = "fixtures/canary"

[gates.canary]
accuracy = 0.93
invalid = 0
source = "fixtures/matrix.toml"
"""
BODY = """
[[rows]]
model = "canary-stock"
engine = "llama_cpp"
backend = "{backend}"
generation = "cpu"
gate = "canary"
tier = "merge"
arguments.threads = 1 # two collapse where anything else runs
arguments.swap_experts = {swap_experts}
"""


def matrix(folder: Path, *backends: str, swap_experts: bool = False) -> tuple[str, ...]:
    """The options that select these rows."""
    file = folder / "matrix.toml"
    swap = str(swap_experts).lower()
    rows = [BODY.format(backend=backend, swap_experts=swap) for backend in backends]
    file.write_text(HEAD + "".join(rows))
    return ("-m", "cpu", "--matrix", str(file), "--parallel", "8")


def servers(running: RunningSession) -> list[psutil.Process]:
    """The llama.cpp processes of a session."""
    try:
        children = psutil.Process(running.process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    lines = {child: command_line(child) for child in children}
    return [
        child
        for child, line in lines.items()
        if "llama_cpp_server.py" in line and "supervisor.py" not in line
    ]


def command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
