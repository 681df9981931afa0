"""Servers of the matrix under real llama.cpp: proved to be what was asked for, prompt to end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from evals.errors import ServerNotStarted
from fixtures.engines import attached
from fixtures.engines.llama_cpp import LlamaCpp
from fixtures.hardware.leases import lease
from fixtures.matrix.file import Row, load_matrix
from fixtures.servers.server import Server, attach_server, start_server

pytest.importorskip("xllamacpp")
HERE = Path(__file__).parent
ROWS = [row for row in load_matrix().rows if row.engine == "llama_cpp"]
REFERENCE = "canary-stock-fa_off-cpu"


@pytest.fixture(autouse=True)
def own_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These servers are not measured: they need not wait for those that are."""
    monkeypatch.setenv("LLAMA4_ACCURACY_LEASES", str(tmp_path / "leases"))


@pytest.fixture
def reference() -> Row:
    return load_matrix().row(REFERENCE)


@pytest.fixture
def running(reference: Row, tmp_path: Path) -> Iterator[Server]:
    with start_server(reference, folder=tmp_path, say=print) as server:
        yield server


def complete(base_url: str, key: str | None, prompt: str, max_tokens: int) -> str:
    body = {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(
        f"{base_url}/v1/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return str(json.load(reply)["choices"][0]["text"])


def lives(process: psutil.Process) -> bool:
    """Not so a zombie that the system's first process has not reaped yet."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def keep_busy(base_url: str, key: str | None) -> None:
    """Twenty long requests in flight, which nobody reads."""

    def ask() -> None:
        with contextlib.suppress(OSError, ValueError):
            complete(base_url, key, "Question: How many", 1400)

    for _ in range(20):
        threading.Thread(target=ask, daemon=True).start()
    time.sleep(0.3)


@pytest.mark.parametrize("asked", ROWS, ids=lambda row: row.id)
def test_each_backend_proves_its_attention_and_cache(asked: Row, tmp_path: Path) -> None:
    flash, cache = {
        "fa_off": ("disabled", "f32"),
        "fa_on": ("enabled", "f16"),
        "fa_q8": ("enabled", "q8_0"),
    }[asked.backend]
    with start_server(asked, folder=tmp_path, say=print) as server:
        assert server.facts["flash_attention"] == flash
        assert (server.facts["cache_type_k"], server.facts["cache_type_v"]) == (cache, cache)
        assert server.facts["slots"] == server.facts["total_slots"] == 16
        assert server.cause_of_death() is None
        assert server.started_seconds < 30
    assert server.pid is not None
    assert not psutil.pid_exists(server.pid)


def test_a_server_that_runs_another_kernel_than_asked_for_is_no_server(
    reference: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = LlamaCpp.command

    def command(
        self: LlamaCpp, row: Row, weights: Path, port: int, key_file: Path | None = None
    ) -> list[str]:
        return ["on" if part == "off" else part for part in honest(self, row, weights, port)]

    monkeypatch.setattr(LlamaCpp, "command", command)
    with pytest.raises(ServerNotStarted) as caught:
        start_server(reference, folder=tmp_path, say=print).__enter__()
    assert "flash_attention: asked for disabled, the server runs enabled" in str(caught.value)


def test_broken_weights_are_named_by_the_servers_own_words(reference: Row, tmp_path: Path) -> None:
    weights = tmp_path / "broken.gguf"
    weights.write_bytes(b"GGUF and no more")
    model = reference.model.model_copy(update={"path": weights})
    broken = reference.model_copy(update={"model": model})
    started = time.monotonic()
    with pytest.raises(ServerNotStarted, match=r"ended with exit status 1 .*: gguf_init_from"):
        start_server(broken, folder=tmp_path, say=print).__enter__()
    assert time.monotonic() - started < 15


def test_the_key_is_wanted_by_the_server_and_seen_by_nobody(running: Server) -> None:
    key = running.endpoint.api_key
    assert key
    assert complete(running.endpoint.base_url, key, "Question:", 1)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        complete(running.endpoint.base_url, "another", "Question:", 1)
    assert running.log is not None
    seen = [*psutil.Process(running.pid).cmdline(), running.log.read_text(), *running.command]
    assert not any(key in text for text in seen)
    assert key not in json.dumps([running.facts, running.environment])


def test_requests_leave_nothing_in_the_log(running: Server) -> None:
    assert running.log is not None
    complete(running.endpoint.base_url, running.endpoint.api_key, "Question:", 1)
    time.sleep(0.2)  # llama.cpp writes its log from a thread
    before = running.log.stat().st_size
    for number in range(5):
        complete(running.endpoint.base_url, running.endpoint.api_key, f"{number} boxes", 2)
    assert before < 20_000
    assert running.log.stat().st_size == before


def test_a_busy_server_ends_at_once(reference: Row, tmp_path: Path) -> None:
    with start_server(reference, folder=tmp_path, say=print) as server:
        keep_busy(server.endpoint.base_url, server.endpoint.api_key)
        started = time.monotonic()
    assert time.monotonic() - started < 3


def test_the_cause_of_death_is_known_at_once_and_quotes_the_log(running: Server) -> None:
    assert running.pid is not None
    os.kill(running.pid, signal.SIGKILL)
    deadline = time.monotonic() + 1
    while running.cause_of_death() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    cause = running.cause_of_death()
    assert cause is not None
    assert cause.startswith("the server was killed by SIGKILL: ")
    assert cause.endswith(f"(log: {running.log})")


def test_kill_9_of_the_owner_of_a_busy_server_leaves_nothing_and_frees_the_cpu(
    tmp_path: Path,
) -> None:
    repository = str(HERE.parent.parent)
    driver = subprocess.Popen(
        [
            *(sys.executable, str(HERE / "llama_cpp_driver.py")),
            *(str(Path(repository) / "fixtures" / "matrix.toml"), REFERENCE, str(tmp_path)),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": repository},
    )
    with driver:
        assert driver.stdout is not None
        base_url, key = driver.stdout.readline().split()
        family = psutil.Process(driver.pid).children(recursive=True)
        assert len(family) == 2  # supervisor and server
        keep_busy(base_url, key)
        driver.kill()
    started = time.monotonic()
    with lease(["cpu"], holder="next", say=print):
        assert time.monotonic() - started < 5
        assert [process for process in family if lives(process)] == []


def test_a_running_server_is_attached_by_its_url_and_left_running(
    running: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", running.endpoint.api_key or "")
    row = attached.attached_row("my/Llama 4", questions="canary", generation="h200", gate=None)
    assert row.id == "my-Llama-4-attached-h200"
    base_url = f"{running.endpoint.base_url}/v1/"
    with attach_server(row, base_url=base_url, say=print) as other:
        assert other.endpoint.base_url == running.endpoint.base_url
        assert other.endpoint.model.endswith(".gguf")
        assert other.cause_of_death() is None
        assert set(other.facts) == {"v1/models", "props"}
        assert complete(other.endpoint.base_url, other.endpoint.api_key, "Question:", 1)
    assert running.cause_of_death() is None


def test_attaching_to_nothing_says_what_was_asked() -> None:
    row = attached.attached_row("model", questions="gsm8k", generation="h200", gate=None)
    with pytest.raises(ServerNotStarted, match=r"no server answers at http://127\.0\.0\.1:1 "):
        attach_server(row, base_url="http://127.0.0.1:1", say=print).__enter__()
