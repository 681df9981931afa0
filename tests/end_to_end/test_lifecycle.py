"""A server's life, with real processes: whatever happens, it is named and nothing is left."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from evals.errors import ServerNotStarted
from fixtures.hardware.leases import lease
from fixtures.hardware.ports import free_port
from fixtures.servers.process import ServerProcess

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
MARK = "TEST_LIFECYCLE_MARK"  # in the environment of everything that a test starts


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Marks whatever the test starts, and proves at its end that nothing of that lives."""
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    yield value
    left = survivors(value)
    for process in left:
        process.kill()
    assert left == []


@pytest.fixture
def serve(tmp_path: Path, mark: str) -> Callable[..., ServerProcess]:
    """A small server with manners, not yet started."""

    def serve(*manners: str, port: int | None = None) -> ServerProcess:
        port = port or free_port()
        command = [sys.executable, str(HERE / "small_server.py"), str(port), *manners]
        log = tmp_path / "server.log"
        return ServerProcess(command, name="row", port=port, log=log, grace=0.5)

    return serve


@pytest.fixture
def drive(
    tmp_path: Path, mark: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Another process that has a server; returns once it has said `until`."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("LLAMA4_ACCURACY_LEASES", str(tmp_path / "leases"))
    drivers = []

    def drive(*manners: str, until: str) -> "subprocess.Popen[str]":
        command = [sys.executable, str(HERE / "driver.py"), str(tmp_path), str(free_port()), "cpu"]
        driver = subprocess.Popen(
            [*command, *manners], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        drivers.append(driver)
        assert driver.stdout is not None
        assert driver.stdout.readline() == "waiting\n"
        if until == "ready":
            assert driver.stdout.readline() == "ready\n"
        return driver

    yield drive
    for driver in drivers:
        driver.kill()
        driver.communicate()


def survivors(mark: str) -> list[psutil.Process]:
    def is_marked(process: psutil.Process) -> bool:
        try:
            return process.environ().get(MARK) == mark
        except (psutil.Error, OSError):
            return False

    mine = os.getpid()
    return [p for p in psutil.process_iter() if p.pid != mine and is_marked(p)]


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)


def make_ready(server: ServerProcess, timeout: float = 20.0) -> float:
    return server.wait_until_ready(lambda: True, timeout, str.splitlines)


def test_a_server_becomes_ready_and_is_gone_afterwards(
    serve: Callable[..., ServerProcess], mark: str
) -> None:
    with serve() as server:
        make_ready(server)
        assert server.pid is not None
        assert psutil.pid_exists(server.pid)
        assert server.cause_of_death() is None
    assert survivors(mark) == []
    assert server.cause_of_death() == "the server was stopped"


def test_an_exception_leaves_no_server(serve: Callable[..., ServerProcess], mark: str) -> None:
    def fail_while_it_serves() -> None:
        with serve() as server:
            make_ready(server)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_while_it_serves()
    assert survivors(mark) == []


def test_a_server_that_ignores_sigterm_is_killed_after_its_grace(
    serve: Callable[..., ServerProcess], mark: str
) -> None:
    with serve("ignore-sigterm") as server:
        make_ready(server)
        started = time.monotonic()
    assert 0.5 <= time.monotonic() - started < 3
    assert survivors(mark) == []


def test_strays_that_left_session_and_parent_are_ended_with_the_server(
    serve: Callable[..., ServerProcess], mark: str
) -> None:
    with serve("stray") as server:
        make_ready(server)
        assert "stray" in server.log_text()
        assert len(survivors(mark)) == 3  # supervisor, server, stray
    assert survivors(mark) == []


def test_strays_do_not_outlive_a_server_that_dies(
    serve: Callable[..., ServerProcess], mark: str
) -> None:
    with serve("stray", "die=0.5") as server:
        make_ready(server)
        wait_for(lambda: server.cause_of_death() is not None)
        wait_for(lambda: survivors(mark) == [])


def test_an_early_death_is_noticed_at_once_with_the_telling_lines(
    serve: Callable[..., ServerProcess],
) -> None:
    def telling(log: str) -> list[str]:
        return [line for line in log.splitlines() if " E " in line]

    started = time.monotonic()
    with pytest.raises(ServerNotStarted) as caught, serve("fail") as server:
        server.wait_until_ready(lambda: True, 60, telling)
    assert time.monotonic() - started < 10
    message = str(caught.value)
    assert "row: the server ended with exit status 1" in message
    assert "no such tensor: blk.0" in message
    assert f"(log: {server.log})" in message
    assert "\n" not in message


def test_a_port_where_something_answers_is_refused_before_a_start(
    serve: Callable[..., ServerProcess], mark: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerNotStarted, match=rf"port {port} of 127.0.0.1 is taken"):
            serve(port=port).__enter__()
    assert survivors(mark) == []


def test_a_stale_server_on_the_port_does_not_count_as_ready(
    serve: Callable[..., ServerProcess],
) -> None:
    with (
        serve("no-listen") as server,
        socket.create_server(("127.0.0.1", server.port)),
        pytest.raises(ServerNotStarted) as caught,
    ):
        make_ready(server)
    assert f"(pid {os.getpid()}) listens on port {server.port}" in str(caught.value)


def test_a_server_that_never_listens_ends_at_the_deadline(
    serve: Callable[..., ServerProcess],
) -> None:
    with (
        serve("no-listen") as server,
        pytest.raises(ServerNotStarted, match=r"not ready within 0\.5 s"),
    ):
        make_ready(server, 0.5)


def test_a_command_that_does_not_exist_is_named(tmp_path: Path, mark: str) -> None:
    server = ServerProcess(
        ["/no/such/server"], name="row", port=free_port(), log=tmp_path / "server.log"
    )
    with pytest.raises(ServerNotStarted, match="/no/such/server: No such file"), server:
        make_ready(server)


def test_a_killed_server_is_named_within_a_quarter_second(
    serve: Callable[..., ServerProcess],
) -> None:
    with serve() as server:
        make_ready(server)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        wait_for(lambda: server.cause_of_death() is not None, 0.25)
        assert server.cause_of_death() == "the server was killed by SIGKILL"
    assert server.cause_of_death() == "the server was killed by SIGKILL"


def test_nothing_is_left_when_the_supervisor_itself_is_killed(
    serve: Callable[..., ServerProcess], mark: str
) -> None:
    with serve("stray") as server:
        make_ready(server)
        supervisor = psutil.Process(server.pid).parent()
        assert supervisor is not None
        supervisor.kill()
        wait_for(lambda: server.cause_of_death() is not None)
        assert server.cause_of_death() == "the server's supervisor was killed by SIGKILL"
    assert survivors(mark) == []


@pytest.mark.parametrize("until", ["waiting", "ready"])
def test_kill_9_of_the_owner_leaves_nothing(
    drive: Callable[..., "subprocess.Popen[str]"], mark: str, until: str
) -> None:
    driver = drive("stray", "ignore-sigterm", until=until)
    driver.kill()
    wait_for(lambda: survivors(mark) == [])


def test_kill_9_of_the_owner_keeps_the_lease_until_the_server_is_gone(
    drive: Callable[..., "subprocess.Popen[str]"], mark: str
) -> None:
    driver = drive("ignore-sigterm", until="ready")  # its grace is 1 s
    driver.kill()
    driver.wait()
    said: list[str] = []
    assert survivors(mark) != []
    with lease(["cpu"], holder="row", say=said.append):
        # The supervisor that held it may take a moment to end, having seen its server gone.
        wait_for(lambda: survivors(mark) == [], 0.5)
    assert len(said) == 1
    assert "row waits for cpu, held by the server of driver on" in said[0]
    assert "which is being ended" in said[0]


@pytest.mark.parametrize("until", ["waiting", "ready"])
def test_ctrl_c_leaves_nothing_during_start_and_after(
    drive: Callable[..., "subprocess.Popen[str]"], mark: str, until: str
) -> None:
    driver = drive("stray", *(["no-listen"] if until == "waiting" else []), until=until)
    os.killpg(driver.pid, signal.SIGINT)
    out, _ = driver.communicate(timeout=10)
    assert out.endswith("interrupted\n")
    assert survivors(mark) == []


def test_ctrl_c_at_any_moment_of_the_start_leaves_nothing(
    drive: Callable[..., "subprocess.Popen[str]"], mark: str
) -> None:
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
        driver = drive("no-listen", until="waiting")
        time.sleep(delay)
        driver.send_signal(signal.SIGINT)
        driver.communicate(timeout=10)
        assert survivors(mark) == []
