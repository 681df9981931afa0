"""Gates that are cut short under real llama.cpp: killed, interrupted, and gone on with."""

from pathlib import Path

import pytest

from tests.canary_rows import matrix, servers
from tests.sessions import (
    GONE_SECONDS,
    Run,
    run_session,
    runs_in,
    start_session,
    wait_until,
)

pytest.importorskip("xllamacpp")

INTERRUPTED = 2


@pytest.mark.parametrize(
    ("questions", "killed_at"),
    [(60, 20), pytest.param(1319, 600, marks=pytest.mark.long)],
)
def test_a_server_killed_on_the_way_has_no_verdict_and_a_resume_brings_the_unbroken_score(
    tmp_path: Path, questions: int, killed_at: int
) -> None:
    options = (*matrix(tmp_path, "fa_off"), "--questions", str(questions))
    runs_dir = tmp_path / "runs"
    with start_session(*options, runs_dir=runs_dir) as running:
        running.wait_for(lambda: running.answered() >= killed_at, 600)
        (server,) = servers(running)
        server.kill()
        assert wait_until(lambda: running.process.poll() is not None, 10) < 10
        assert running.process.returncode == 11
        assert running.processes() == []
        assert "the server was killed by SIGKILL" in running.output()
        assert "next: ask what is missing with --resume=" in running.output()
        assert "Traceback" not in running.output()
    (run,) = runs_in(runs_dir)
    before = {a["id"]: a for a in run.answers if a["error"] is None}
    assert killed_at <= len(before) < questions

    resume = ("--resume", str(run.folder))
    resumed = run_session(*options, *resume, runs_dir=runs_dir, timeout=900)
    unbroken = run_session(*options, runs_dir=tmp_path / "unbroken", timeout=900)
    assert resumed.exit_code == unbroken.exit_code
    after = {a["id"]: a for a in run.answers}
    assert before.items() <= after.items()
    assert len(after) == len(run.answers) == questions
    assert _asked(run) == [questions, questions - len(before)]
    # Which questions share a batch differs, which may turn an answer on the edge.
    assert abs(run.score["right"] - unbroken.run.score["right"]) <= 1
    assert run.verdict["outcome"] == unbroken.run.verdict["outcome"]


def _asked(run: Run) -> list[int]:
    return [attempt["asked"] for attempt in run.about["attempts"]]


def test_kill_9_of_pytest_leaves_no_process_and_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    options = (*matrix(tmp_path, "fa_off"), "--questions", "40")
    runs_dir = tmp_path / "runs"
    with start_session(*options, runs_dir=runs_dir) as running:
        running.wait_for(lambda: running.answered() >= 20)
        running.process.kill()
        wait_until(lambda: running.processes() == [], GONE_SECONDS)
    (run,) = runs_in(runs_dir)
    resumed = run_session(*options, "--resume", str(run.folder), runs_dir=runs_dir)
    assert resumed.exit_code == 11  # partial
    assert run.verdict["reasons"] == ["a partial run: only 40 questions were asked for"]
    assert len(run.answers) == 40
    assert _asked(run)[1] <= 20


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize("during", ["start", "evaluation"])
def test_ctrl_c_leaves_no_process(tmp_path: Path, during: str, workers: tuple[str, ...]) -> None:
    options = (*matrix(tmp_path, "fa_off", "fa_on"), "--questions", "200", *workers)
    with start_session(*options, runs_dir=tmp_path / "runs") as running:
        if during == "start":
            running.wait_for(lambda: servers(running) != [])
            assert running.answered() == 0
        else:
            running.wait_for(lambda: running.answered() >= 10)
        running.interrupt()
        wait_until(lambda: running.process.poll() is not None, GONE_SECONDS)
        assert running.process.returncode == INTERRUPTED
        wait_until(lambda: running.processes() == [], 2)
        assert "INTERNALERROR" not in running.output()
