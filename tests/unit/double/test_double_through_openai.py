"""The official SDK reads the double's answers and raises its own error for each fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.double import running_double


@contextmanager
def sdk(timeout: float = 5.0, api_key: str = "k", **options: Any) -> Iterator[openai.OpenAI]:
    with (
        running_double(**options) as double,
        openai.OpenAI(
            base_url=double.base_url + "/v1", api_key=api_key, max_retries=0, timeout=timeout
        ) as client,
    ):
        yield client


def ask(client: openai.OpenAI) -> openai.types.Completion:
    prompt = "Question: What is 2 times 4?\nAnswer:"
    return client.completions.create(model="m", prompt=prompt, max_tokens=8, temperature=0)


def test_text_finish_reason_and_usage_are_read(few_answers: Path) -> None:
    with sdk(answers=few_answers) as client:
        reply = ask(client)
        assert [model.id for model in client.models.list()] == ["double"]
    assert reply.choices[0].text.endswith("\n#### 8")
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == 10
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens


def test_a_truncated_answer_says_length_and_max_tokens(few_answers: Path) -> None:
    with sdk(answers=few_answers, truncated_share=1.0) as client:
        reply = ask(client)
    assert (reply.choices[0].finish_reason, "####" in reply.choices[0].text) == ("length", False)
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 8


def test_empty_texts_and_missing_choices_are_read(few_answers: Path) -> None:
    with sdk(answers=few_answers, empty_share=1.0) as client:
        assert ask(client).choices[0].text == ""
    with sdk(answers=few_answers, no_choices_share=1.0) as client:
        assert ask(client).choices == []


@pytest.mark.parametrize(
    ("options", "raised"),
    [
        ({"error_rate": 1.0}, openai.InternalServerError),
        ({"fail_share": 1.0}, openai.InternalServerError),
        ({"drop_rate": 1.0}, openai.APIConnectionError),
        ({"half_body_share": 1.0}, openai.APIConnectionError),
        ({"rate_limit_rate": 1.0}, openai.RateLimitError),
        ({"reject": True}, openai.BadRequestError),
        ({"reject_share": 1.0}, openai.BadRequestError),
        ({"hang_share": 1.0, "timeout": 0.3}, openai.APITimeoutError),
        ({"model": "another"}, openai.NotFoundError),
    ],
)
def test_each_fault_raises_the_error_of_its_kind(
    few_answers: Path, options: dict[str, Any], raised: type[Exception]
) -> None:
    with sdk(answers=few_answers, **options) as client, pytest.raises(raised):
        ask(client)


def test_the_key_is_asked_for(few_answers: Path) -> None:
    with running_double(answers=few_answers, api_key="right") as double:
        url = double.base_url + "/v1"
        with openai.OpenAI(base_url=url, api_key="right", max_retries=0) as client:
            ask(client)
        with (
            openai.OpenAI(base_url=url, api_key="wrong", max_retries=0) as client,
            pytest.raises(openai.AuthenticationError),
        ):
            ask(client)


def test_a_refusal_carries_openai_s_error_body(few_answers: Path) -> None:
    with (
        sdk(answers=few_answers, rate_limit_rate=1.0, retry_after=2) as client,
        pytest.raises(openai.RateLimitError) as caught,
    ):
        ask(client)
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.body == {
        "message": "Too many requests.",
        "type": "invalid_request_error",
        "param": None,
        "code": "rate_limit_exceeded",
    }
    assert caught.value.response.headers["retry-after"] == "2"
