"""Parity gates as users meet them: whole sessions, GPUs on paper, SGLang as a double."""

import html
import json
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.sessions import CANARY_QUESTIONS, runs_in, wait_until
from tests.sglang_double.sessions import Machine, ended
from tests.unit.fixtures.simulated import a_gpu

TRITON = 'backend = "triton"'
PAIR = "tiny-triton-vs-fa3-h200"
TEST_FILE = CANARY_QUESTIONS / "test.jsonl"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Two H200; fa3, the reference, is right on 0.96 of its questions, triton on 0.94 of them."""
    machine = Machine(tmp_path)
    machine.gpus(a_gpu(0), a_gpu(1))
    machine.rows("", TRITON)
    machine.told["besides"] = {"triton": ["--accuracy", "0.94"]}
    return machine


def pair_of(machine: Machine) -> dict[str, Any]:
    (file,) = machine.folder.glob("runs/*/parity-fa3.json")
    content: dict[str, Any] = json.loads(file.read_text())
    return content


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_backend_that_passes_its_own_gate_and_answers_worse_fails(
    machine: Machine, workers: tuple[str, ...]
) -> None:
    code, said = machine.run("-m", "h200", *workers)
    assert code == 10, said
    assert "3 gates: 2 passed, 1 failed, 0 without a verdict; exit code 10" in said
    assert "tiny-triton-h200 against tiny-fa3-h200: WORSE" in said
    assert f"\n{PAIR}  WORSE " in said
    pair = pair_of(machine)
    assert (pair["cells"]["lost"], pair["cells"]["gained"]) == (26, 0)
    assert len(machine.starts) == 2
    (page,) = machine.folder.glob("runs/*-report.html")
    assert PAIR in page.read_text()
    answers = [answer for run in runs_in(machine.folder / "runs") for answer in run.answers]
    wrong = next(answer for answer in answers if not answer["right"])
    asked = [json.loads(line)["question"] for line in TEST_FILE.read_text().splitlines()]
    assert html.escape(asked[int(wrong["id"].removeprefix("test-"))]) in page.read_text()


def test_a_backend_with_the_references_answers_passes(machine: Machine) -> None:
    machine.told["besides"] = {}
    code, said = machine.run("-m", "h200")
    assert code == 0, said
    assert f"\n{PAIR}  NO WORSE " in said


@pytest.mark.parametrize(("besides", "code", "told"), [({}, 11, "NO WORSE"), (None, 10, "WORSE")])
def test_parity_judges_what_was_asked_with_other_shots_and_the_rows_gates_do_not(
    machine: Machine, besides: dict[str, Any] | None, code: int, told: str
) -> None:
    machine.told["besides"] = machine.told["besides"] if besides is None else besides
    ended_with, said = machine.run("-m", "h200", "--shots", "4")
    assert ended_with == code, said
    assert f"\n{PAIR}  {told} " in said
    assert "2 without a verdict" in said


def test_repeats_are_judged_together(machine: Machine) -> None:
    code, said = machine.run("-m", "h200", "--repeats", "2")
    assert code == 10, said
    assert [run["role"] for run in pair_of(machine)["runs"]] == ["baseline"] * 2 + ["candidate"] * 2
    assert "2 runs, 2532 of 2638 right" in said
    assert "tiny-fa3-h200: accuracy of each of 2 runs: 0.9598, 0.9598; standard deviation 0" in said
    assert "of the questions flip, 0 in all" in said
    assert len(machine.starts) == 2


def test_the_parity_of_a_row_selected_alone_is_left_out_with_a_line(machine: Machine) -> None:
    code, said = machine.run("-m", "h200", "-k", "triton")
    assert code == 0, said
    assert "left out: 1 parity gate whose rows are not both selected" in said
    assert len(machine.starts) == 1


def test_parity_asked_for_by_name_measures_both_rows(machine: Machine) -> None:
    code, said = machine.run("-m", "h200", "-k", "parity")
    assert code == 10, said
    assert "1 gate: 0 passed, 1 failed, 0 without a verdict" in said
    assert len(machine.starts) == 2


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_server_that_does_not_start_leaves_its_parity_without_a_verdict(
    machine: Machine, workers: tuple[str, ...]
) -> None:
    machine.told["refuses"] = {"fa3": "ValueError: no"}
    code, said = machine.run("-m", "h200", *workers)
    assert code == 11, said
    assert "tiny-fa3-h200 was not measured: there is nothing to compare" in said
    assert "3 gates: 1 passed, 0 failed, 2 without a verdict; exit code 11" in said


CLOSE = {"fa3": ["--accuracy", "0.955"], "triton": ["--seed", "1", "--accuracy", "0.95"]}


def test_what_one_run_cannot_tell_passes_and_auto_makes_more_on_the_one_gpu_there_is(
    machine: Machine,
) -> None:
    machine.gpus(a_gpu(0))
    machine.told["besides"] = CLOSE
    code, said = machine.run("-m", "h200")
    assert code == 0, said
    assert f"NOTICE: {PAIR}: cannot tell whether it is worse" in said
    assert len(machine.starts) == 2
    machine.folder.joinpath("runs").rename(machine.folder / "earlier")
    code, said = machine.run("-m", "h200", "--repeats", "auto")
    assert code == 0, said
    assert "3 gates: 3 passed" in said
    roles = [run["role"] for run in pair_of(machine)["runs"]]
    assert roles.count("baseline") == roles.count("candidate") == 3
    assert len(machine.starts) == 6
    assert not (machine.served / "clash").exists()


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_parity_comes_last_also_where_what_failed_comes_first(
    machine: Machine, workers: tuple[str, ...]
) -> None:
    assert machine.run("-m", "h200", cache=True)[0] == 10
    machine.folder.joinpath("runs").rename(machine.folder / "earlier")
    code, said = machine.run("-m", "h200", "--ff", *workers, cache=True)
    assert code == 10, said
    machine.folder.joinpath("runs").rename(machine.folder / "again")
    code, said = machine.run("-m", "h200", "--lf", *workers, cache=True)
    assert code == 10, said
    assert "1 gate: 0 passed, 1 failed" in said


def test_parity_measures_rows_of_which_only_the_drift_is_selected(machine: Machine) -> None:
    machine.rows("drift = { questions = 20 }", TRITON + "\ndrift = { questions = 20 }")
    code, said = machine.run("-m", "h200 and (drift or parity)")
    assert code == 10, said
    assert f"\n{PAIR}  WORSE " in said


def test_a_gate_that_is_not_selected_does_not_end_what_parity_measures(machine: Machine) -> None:
    machine.told["besides"] = {"fa3": ["--accuracy", "0.9"], "triton": ["--accuracy", "0.8"]}
    code, said = machine.run("-m", "h200", "-k", "parity")
    assert code == 10, said
    assert pair_of(machine)["cells"]["lost"] == 132
    assert "--resume" not in said


def test_workers_that_share_one_gpu_do_not_wait_for_each_other(machine: Machine) -> None:
    machine.gpus(a_gpu(0))
    code, said = machine.run("-m", "h200", "-n", "2")
    assert code == 10, said
    assert f"\n{PAIR}  WORSE " in said
    assert not (machine.served / "clash").exists()


def test_a_parity_gate_named_by_its_id_is_never_left_out_in_silence(machine: Machine) -> None:
    machine.rows("", TRITON, 'generation = "b200"\n' + TRITON, 'generation = "b200"')
    place = "tests/accuracy/test_parity.py::test_backend_parity"
    code, said = machine.run(f"{place}[tiny-fa3-vs-triton-b200]", tests=())
    assert code == 4, said
    assert "needs B200, which is not on this machine" in said
    code, said = machine.run("-k", "triton-vs-fa3")
    assert code == 10, said


def test_a_worker_that_is_killed_leaves_nobody_waiting(machine: Machine) -> None:
    machine.told["besides"] = {"fa3": ["--delay", "0.3"]}
    with ended(machine.start("-m", "h200", "-n", "2", "-v")) as session:
        wait_until(lambda: len(machine.starts) == 2, 60)
        wait_until(lambda: worker_of(machine, session.pid, "fa3") is not None, 60)
        worker = worker_of(machine, session.pid, "fa3")
        assert worker is not None
        worker.kill()
        said, _ = session.communicate(timeout=100)
    assert "crashed while running" in said, said
    assert session.returncode == 11, said
    assert "no verdict: tests/accuracy/test_gsm8k.py::test_gsm8k[tiny-fa3-h200]" in said
    assert f"\n{PAIR}  " in said  # the row was measured anew by the worker that came instead


def worker_of(machine: Machine, pid: int, backend: str) -> psutil.Process | None:
    """The xdist worker of that session which serves that backend."""
    for worker in psutil.Process(pid).children():
        for process in worker.children(recursive=True):
            try:
                words = process.cmdline()
            except psutil.Error:
                continue
            if "--attention-backend" in words and backend in words:
                return worker
    return None
