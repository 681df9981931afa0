"""What the tests of baselines share: runs with a key, the command, and files edited by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import main
from tests.unit.evals.run_folders import INVALID, RIGHT, WRONG

FATES = [WRONG] * 3 + [INVALID] + [RIGHT] * 196
NAME = "tiny-llama_cpp-fa_on-cpu-train-tp1.baseline.json"
SERVER = {"facts": {"version": "1.2", "cache_type_k": "f16"}}
Save = Callable[..., Path]


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["baseline", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def edited(file: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    return file


def set_to(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of what lies at `path`."""

    def change(content: Any) -> None:
        for part in path[:-1]:
            content = content[part]
        content[path[-1]] = value

    return change
