"""`python -m benchmarks.canaries`: whole sessions as data, against SGLang as a double."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.canaries import main, measure_all, sessions_of
from benchmarks.run_summary import Unreadable, circumstances, rows_of
from evals.errors import RecordsNotWritten
from tests.sessions import ROOT, outside, wait_until
from tests.sglang_double.sessions import Machine

STOCK = ROOT / "fixtures" / "canary" / "stock"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """One H200; this process has its environment."""
    machine = Machine(tmp_path)
    (tmp_path / "told.json").write_text(json.dumps(machine.told))
    for name, value in machine.environment.items():
        monkeypatch.setenv(name, value)
    return machine


def measured(machine: Machine, *words: str) -> tuple[int, dict[str, Any]]:
    out = machine.folder / "data.json"
    others = ("tests/accuracy", "-p", "no:cacheprovider", *machine.options)
    code = measure_all({"both": ["-m", "h200", *words]}, machine.folder / "runs", out, others)
    content: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return code, content


def test_repeats_of_two_backends_are_data_with_cells_and_flips(machine: Machine) -> None:
    for file in ("reference.jsonl", "logprobs.npz"):
        shutil.copy(STOCK / file, machine.folder / "tiny")
    machine.told["double"] += ["--logprobs", str(STOCK / "logprobs.npz")]
    (machine.folder / "told.json").write_text(json.dumps(machine.told))
    machine.rows("", 'backend = "triton"\ndrift = { mean = 1e-3, questions = 40 }')
    code, data = measured(machine, "--repeats", "2", "--parallel", "128")
    assert code == 0
    (session,) = data["sessions"]
    assert session["exit_code"] == 0
    assert session["gpu_memory_mib_before"] == session["gpu_memory_mib_after"] == [0]
    fa3, triton = session["rows"]
    assert (fa3["row"], fa3["outcome"], fa3["parity"]) == ("tiny-fa3-h200", "pass", [])
    assert (triton["parallel"], len(triton["evaluation_seconds"])) == (128, 2)
    assert triton["counts"]["right"] == 2 * 1266
    assert triton["server"]["attention_backend"] == "triton"
    assert (fa3["logprob_change"], triton["logprob_change"]["outcome"]) == (None, "pass")
    assert all(0 <= same < 1319 for same in triton["texts_of_the_reference"])
    (pair,) = triton["parity"]
    assert pair["cells"] == {"both": 1266, "lost": 0, "gained": 0, "neither": 53}
    assert pair["between_repeats"]["candidate"]["texts"] == {"share": 0, "questions": 0}
    assert data["server"]["version"] == "0.5.15"
    assert data["versions"]["pytest"]


def test_a_session_that_fails_is_told_and_its_rows_are_kept(machine: Machine) -> None:
    machine.told["double"] = [*machine.told["double"][:-1], "0.5"]
    (machine.folder / "told.json").write_text(json.dumps(machine.told))
    machine.rows("")
    code, data = measured(machine)
    assert code == 1
    (session,) = data["sessions"]
    assert session["exit_code"] == 10
    (row,) = session["rows"]
    assert row["outcome"] == "fail"
    assert row["stopped"]


def test_an_earlier_measurement_is_not_mixed_in(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    (machine.folder / "runs" / "canaries").mkdir(parents=True)
    where = ["--runs-dir", str(machine.folder / "runs"), "--out", str(machine.folder / "data.json")]
    with pytest.raises(SystemExit, match="2"):
        main(["--sessions", "canaries", *where])
    assert "runs/canaries is there already: name another --runs-dir" in capsys.readouterr().err


def test_nothing_is_written_over(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    out = machine.folder / "data.json"
    out.write_text("kept")
    with pytest.raises(SystemExit, match="2"):
        main(["--runs-dir", str(machine.folder / "runs"), "--out", str(out)])
    assert "data.json is there already: name another --out" in capsys.readouterr().err
    assert out.read_text() == "kept"


def test_after_a_session_that_is_refused_comes_no_other(machine: Machine) -> None:
    machine.gpus()
    machine.rows("")
    out = machine.folder / "data.json"
    others = ("tests/accuracy", "-p", "no:cacheprovider", *machine.options)
    words = ["-m", "h200"]
    assert measure_all({"one": words, "two": words}, machine.folder / "runs", out, others) == 1
    (session,) = json.loads(out.read_text("utf-8"))["sessions"]
    assert (session["session"], session["exit_code"]) == ("one", 4)


def test_a_session_that_measures_nothing_is_no_success(machine: Machine) -> None:
    machine.rows("")
    code, data = measured(machine, "--dry-run")
    assert (code, data["sessions"][0]["exit_code"], data["sessions"][0]["rows"]) == (1, 0, [])


def test_data_that_cannot_be_written_are_refused_before_anything_runs(machine: Machine) -> None:
    machine.rows("")
    out = machine.folder / "nowhere" / "data.json"
    with pytest.raises(RecordsNotWritten, match=r"nowhere/data\.json cannot be written"):
        measure_all({"both": ["-m", "h200"]}, machine.folder / "runs", out, machine.options)
    assert machine.starts == []


def test_a_row_whose_server_does_not_start_is_there_without_an_outcome(machine: Machine) -> None:
    machine.told["refuses"] = {"triton": "ValueError: no"}
    (machine.folder / "told.json").write_text(json.dumps(machine.told))
    machine.rows("", 'backend = "triton"')
    code, data = measured(machine)
    assert (code, data["sessions"][0]["exit_code"]) == (1, 11)
    fa3, triton = data["sessions"][0]["rows"]
    assert (fa3["row"], fa3["outcome"]) == ("tiny-fa3-h200", "pass")
    assert triton == {"row": "tiny-triton-h200", "outcome": None, "parity": []}


def test_a_damaged_run_is_told_and_ends_nothing(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for damage, read in ((("run.json", "{"), circumstances), (("verdict.json", "[]"), rows_of)):
        folder = tmp_path / damage[0] / "20261201T000000-row"
        folder.mkdir(parents=True)
        (folder / damage[0]).write_text(damage[1])
        with pytest.raises(Unreadable):
            read(folder.parent)
    machine.rows("")
    plugin = machine.folder / "damaging.py"
    plugin.write_text(
        "def pytest_unconfigure(config):\n"
        "    for file in config.getoption('runs_dir').glob('*/run.json'):\n"
        "        file.write_text('{')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(machine.folder))
    code, data = measured(machine, "-p", "damaging")
    assert (code, data["sessions"][0]["exit_code"], data["sessions"][0]["rows"]) == (1, 0, [])
    assert "run.json" in data["sessions"][0]["unreadable"]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_session_ends_by_itself_and_no_other_comes(
    machine: Machine, how: signal.Signals, fails: bool
) -> None:
    """Also where a gate had failed before, which the session's exit code then tells."""
    machine.told["besides"] = {"triton": ["--delay", "0.5"]}
    machine.told["double"][-1] = "0.5" if fails else "0.96"
    (machine.folder / "told.json").write_text(json.dumps(machine.told))
    machine.rows("", 'backend = "triton"')
    runs, out = machine.folder / "runs", machine.folder / "data.json"
    others = ("tests/accuracy", "-p", "no:cacheprovider", *machine.options)
    call = f"{{'one': ['-m', 'h200'], 'two': []}}, Path({str(runs)!r}), Path({str(out)!r})"
    script = (
        "import sys; from pathlib import Path; from benchmarks.canaries import measure_all; "
        f"sys.exit(measure_all({call}, {others}))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**outside(), **machine.environment},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            wait_until(lambda: any(runs.glob("one/*triton*/answers.jsonl")), 60)
            # Ctrl-C reaches all of a terminal's processes, the other signal only this one.
            os.killpg(process.pid, how) if how is signal.SIGINT else process.send_signal(how)
            said, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 2, said
    assert "Traceback" not in said
    assert "deselected in" in said  # pytest's last line
    assert machine.left() == []
    (session,) = json.loads(out.read_text("utf-8"))["sessions"]
    assert (session["session"], session["interrupted"]) == ("one", True)
    assert session["exit_code"] == (10 if fails else 2)
    assert [row["outcome"] for row in session["rows"]] == ["fail" if fails else "pass", None]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sessions", "all"], "'all' is unknown; allowed: canaries, repeats-50, repeats-512"),
        (["--", "-m", "merge"], "-m: each session has its own"),
    ],
)
def test_an_unknown_session_and_another_selection_are_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", "data.json", *words])
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "canaries",
            [
                *("stock-fa3", "stock-triton", "stock-default", "stock-trtllm_mha"),
                *("chunked-fa3", "chunked-triton", "chunked-default", "chunked-trtllm_mha"),
                "wide-fa3",
            ],
        ),
        ("repeats-50", ["stock-fa3", "stock-triton"]),
        ("repeats-512", ["stock-fa3", "stock-triton"]),
    ],
)
def test_each_session_selects_its_rows_and_no_others(
    machine: Machine, name: str, rows: list[str]
) -> None:
    """On paper: a release without `trtllm_mha` on Hopper leaves its rows out."""
    matrix = ROOT / "fixtures" / "matrix.toml"
    code, said = machine.run(*sessions_of("h200")[name], "--dry-run", f"--matrix={matrix}")
    assert code == 0, said
    assert set(re.findall("^canary-(.*)-h200:", said, re.MULTILINE)) == set(rows)
