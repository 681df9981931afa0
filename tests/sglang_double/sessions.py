"""Whole sessions of the suite on a machine with GPUs on paper, against the double of SGLang."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.sessions import outside
from tests.unit.fixtures.simulated import a_gpu, write_gpus

ROOT = Path(__file__).resolve().parents[2]
INTERPRETER = Path(__file__).with_name("interpreter.py")
QUESTIONS = ROOT / "fixtures" / "canary" / "questions"

HEAD = """
[models.tiny]
path = "tiny"
questions = "canary"
source = "tests"

[gates.canary]
accuracy = 0.93
invalid = 0
source = "tests"
"""


@dataclass
class Machine:
    """A folder with everything that sessions on it need; `told` is what the double is told."""

    folder: Path
    told: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("served", "tiny", "leases"):
            (self.folder / name).mkdir()
        self.gpus(a_gpu(0))
        python = self.folder / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} -P {INTERPRETER} "$@"\n')
        python.chmod(0o755)
        self.told |= {
            "version": "0.5.15",
            "served": str(self.folder / "served"),
            "double": ["--answers", str(QUESTIONS), "--accuracy", "0.96"],
        }

    def gpus(self, *gpus: dict[str, Any]) -> None:
        write_gpus(self.folder / "gpus.json", *gpus)

    def rows(self, *rows: str) -> Path:
        """A matrix of these rows: TOML of what differs from a canary under fa3 on an H200."""
        usual = {
            "model": '"tiny"',
            "engine": '"sglang"',
            "backend": '"fa3"',
            "generation": '"h200"',
            "gate": '"canary"',
            "tier": '"nightly"',
        }
        text = HEAD
        for row in rows:
            own = dict(line.split(" = ", 1) for line in row.splitlines() if line)
            lines = {**usual, **own}.items()
            text += "\n[[rows]]\n" + "\n".join(f"{k} = {v}" for k, v in lines if v != "none") + "\n"
        (self.folder / "matrix.toml").write_text(text)
        return self.folder / "matrix.toml"

    @property
    def served(self) -> Path:
        return self.folder / "served"

    @property
    def starts(self) -> list[str]:
        """Model and GPUs of every server that was started."""
        file = self.served / "starts"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def environment(self) -> dict[str, str]:
        """What a session on this machine has in its environment besides the usual."""
        return {
            "LLAMA4_ACCURACY_NVML": str(self.folder / "gpus.json"),
            "LLAMA4_ACCURACY_LEASES": str(self.folder / "leases"),
            "SGLANG_DOUBLE": str(self.folder / "told.json"),
        }

    @property
    def options(self) -> tuple[str, ...]:
        """What every session on it is told."""
        matrix, python = self.folder / "matrix.toml", self.folder / "python"
        named = (f"--matrix={matrix}", f"--server-python={python}")
        return ("-p", "no:hypothesispytest", "-p", "no:anyio", *named)

    def start(
        self,
        *words: str,
        runs: str = "runs",
        tests: tuple[str, ...] = ("tests/accuracy",),
        cache: bool = False,
    ) -> "subprocess.Popen[str]":
        """`cache`: with pytest's own, of what failed before, in this folder."""
        (self.folder / "told.json").write_text(json.dumps(self.told))
        cached = ("-o", f"cache_dir={self.folder / 'cache'}")
        quiet = cached if cache else ("-p", "no:cacheprovider")
        where = ("--runs-dir", str(self.folder / runs))
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *tests, *quiet, *where, *self.options, *words],
            cwd=ROOT,
            env={**outside(), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, timeout: float = 120, **start: Any) -> tuple[int, str]:
        """Exit code and output; nothing that the session started may be left."""
        with ended(self.start(*words, **start)) as session:
            said, _ = session.communicate(timeout=timeout)
        assert "Traceback" not in said, said
        assert self.left() == []
        return session.returncode, said

    def left(self) -> list[str]:
        """Command lines of living processes of this machine's servers."""
        lines = []
        for process in psutil.process_iter():
            try:
                line = " ".join(process.cmdline())
            except psutil.Error:
                continue
            if str(self.folder) in line and process.pid != os.getpid() and "-m pytest" not in line:
                lines.append(line)
        return lines


@contextmanager
def ended(session: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    """Killed on the way out if it still runs."""
    try:
        yield session
    finally:
        session.kill()
        session.wait()
        if session.stdout is not None:
            session.stdout.close()
