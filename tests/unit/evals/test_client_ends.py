"""The measured loop against the double: what ends it before all is asked, and how soon."""

from __future__ import annotations

import asyncio
import resource
import socket
import time

import pytest

from evals.client import Enough, Limits, ask
from evals.completions import Endpoint, Failure, Reply, Request, Sampling
from evals.errors import (
    RequestRejected,
    RunOutOfTime,
    ServerDied,
    ServerUnreachable,
    UsageError,
)
from tests.unit.evals.conftest import QUICK, DoubleOf, asked


@pytest.mark.parametrize(
    ("options", "endpoint_model", "key", "message"),
    [
        ({"reject_share": 0.01}, "double", None, "HTTP 400: This model's maximum context length"),
        ({"api_key": "secret"}, "double", "other", "HTTP 401: Incorrect API key provided."),
        ({"api_key": "secret"}, "double", None, "HTTP 401: Incorrect API key provided."),
        ({"model": "llama4"}, "maverick", None, "HTTP 404: The model 'maverick' does not exist."),
    ],
)
def test_a_refusal_stops_the_run_with_the_servers_own_words(
    double_of: DoubleOf,
    requests: list[Request],
    options: dict[str, object],
    endpoint_model: str,
    key: str | None,
    message: str,
) -> None:
    with double_of(**options) as (double, endpoint):
        with pytest.raises(RequestRejected) as refused:
            asked(requests, Endpoint(endpoint.base_url, endpoint_model, key))
        assert max(double.stats().tries.values(), default=1) == 1
    assert str(refused.value).startswith(f"the server refused a request, {message}")


def test_the_runs_deadline_ends_it(double_of: DoubleOf, requests: list[Request]) -> None:
    begun = time.monotonic()
    with (
        double_of(delay=30.0) as (_, endpoint),
        pytest.raises(RunOutOfTime, match=r"^the run took longer than its 0.3 s$"),
    ):
        asked(requests, endpoint, Limits(run_timeout=0.3))
    assert time.monotonic() - begun < 5


def test_a_port_where_nobody_listens_ends_the_run_soon(requests: list[Request]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nowhere = Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", "double")
        begun = time.monotonic()
        with pytest.raises(
            ServerUnreachable,
            match=r"^\d+ requests in a row got no answer, the last after 6 tries: ClientConnector",
        ):
            asked(requests, nowhere)
    assert time.monotonic() - begun < 5


def test_a_server_that_fails_every_request_ends_the_run(
    double_of: DoubleOf, requests: list[Request]
) -> None:
    with (
        double_of(fail_share=1.0) as (_, endpoint),
        pytest.raises(ServerUnreachable, match=r"^100 requests in a row got no answer"),
    ):
        asked(requests, endpoint, Limits(parallel=50, first_backoff=0.001, longest_backoff=0.001))


def test_a_servers_death_ends_the_run_at_once_with_its_cause(
    double_of: DoubleOf, requests: list[Request]
) -> None:
    received: list[float] = []
    with double_of(die_after=100, delay=0.02) as (double, endpoint):

        def cause_of_death() -> str | None:
            code = double.process.poll()
            return None if code is None else f"the server ended with code {code}"

        with pytest.raises(ServerDied, match=r"^the server ended with code 1$"):
            asyncio.run(
                ask(
                    requests,
                    endpoint,
                    Sampling(),
                    Limits(parallel=20),
                    lambda outcome: received.append(time.monotonic()),
                    cause_of_death=cause_of_death,
                )
            )
    assert 80 <= len(received) <= 100
    assert time.monotonic() - received[-1] < 1.5


def test_enough_cancels_what_is_in_flight(double_of: DoubleOf, requests: list[Request]) -> None:
    received: list[Reply | Failure] = []

    def receive(outcome: Reply | Failure) -> None:
        received.append(outcome)
        if len(received) == 30:
            raise Enough

    with double_of(delay=0.05) as (double, endpoint):
        asyncio.run(ask(requests, endpoint, Sampling(), QUICK, receive))
        deadline = time.monotonic() + 5
        while double.stats().in_flight and time.monotonic() < deadline:
            time.sleep(0.01)
        stats = double.stats()
    assert len(received) == 30
    assert stats.in_flight == 0
    assert stats.requests <= 30 + 20


def test_what_the_receiver_raises_comes_out(double_of: DoubleOf, requests: list[Request]) -> None:
    def receive(outcome: Reply | Failure) -> None:
        raise KeyError(outcome.id)

    with double_of() as (_, endpoint), pytest.raises(KeyError):
        asyncio.run(ask(requests, endpoint, Sampling(), QUICK, receive))


def test_more_connections_than_the_system_allows_are_refused(
    monkeypatch: pytest.MonkeyPatch, requests: list[Request]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, 4096))
    with pytest.raises(UsageError, match=r"^5000 requests in flight need 5256 open files .* 3840 "):
        asked(requests, Endpoint("http://127.0.0.1:9", "double"), Limits(parallel=5000))
