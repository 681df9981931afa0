"""The measured loop beside the openai SDK: the same answers and the same errors, one by one.

Both ask a double of the same seed, each request once, so that each meets the same fate.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable

import openai
import pytest

from evals.client import Limits, ask
from evals.completions import Endpoint, Failure, Reply, Request, Sampling
from evals.errors import RequestRejected
from tests.unit.evals.conftest import DoubleOf

TIMEOUT = 1.5
# What became of one request: its kind, and what is known of it.
Seen = tuple[str, object]
Ask = Callable[[Request], Awaitable[Seen]]


def by_our_loop(endpoint: Endpoint) -> Ask:
    limits = Limits(parallel=1, tries=1, request_timeout=TIMEOUT)

    async def once(request: Request) -> Seen:
        outcomes: list[Reply | Failure] = []
        try:
            await ask([request], endpoint, Sampling(), limits, outcomes.append)
        except RequestRejected as error:
            return "rejected", str(error).removeprefix("the server refused a request, ")
        (outcome,) = outcomes
        if isinstance(outcome, Reply):
            tokens = (outcome.prompt_tokens, outcome.completion_tokens)
            return "reply", (outcome.text, outcome.finish_reason, tokens)
        return kind_of(outcome.error), outcome.error if outcome.error.startswith("HTTP ") else None

    return once


def kind_of(error: str) -> str:
    """Which of the SDK's errors one of our failures is."""
    if error.startswith("no answer within"):
        return "timeout"
    if error.startswith("HTTP 200, but"):
        return "unreadable"
    return "status" if error.startswith("HTTP ") else "connection"


def by_the_sdk(client: openai.AsyncOpenAI, model: str) -> Ask:
    sampling = Sampling()

    async def once(request: Request) -> Seen:
        try:
            completion = await client.completions.create(
                model=model,
                prompt=request.prompt,
                max_tokens=sampling.max_tokens,
                temperature=sampling.temperature,
                stop=list(sampling.stop),
            )
        except openai.APITimeoutError:  # a connection error too: it goes first
            return "timeout", None
        except openai.APIConnectionError:
            return "connection", None
        except (openai.InternalServerError, openai.RateLimitError) as error:
            return "status", message(error)
        except openai.APIStatusError as error:
            return "rejected", message(error)
        except (openai.APIResponseValidationError, json.JSONDecodeError):
            return "unreadable", None
        if not completion.choices:
            return "unreadable", None
        assert completion.usage is not None
        choice = completion.choices[0]
        tokens = (completion.usage.prompt_tokens, completion.usage.completion_tokens)
        return "reply", (choice.text, choice.finish_reason, tokens)

    return once


def message(error: openai.APIStatusError) -> str:
    assert isinstance(error.body, dict)
    return f"HTTP {error.status_code}: {error.body['message']}"


async def seen(one: Ask, requests: list[Request]) -> dict[str, Seen]:
    few_at_once = asyncio.Semaphore(10)

    async def ask_one(request: Request) -> Seen:
        async with few_at_once:
            return await one(request)

    outcomes = await asyncio.gather(*(ask_one(request) for request in requests))
    return dict(zip((request.id for request in requests), outcomes, strict=True))


async def seen_by_both(
    ours: Endpoint, theirs: Endpoint, requests: list[Request]
) -> tuple[dict[str, Seen], dict[str, Seen]]:
    async with openai.AsyncOpenAI(
        base_url=f"{theirs.base_url}/v1",
        api_key=theirs.api_key or "none",
        max_retries=0,
        timeout=TIMEOUT,
    ) as client:
        by_sdk = await seen(by_the_sdk(client, theirs.model), requests)
    return await seen(by_our_loop(ours), requests), by_sdk


def test_every_outcome_of_a_request_is_the_sdks(
    double_of: DoubleOf, requests: list[Request]
) -> None:
    shares = ("fail", "half_body", "malformed", "no_choices", "empty", "invalid", "truncated")
    troubles = {f"{share}_share": 0.04 for share in shares} | {
        "hang_share": 0.01,
        "reject_share": 0.04,
        "error_rate": 0.1,
        "drop_rate": 0.1,
        "rate_limit_rate": 0.1,
        "seed": 3,
        "accuracy": 0.8,
    }
    with double_of(**troubles) as (_, ours), double_of(**troubles) as (_, theirs):
        by_us, by_sdk = asyncio.run(seen_by_both(ours, theirs, requests[::2]))
    # Ours quotes the body that it could not read; the SDK's error has no words for that.
    plain = {
        key: (kind, None if kind == "unreadable" else said) for key, (kind, said) in by_us.items()
    }
    assert plain == by_sdk
    kinds = Counter(kind for kind, _ in by_us.values())
    assert set(kinds) == {"reply", "timeout", "connection", "status", "rejected", "unreadable"}
    statuses = {str(said)[:8] for kind, said in by_us.values() if kind in ("status", "rejected")}
    assert statuses == {"HTTP 400", "HTTP 429", "HTTP 500"}


@pytest.mark.parametrize(
    ("options", "model", "key"),
    [({"api_key": "right"}, "double", "wrong"), ({"model": "scout"}, "maverick", None)],
)
def test_a_refusal_is_the_sdks(
    double_of: DoubleOf,
    requests: list[Request],
    options: dict[str, object],
    model: str,
    key: str | None,
) -> None:
    with double_of(**options) as (double, _):
        endpoint = Endpoint(double.base_url, model, key)
        by_us, by_sdk = asyncio.run(seen_by_both(endpoint, endpoint, requests[:2]))
    assert by_us == by_sdk
    assert {kind for kind, _ in by_us.values()} == {"rejected"}


def test_nobody_at_the_port_is_a_connection_error_for_both(requests: list[Request]) -> None:
    nowhere = Endpoint("http://127.0.0.1:9", "double")
    by_us, by_sdk = asyncio.run(seen_by_both(nowhere, nowhere, requests[:2]))
    assert by_us == by_sdk == {request.id: ("connection", None) for request in requests[:2]}
