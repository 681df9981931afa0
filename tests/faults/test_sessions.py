"""How gates and other tests, workers, interruptions and full disks end a session."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.double import Double, running_double
from tests.faults.against_double import ATTACHED, GATE, QUESTIONS
from tests.sessions import CANARY_QUESTIONS, ROOT, Session, run_session, start_session, wait_until
from tests.unit.fixtures.simulated import write_gpus

INTERRUPTED = 2

PASSING_GATE = """
    def test_passes(evaluate, server, gate):
        gate.check(evaluate(server))
"""
FAILING_GATE = """
    import json

    def test_other_texts(evaluate, server, gate, tmp_path):
        (evaluation,) = evaluate(server)
        file = tmp_path / "reference.jsonl"
        lines = [
            json.dumps({"id": r.id, "prompt_sha256": r.prompt_sha256, "text": "else"})
            for r in evaluation.records
        ]
        file.write_text("\\n".join(lines))
        gate.check_texts(evaluation, file, 1)
"""
FAILING_TEST = """
    def test_of_something_else():
        assert 1 + 1 == 3
"""
MEASURING_TEST = """
    def test_that_is_no_gate(evaluate, server):
        evaluate(server)
"""
KILLED_WORKER = """
    import os, signal

    def test_kills_its_worker(gate):
        os.kill(os.getpid(), signal.SIGKILL)
"""
SKIPPING = """
    import pytest

    def pytest_collection_modifyitems(items):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="not today"))
