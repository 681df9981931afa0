"""The measured loop: many completion requests at once, and what became of each.

aiohttp speaks the OpenAI completions API directly: the SDK costs several times the CPU for each
request, which at hundreds in flight delays the requests themselves (see `benchmarks/`). A test
holds the two side by side, answer by answer and error by error.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp

from evals.completions import (
    Endpoint,
    Failure,
    Reply,
    Request,
    Sampling,
    TryFailed,
    read_answer,
    read_reply,
    request_body,
)
from evals.errors import RunOutOfTime, ServerDied, ServerUnreachable
from evals.garbage import collecting_rarely
from evals.open_files import allow_connections

WATCH_SECONDS = 0.1  # between two looks at whether the server still lives
CONNECT_SECONDS = 10.0
LONGEST_RETRY_AFTER = 60.0  # as the openai SDK: a longer one is not waited out
# Failures in a row, each after its last try and with no answer between them, that end the run: few
# where nobody listens at the port any more, many otherwise, since at the end of a run the requests
# that fail for good are alone with each other.
UNREACHABLE_AFTER = 10
UNUSABLE_AFTER = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """`parallel` requests in flight at most; times in seconds.

    A transport error, a 5xx, 408 or 429 is tried again up to `tries` times in all, with a backoff
    that doubles; a request that got no answer within `request_timeout` is asked once more.
    """

    parallel: int = 50
    request_timeout: float = 300.0
    run_timeout: float = 3600.0
    tries: int = 6
    first_backoff: float = 0.5
    longest_backoff: float = 8.0
    timeout_tries: int = 2


class Enough(Exception):
    """Raised by a receiver to end the loop; requests in flight are cancelled."""


def _nobody_watches() -> str | None:
    return None


async def ask(
    requests: Iterable[Request],
    endpoint: Endpoint,
    sampling: Sampling,
    limits: Limits,
    receive: Callable[[Reply | Failure], None],
    *,
    cause_of_death: Callable[[], str | None] = _nobody_watches,
) -> None:
    """Sends every request and hands each outcome to `receive`, in the order they come.

    Raises:
        RequestRejected: the server answered 4xx (other than 408 and 429).
        ServerDied: `cause_of_death` returned a text.
        ServerUnreachable: `UNREACHABLE_AFTER` requests in a row could not connect, or
            `UNUSABLE_AFTER` failed for whatever cause.
        RunOutOfTime: `limits.run_timeout` passed first.
    What `receive` raises comes out too, except `Enough`, which ends the loop quietly; after either
    it is not called again.
    """
    allow_connections(limits.parallel)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    headers = {"Content-Type": "application/json"}
    if endpoint.api_key is not None:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    # Its own deadline for each request, since an asyncio.timeout besides costs a tenth of the loop.
    timeout = aiohttp.ClientTimeout(total=limits.request_timeout, sock_connect=CONNECT_SECONDS)
    async with aiohttp.ClientSession(
        connector=connector,
        headers=headers,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("Accept", "Accept-Encoding"),
    ) as session:
        loop = _Loop(session, endpoint, sampling, limits, receive, iter(requests))
        try:
            with collecting_rarely():
                async with asyncio.timeout(limits.run_timeout):
                    await loop.run(cause_of_death)
        except TimeoutError:
            raise RunOutOfTime(f"the run took longer than its {limits.run_timeout:g} s") from None
        except ExceptionGroup as group:
            # One cause is told: workers that fail together fail of the same.
            causes = [error for error in group.exceptions if not isinstance(error, Enough)]
            if causes:
                raise causes[0] from None


class _Loop:
    """The state that the workers of one `ask` share."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        endpoint: Endpoint,
        sampling: Sampling,
        limits: Limits,
        receive: Callable[[Reply | Failure], None],
        requests: Iterator[Request],
    ) -> None:
        self.session = session
        self.url = f"{endpoint.base_url.rstrip('/')}/v1/completions"
        self.model, self.sampling = endpoint.model, sampling
        self.key = (endpoint.api_key or "").encode()
        self.limits = limits
        self.receive = receive
        self.requests = requests
        self.failures_in_a_row = self.refused_in_a_row = 0
        self.ended = False

    async def run(self, cause_of_death: Callable[[], str | None]) -> None:
        async with asyncio.TaskGroup() as group:
            watcher = group.create_task(self._watch(cause_of_death))
            workers = [group.create_task(self._work()) for _ in range(self.limits.parallel)]
            await asyncio.wait(workers)
            watcher.cancel()

    async def _watch(self, cause_of_death: Callable[[], str | None]) -> None:
        while True:
            cause = cause_of_death()
            if cause is not None:
                raise ServerDied(cause)
            await asyncio.sleep(WATCH_SECONDS)

    async def _work(self) -> None:
        for request in self.requests:
            outcome = await self._answer(request)
            if self.ended:  # it came together with the one that ended the loop
                return
            try:
                self.receive(outcome)
            except BaseException:
                self.ended = True
                raise
            if isinstance(outcome, Reply):
                self.failures_in_a_row = self.refused_in_a_row = 0
            else:
                self._count(outcome)

    def _count(self, failure: Failure) -> None:
        self.failures_in_a_row += 1
        self.refused_in_a_row += failure.error.startswith(aiohttp.ClientConnectorError.__name__)
        if self.refused_in_a_row >= UNREACHABLE_AFTER or self.failures_in_a_row >= UNUSABLE_AFTER:
            raise ServerUnreachable(
                f"{self.failures_in_a_row} requests in a row got no answer, "
                f"the last after {failure.tries} tries: {failure.error}"
            )

    async def _answer(self, request: Request) -> Reply | Failure:
        body = request_body(request, self.model, self.sampling)
        limits = self.limits
        begun = time.perf_counter()
        backoff = limits.first_backoff
        timeouts = tries = 0
        while True:
            tries += 1
            sent = time.perf_counter()
            # Jitter, lest requests that failed together come back together.
            wait = min(backoff, limits.longest_backoff) * random.uniform(0.5, 1.0)
            try:
                answer = await self._try(body)
                return read_reply(request.id, answer, time.perf_counter() - sent, tries)
            except aiohttp.ClientError as error:  # a connection's timeout among them
                cause = _named(error)
            except TimeoutError:
                timeouts += 1
                cause, wait = f"no answer within {limits.request_timeout:g} s", 0.0
            except OSError as error:
                cause = _named(error)
            except TryFailed as error:
                cause = str(error)
                if error.retry_after is not None:  # not earlier than the server allows
                    spread = random.uniform(0.0, limits.first_backoff)
                    wait = min(error.retry_after, LONGEST_RETRY_AFTER) + spread
            if tries >= limits.tries or timeouts >= limits.timeout_tries:
                return Failure(request.id, cause, time.perf_counter() - begun, tries)
            await asyncio.sleep(wait)
            backoff *= 2

    async def _try(self, body: bytes) -> dict[str, Any]:
        # A redirect is refused: another server would be measured.
        async with self.session.post(self.url, data=body, allow_redirects=False) as response:
            content = await response.read()
            if self.key and response.status != 200:
                content = content.replace(self.key, b"***")  # it may be quoted back
            return read_answer(response.status, content, response.headers.get("Retry-After"))


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
