"""What a server's answer may look like, and what is no answer of the model's."""

import json

import pytest

from evals.completions import TryFailed, read_answer, read_reply
from evals.errors import RequestRejected


def _answer(**choice: object) -> dict[str, object]:
    return {"choices": [{"text": "#### 5", "finish_reason": "stop", **choice}]}


@pytest.mark.parametrize("reason", ["stop", "length", None, "eos_token"])
def test_a_completion_that_ended_by_itself_or_by_its_limit_is_an_answer(reason: str | None) -> None:
    assert read_reply("a", _answer(finish_reason=reason), 0.1, 1).finish_reason == reason


@pytest.mark.parametrize("reason", ["abort", "error", "content_filter", 3, {"type": "abort"}])
def test_a_completion_that_the_engine_aborted_is_none(reason: object) -> None:
    with pytest.raises(TryFailed, match="the completion ended by"):
        read_reply("a", _answer(finish_reason=reason), 0.1, 1)


@pytest.mark.parametrize(
    "usage", [None, [1], "x", {}, {"completion_tokens": "7"}, {"completion_tokens": 1e999}]
)
def test_token_counts_that_are_none_are_unknown(usage: object) -> None:
    reply = read_reply("a", {**_answer(), "usage": usage}, 0.1, 1)
    assert reply.completion_tokens is None


def test_a_body_that_nests_too_deep_is_not_json() -> None:
    with pytest.raises(TryFailed, match="not JSON"):
        read_answer(200, b"[" * 200_000, None)


def test_a_redirect_is_a_refusal() -> None:
    with pytest.raises(RequestRejected, match="HTTP 307"):
        read_answer(307, json.dumps({"error": {"message": "elsewhere"}}).encode(), None)
