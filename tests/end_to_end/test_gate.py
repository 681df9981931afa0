"""The gates as users run them: whole sessions, real llama.cpp, the canary, few questions."""

import json
import re
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from fixtures.engines.llama_cpp import KEY_VARIABLE
from tests.canary_rows import CANARY, ROW, command_line, matrix, servers
from tests.sessions import Session, run_session, start_session

pytest.importorskip("xllamacpp")

BACKENDS = ("fa_off", "fa_on", "fa_q8")

RUN_KEYS = {
    *("format", "name", "started", "ended", "attempts", "configuration"),
    *("row", "server", "versions", "machine", "commit"),
}


@dataclass
class Watched:
    """A session, and what was seen of its processes while it ran."""

    session: Session
    most_servers: int = 0
    keys: set[str] = field(default_factory=set)
    command_lines: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Three backends, 16 questions each, on two workers."""
    folder = tmp_path_factory.mktemp("three")
    options = (*matrix(folder, *BACKENDS), "--questions", "16", "-n", "2", "-v")
    watched = Watched(Session(-1, "", 0.0, folder / "runs"))
    started = time.monotonic()
    with start_session(*options, runs_dir=folder / "runs") as running:
        while running.process.poll() is None and time.monotonic() - started < 180:
            watched.command_lines |= {command_line(p) for p in running.processes()}
            found = servers(running)
            watched.most_servers = max(watched.most_servers, len(found))
            for server in found:
                try:
                    watched.keys.add(server.environ()[KEY_VARIABLE])
                except (psutil.Error, KeyError):  # just forked, or just gone
                    continue
            time.sleep(0.1)
        exit_code = running.process.poll()
        assert exit_code is not None, running.output()
        assert running.processes() == []
        seconds = time.monotonic() - started
        watched.session = Session(exit_code, running.output(), seconds, folder / "runs")
    return watched


def test_every_backend_is_one_gate_with_its_row_as_id(three: Watched) -> None:
    for backend in BACKENDS:
        assert f"test_gsm8k.py::test_gsm8k[canary-stock-{backend}-cpu]" in three.session.output
    assert "Traceback" not in three.session.output


def test_a_partial_session_has_no_verdict(three: Watched) -> None:
    assert three.session.exit_code == 11
    assert "5 gates: 0 passed, 0 failed, 5 without a verdict; exit code 11" in three.session.output
    for run in three.session.runs:
        assert run.verdict["outcome"] == "no verdict"
        assert run.verdict["reasons"][0].startswith("a partial run: only 16 questions")


def test_every_server_is_started_once_and_no_two_at_a_time_across_workers(three: Watched) -> None:
    runs = three.session.runs
    assert sorted(run.about["name"] for run in runs) == [f"canary-stock-{b}-cpu" for b in BACKENDS]
    for run in runs:
        log = (run.folder / "server.log").read_text("utf-8")
        assert log.count(" serves at http://127.0.0.1:") == 1
    assert three.most_servers == 1
    assert len(three.keys) == 3
    spans = sorted((run.about["started"], run.about["ended"]) for run in runs)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_a_run_folder_holds_all_that_was_measured(three: Watched) -> None:
    lines = (CANARY / "reference.jsonl").read_text("utf-8").splitlines()
    reference = [json.loads(line) for line in lines]
    texts = {row["id"]: row["text"].rstrip() for row in reference}
    for run in three.session.runs:
        names = {file.name for file in run.folder.iterdir()} - {".lock"}
        assert names - {"parity-fa_off.json"} == {
            *("run.json", "answers.jsonl", "server.log", "verdict.json")
        }
        assert run.about.keys() >= RUN_KEYS
        configuration, server = run.about["configuration"], run.about["server"]
        assert configuration["protocol"] == "train"
        assert configuration["parallel"] == 8
        assert configuration["questions"]["asked"] == 16
        assert "llama_cpp_server.py" in server["command"]
        assert server["facts"]["version"].startswith("xllamacpp ")
        assert [answer["id"] for answer in sorted(run.answers, key=lambda a: a["id"])] == [
            f"test-{index:04d}" for index in range(16)
        ]
        assert all(answer["error"] is None for answer in run.answers)
        same = [a for a in run.answers if a["text"].rstrip() == texts[a["id"]]]
        assert len(same) >= (15 if run.about["name"] == ROW else 8)


def test_the_key_of_a_server_is_nowhere(three: Watched) -> None:
    kept = [file for file in three.session.runs_dir.rglob("*") if file.is_file()]
    assert len(kept) >= 3 * 4
    assert all(len(key) >= 32 for key in three.keys)
    for key in three.keys:
        assert not any(key in line for line in three.command_lines)
        assert not any(key.encode() in file.read_bytes() for file in kept)
        assert key not in three.session.output


def test_the_report_page_is_there_and_named(three: Watched) -> None:
    (page,) = three.session.runs_dir.glob("*-report.html")
    assert f"report: {page}" in three.session.output
    text = page.read_text("utf-8")
    assert all(f"canary-stock-{backend}-cpu" in text for backend in BACKENDS)
    assert not re.search(r"(src|href)=.?https?:", text)


def test_a_model_made_worse_on_purpose_fails_early(tmp_path: Path) -> None:
    options = matrix(tmp_path, "fa_off", swap_experts=True)
    session = run_session(*options, runs_dir=tmp_path / "runs")
    assert session.exit_code == 10
    assert session.run.verdict["outcome"] == "fail"
    assert len(session.run.answers) <= 0.4 * 1319
    assert "answers are not right, 92 of 1319 may be" in session.output