"""


@pytest.fixture(scope="module")
def double() -> Iterator[Double]:
    """A double that is always right."""
    with running_double(answers=CANARY_QUESTIONS) as double:
        yield double


@pytest.fixture
def session_of(double: Double, runs_dir: Path) -> Any:
    """Runs the gate of the suite beside other tests, given as sources."""

    def session_of(*sources: str, gate: bool = True, arguments: tuple[str, ...] = ()) -> Session:
        tests = ["tests/accuracy/test_gsm8k.py"] if gate else ["-p", "fixtures.plugin"]
        for index, source in enumerate(sources):
            file = runs_dir.with_name(f"test_{index}.py")
            file.write_text(textwrap.dedent(source))
            tests.append(str(file))
        where = ("-c", str(ROOT / "pyproject.toml"), "--base-url", double.base_url)
        return run_session(*ATTACHED[2:], *where, *arguments, runs_dir=runs_dir, tests=tuple(tests))

    return session_of


def test_one_gate_that_passes_and_one_that_fails_end_with_10(session_of: Any) -> None:
    session = session_of(FAILING_GATE)
    assert session.exit_code == 10
    assert "2 gates: 1 passed, 1 failed, 0 without a verdict; exit code 10" in session.output
    assert len(session.runs) == 1  # one evaluation serves both


def test_a_failed_test_that_is_no_gate_ends_with_pytests_own_code(session_of: Any) -> None:
    assert session_of(FAILING_TEST).exit_code == 1


def test_a_failed_gate_counts_for_more_than_a_failed_test(session_of: Any) -> None:
    assert session_of(FAILING_TEST, FAILING_GATE, gate=False).exit_code == 10


def test_an_open_gate_counts_for_more_than_a_failed_test(session_of: Any) -> None:
    session = session_of(FAILING_TEST, arguments=("--questions", "8"))
    assert session.exit_code == 11


def test_gates_that_a_first_failure_left_unrun_are_open(session_of: Any) -> None:
    session = session_of(FAILING_TEST, PASSING_GATE, gate=False, arguments=("-x",))
    assert session.exit_code == 11
    assert "1 gate: 0 passed, 0 failed, 1 without a verdict" in session.output


def test_a_gate_that_is_skipped_is_open(double: Double, runs_dir: Path) -> None:
    runs_dir.with_name("not_today.py").write_text(textwrap.dedent(SKIPPING))
    session = run_session(
        *(*ATTACHED, "--base-url", double.base_url, "-p", "not_today"),
        runs_dir=runs_dir,
        environment={"PYTHONPATH": str(runs_dir.parent)},
    )
    assert session.exit_code == 11
    assert f"no verdict: {GATE}" in session.output


def test_tests_without_a_row_in_the_session_are_no_open_gates(
    double: Double, runs_dir: Path
) -> None:
    """Nobody has reference texts of a server given by its URL."""
    session = run_session(*ATTACHED[2:], "--base-url", double.base_url, runs_dir=runs_dir)
    assert session.exit_code == 0
    assert "1 gate: 1 passed" in session.output


def test_a_matrix_without_rows_is_no_pass(runs_dir: Path) -> None:
    matrix = runs_dir.with_name("matrix.toml")
    matrix.write_text("models = {}\nrows = []\n")
    session = run_session("--matrix", str(matrix), runs_dir=runs_dir)
    assert session.exit_code == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_url_without_a_gate_in_the_matrix_is_refused(runs_dir: Path) -> None:
    matrix = runs_dir.with_name("matrix.toml")
    matrix.write_text("models = {}\nrows = []\n")
    url = ("--base-url", "http://127.0.0.1:1", "--matrix", str(matrix))
    session = run_session(*ATTACHED, *url, runs_dir=runs_dir)
    assert session.exit_code == pytest.ExitCode.USAGE_ERROR
    assert f"{matrix}: no [gates.canary], which " in session.output


@pytest.fixture
def no_gpu(tmp_path: Path) -> dict[str, str]:
    """The environment of a session on a machine without GPUs."""
    return {"LLAMA4_ACCURACY_NVML": str(write_gpus(tmp_path / "gpus.json"))}


UNFIT = "maverick-fp8-fa3-h200"


@pytest.mark.parametrize(
    ("tests", "arguments"),
    [
        ((f"tests/accuracy/test_gsm8k.py::test_gsm8k[{UNFIT}]",), ()),
        ((f"tests/accuracy/test_gsm8k.py::test_gsm8k[{UNFIT}]",), ("-n", "1")),
        (("tests/accuracy/test_gsm8k.py",), ("-k", UNFIT)),
        (("tests/accuracy/test_gsm8k.py",), ("-k", "maverick and fp8-fa3 and h200 or fa_off-cpu")),
    ],
)
def test_a_row_asked_for_by_name_that_does_not_fit_is_refused(
    runs_dir: Path, no_gpu: dict[str, str], tests: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    session = run_session(*arguments, runs_dir=runs_dir, tests=tests, environment=no_gpu)
    assert session.exit_code == pytest.ExitCode.USAGE_ERROR
    says = f"{UNFIT}(-long)? needs H200, which is not on this machine \\(found: no GPU\\); nothing"
    assert re.search(says, session.output)


def test_a_row_asked_for_by_name_in_a_worker_has_no_verdict(
    runs_dir: Path, no_gpu: dict[str, str]
) -> None:
    arguments = ("-n", "1", "-k", f"test_gsm8k and {UNFIT} and not long")
    session = run_session(*arguments, runs_dir=runs_dir, environment=no_gpu)
    assert session.exit_code == 11
    assert f"{UNFIT}: needs H200, found: no GPU" in session.output


@pytest.mark.parametrize("arguments", [(), ("-n", "1")])
def test_where_no_row_fits_nothing_was_measured(
    runs_dir: Path, no_gpu: dict[str, str], arguments: tuple[str, ...]
) -> None:
    session = run_session("-m", "gsm8k", *arguments, runs_dir=runs_dir, environment=no_gpu)
    assert session.exit_code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "nothing was measured; left out: " in session.output


def test_workers_bring_the_same_verdict(session_of: Any) -> None:
    session = session_of(FAILING_GATE, arguments=("-n", "2"))
    assert session.exit_code == 10
    assert "2 gates: 1 passed, 1 failed, 0 without a verdict; exit code 10" in session.output
    assert len(session.runs) == 1  # both gates of a row are one worker's


@pytest.mark.parametrize(
    ("mode", "source"),
    [
        *((mode, PASSING_GATE) for mode in ("each", "loadfile", "loadscope", "worksteal")),
        ("loadfile", MEASURING_TEST),
    ],
)
def test_workers_that_may_split_a_row_are_refused_before_anything_is_asked(
    session_of: Any, runs_dir: Path, mode: str, source: str
) -> None:
    session = session_of(source, gate=False, arguments=("-n", "2", "--dist", mode))
    assert session.exit_code == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in session.output.splitlines() if "ERROR" in line]
    assert line == (
        f"ERROR: --dist {mode} may split the tests of one row over workers, and each would start "
        "its server: use -n N alone"
    )
    assert not runs_dir.exists()


def test_tests_of_no_row_may_be_split(session_of: Any) -> None:
    passing = FAILING_TEST.replace("3", "2")
    arguments = ("-n", "2", "--dist", "loadfile")
    assert session_of(passing, gate=False, arguments=arguments).exit_code == 0


@pytest.mark.parametrize("arguments", [("-n", "2", "--dist", "loadgroup"), ("--dist", "no")])
def test_other_modes_keep_a_row_together(session_of: Any, arguments: tuple[str, ...]) -> None:
    session = session_of(FAILING_GATE, arguments=arguments)
    assert session.exit_code == 10
    assert len(session.runs) == 1


@pytest.mark.parametrize(("workers", "restarts"), [("2", "4"), ("2", "0"), ("1", "0")])
def test_a_gate_whose_worker_crashed_is_open(session_of: Any, workers: str, restarts: str) -> None:
    arguments = ("-n", workers, "--max-worker-restart", restarts)
    session = session_of(KILLED_WORKER, gate=False, arguments=arguments)
    assert session.exit_code == 11
    assert "= verdicts =" in session.output
    assert "1 gate: 0 passed, 0 failed, 1 without a verdict; exit code 11" in session.output
    assert re.search("no verdict: .*test_kills_its_worker", session.output)


def test_ctrl_c_leaves_a_run_that_can_be_resumed(runs_dir: Path) -> None:
    with running_double(answers=CANARY_QUESTIONS, delay=0.4) as double:
        url = ("--base-url", double.base_url)
        with start_session(*ATTACHED, *url, runs_dir=runs_dir) as running:
            running.wait_for(lambda: running.answered() >= 100)
            running.interrupt()
            wait_until(lambda: running.process.poll() is not None, 15)
            assert running.process.returncode == INTERRUPTED
            assert running.processes() == []
            assert "KeyboardInterrupt" in running.output()
            (kept,) = re.findall(r": (\d+) of 1319 answers are kept: go on", running.output())
            assert f"go on with --resume={runs_dir}/" in running.output()
        (folder,) = [file.parent for file in runs_dir.glob("*/run.json")]
        first = run_session(*ATTACHED, *url, "--resume", str(folder), runs_dir=runs_dir)
    attempts = first.run.about["attempts"]
    assert attempts[0]["trouble"] == ["interrupted"]
    assert attempts[0]["answered"] == int(kept)
    assert 100 <= attempts[0]["answered"] < QUESTIONS
    assert first.exit_code == 0
    assert first.run.score["right"] == QUESTIONS
    assert attempts[1]["asked"] == QUESTIONS - attempts[0]["answered"]


def test_a_runs_folder_that_cannot_be_made_is_one_line(double: Double, runs_dir: Path) -> None:
    runs_dir.write_text("a file")
    session = run_session(*ATTACHED, "--base-url", double.base_url, runs_dir=runs_dir)
    assert session.exit_code == 11
    assert f"run folder {runs_dir}/" in session.output
    assert "cannot be made: " in session.output


def test_a_full_disk_ends_the_run_and_what_is_written_can_be_resumed(
    double: Double, runs_dir: Path
) -> None:
    url = ("--base-url", double.base_url)
    full = run_session(*ATTACHED, *url, runs_dir=runs_dir, largest_file=100_000)
    assert full.exit_code == 11
    assert "answers.jsonl cannot be written: " in full.output
    resumed = run_session(*ATTACHED, *url, "--resume", str(full.run.folder), runs_dir=runs_dir)
    first, second = resumed.run.about["attempts"]
    assert 100 < first["answered"] < QUESTIONS
    assert second["asked"] == QUESTIONS - first["answered"]
    assert resumed.exit_code == 0
    assert resumed.run.score["right"] == QUESTIONS
