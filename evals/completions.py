"""One exchange of the OpenAI completions API: what is asked, what comes back, what is repeated."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from evals.errors import RequestRejected

RETRIED_STATUS = {408, 429}  # beside every 5xx
# By which a completion ends that is whole, or that the token limit cut: OpenAI's names and TGI's.
FINISHED = (None, "stop", "length", "eos", "eos_token", "stop_sequence")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask. `base_url` ends before `/v1`."""

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Greedy decoding, with the stop texts of SGLang's GSM8K script."""

    max_tokens: int = 512
    temperature: float = 0.0
    stop: tuple[str, ...] = ("Question", "Assistant:", "<|separator|>")


@dataclass(frozen=True, slots=True)
class Request:
    id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered. `seconds` is the answering try's own time; tokens as it says."""

    id: str
    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    tries: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that got no usable answer: never a wrong answer, nor an invalid one."""

    id: str
    error: str
    seconds: float
    tries: int


class TryFailed(Exception):
    """One try that brought no usable answer and may be repeated; `retry_after` in seconds."""

    def __init__(self, error: str, retry_after: float | None = None) -> None:
        super().__init__(error)
        self.retry_after = retry_after


def request_body(request: Request, model: str, sampling: Sampling) -> bytes:
    """The JSON body of one completion request."""
    body = {
        "model": model,
        "prompt": request.prompt,
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "stop": list(sampling.stop),
    }
    return json.dumps(body).encode()


def read_answer(status: int, content: bytes, retry_after: str | None) -> dict[str, Any]:
    """The decoded body of a successful answer.

    Raises:
        TryFailed: a 5xx, 408 or 429, or a body that is no JSON object.
        RequestRejected: any other status than 200.
    """
    if status >= 500 or status in RETRIED_STATUS:
        raise TryFailed(f"HTTP {status}: {_message(content)}", _seconds(retry_after))
    if status != 200:
        raise RequestRejected(f"the server refused a request, HTTP {status}: {_message(content)}")
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        raise TryFailed(f"HTTP 200, but its body is not JSON: {_message(content)}") from None
    if not isinstance(answer, dict):
        raise TryFailed(f"HTTP 200, but its body is no object: {_message(content)}")
    return answer


def read_reply(id: str, answer: dict[str, Any], seconds: float, tries: int) -> Reply:
    """Raises TryFailed for a body without a completion's text."""
    try:
        choice = answer["choices"][0]
        text = choice["text"]
        if not isinstance(text, str):
            raise TypeError
    except (KeyError, IndexError, TypeError):
        raise TryFailed(
            f"HTTP 200, but without choices[0].text: {_message(json.dumps(answer).encode())}"
        ) from None
    reason = choice.get("finish_reason")
    if reason not in FINISHED:
        # An engine that aborts a request may say so in a 200: that is no answer of the model's.
        raise TryFailed(f"HTTP 200, but the completion ended by {reason!r}")
    usage = answer.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return Reply(
        id,
        text,
        reason,
        _count(tokens.get("prompt_tokens")),
        _count(tokens.get("completion_tokens")),
        seconds,
        tries,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _message(content: bytes) -> str:
    """The server's own words: OpenAI's error message where there is one, else the body's start."""
    text = content[:2000].decode(errors="replace")
    try:
        body = json.loads(content)
        error = body.get("error", body)
        message = error.get("message", text) if isinstance(error, dict) else error
    except (ValueError, AttributeError, RecursionError):
        message = text
    return " ".join(str(message).split())[:300] or "(empty)"


def _seconds(retry_after: str | None) -> float | None:
    try:
        return max(0.0, float(retry_after)) if retry_after is not None else None
    except ValueError:  # an HTTP date: the backoff will do
        return None
