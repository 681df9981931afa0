"""What a run was made with: versions, machine and commit, for its record."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import psutil

PACKAGES = ("aiohttp", "datasets", "numpy", "openai", "pytest", "scipy", "sglang", "xllamacpp")


def versions() -> dict[str, str]:
    """Python's version and those of the packages that take part, where installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, object]:
    """Operating system, processor, cores and memory (GiB)."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
    }


def commit(folder: Path) -> dict[str, object] | None:
    """The git commit that `folder` is at and whether it has changes; None outside a checkout."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        return {"sha": head, "changed": bool(_git(folder, "status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
