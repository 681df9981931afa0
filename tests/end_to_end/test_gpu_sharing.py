"""Sessions that share 8 GPUs on paper: never two servers on one, no deadlock, every row runs."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.sglang_double.sessions import Machine, ended
from tests.unit.fixtures.simulated import a_gpu

# Backend → GPUs. SGLang names more backends than an H200 has; the double serves them all.
ROWS = {"fa3": 1, "triton": 4, "default": 8, "aiter": 1, "ascend": 4}
PARTIAL = 11  # a session of a few questions has no verdict


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.gpus(*map(a_gpu, range(8)))
    machine.rows(
        *(f'backend = "{backend}"\ntensor_parallel = {gpus}' for backend, gpus in ROWS.items())
    )
    return machine


def test_two_sessions_of_four_workers_run_rows_of_1_4_and_8(machine: Machine) -> None:
    machine.told["double"] += ["--delay", "0.4"]
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(
                ended(machine.start("-m", "h200", "-n", "4", "--questions", "3", runs=f"runs-{n}"))
            )
            for n in range(2)
        ]
        for session in sessions:
            said, _ = session.communicate(timeout=180)
            assert session.returncode == PARTIAL, said
            assert said.count("a partial run") >= len(ROWS), said
    assert not (machine.served / "clash").exists()
    assert list(machine.served.glob("gpu-*")) == []
    taken = sorted(len(start.split(" ")[1].split(",")) for start in machine.starts)
    assert taken == sorted([*ROWS.values()] * 2)
    assert machine.left() == []


def test_killing_a_session_frees_its_gpus_for_the_one_that_waits(machine: Machine) -> None:
    machine.told["double"] += ["--delay", "2"]
    only = ("-m", "h200", "-k", "default", "--questions", "40", "--parallel", "4")
    with ended(machine.start(*only, runs="runs-0")) as first:
        wait_for(lambda: list(machine.folder.glob("runs-0/*/answers.jsonl")) != [])
        machine.told["double"] = machine.told["double"][:-2]
        with ended(machine.start(*only, runs="runs-1")) as second:
            # Its folder is made before it waits for its turn.
            wait_for(lambda: list(machine.folder.glob("runs-1/*")) != [])
            time.sleep(1.0)
            assert len(machine.starts) == 1
            first.kill()
            said, _ = second.communicate(timeout=60)
    assert second.returncode == PARTIAL
    assert "waits for 8 x H200, of which 0 are free; held: GPU 0, 1, 2, 3, 4, 5, 6, 7 by " in said
    assert len(machine.starts) == 2
    assert not (machine.served / "clash").exists()
    assert machine.left() == []


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
