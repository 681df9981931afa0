"""The measured loop against the double: what becomes of each request, whatever befalls it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from evals.client import Limits
from evals.completions import Endpoint, Failure, Reply, Request
from evals.task import Task
from tests.double import Double, Fate, plan, running_double
from tests.unit.evals.conftest import DoubleOf, asked, row, write_rows


def texts_in(outcomes: dict[str, Reply | Failure]) -> dict[str, str]:
    return {one.id: one.text for one in outcomes.values() if isinstance(one, Reply)}


def failures_in(outcomes: dict[str, Reply | Failure]) -> dict[str, Failure]:
    return {one.id: one for one in outcomes.values() if isinstance(one, Failure)}


def ids_of(fate: Fate, double: Double, task: Task) -> set[str]:
    planned = plan(double.behaviour)
    return {q.id for q in task.questions.test if planned[q.question].fate is fate}


def test_each_question_gets_its_own_answer(
    double_of: DoubleOf, requests: list[Request], small_task: Task
) -> None:
    with double_of(accuracy=0.5, delay=0.01) as (double, endpoint):
        outcomes = asked(requests, endpoint)
        planned = plan(double.behaviour)
        stats = double.stats()
    for question in small_task.questions.test:
        reply = outcomes[question.id]
        assert isinstance(reply, Reply)
        assert reply.text == planned[question.question].text
        assert (reply.finish_reason, reply.tries) == ("stop", 1)
        assert reply.completion_tokens == len(reply.text) // 4 + 1
        assert reply.seconds >= 0.01
    assert stats.requests == len(requests)
    assert stats.max_in_flight == stats.connections == 20


def test_errors_and_drops_cost_tries_and_nothing_else(
    double_of: DoubleOf, requests: list[Request]
) -> None:
    with double_of(accuracy=0.9) as (_, endpoint):
        without = asked(requests, endpoint)
    with double_of(accuracy=0.9, error_rate=0.05, drop_rate=0.05) as (double, endpoint):
        outcomes = asked(requests, endpoint)
        stats = double.stats()
    assert texts_in(outcomes) == texts_in(without)
    assert len(texts_in(outcomes)) == len(requests)
    assert sum(outcome.tries for outcome in outcomes.values()) == stats.requests > len(requests)


def test_what_fails_for_good_fails_after_six_tries_and_is_no_answer(
    double_of: DoubleOf, requests: list[Request], small_task: Task
) -> None:
    with double_of(fail_share=0.01) as (double, endpoint):
        outcomes = asked(requests, endpoint)
        failing = ids_of(Fate.FAIL, double, small_task)
    failures = failures_in(outcomes)
    assert len(failing) == 2
    assert set(failures) == failing
    for failure in failures.values():
        assert failure.error == "HTTP 500: The double fails, as told."
        assert failure.tries == 6
        assert failure.seconds > 0.01 + 0.02 * 0.5


def test_what_hangs_is_asked_once_more_and_ends_by_its_deadline(
    double_of: DoubleOf, requests: list[Request], small_task: Task
) -> None:
    limits = Limits(parallel=20, request_timeout=0.3)
    begun = time.monotonic()
    with double_of(hang_share=0.01) as (double, endpoint):
        outcomes = asked(requests, endpoint, limits)
        hanging = ids_of(Fate.HANG, double, small_task)
    assert time.monotonic() - begun < 5
    failures = failures_in(outcomes)
    assert set(failures) == hanging
    for failure in failures.values():
        assert (failure.error, failure.tries) == ("no answer within 0.3 s", 2)
        assert 0.6 <= failure.seconds < 3


@pytest.mark.parametrize(
    ("fate", "error"),
    [
        (Fate.MALFORMED, 'HTTP 200, but its body is not JSON: {"id": "cmpl-'),
        (Fate.NO_CHOICES, "HTTP 200, but without choices[0].text: "),
        (Fate.HALF_BODY, "ClientPayloadError: Response payload is not completed"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_failure(
    double_of: DoubleOf, requests: list[Request], small_task: Task, fate: Fate, error: str
) -> None:
    with double_of(**{f"{fate}_share": 0.02}) as (double, endpoint):
        outcomes = asked(requests, endpoint)
        spoilt = ids_of(fate, double, small_task)
    failures = failures_in(outcomes)
    assert set(failures) == spoilt
    assert all(failure.error.startswith(error) for failure in failures.values())
    assert all(failure.tries == 6 for failure in failures.values())


def test_the_right_key_is_let_in(double_of: DoubleOf, requests: list[Request]) -> None:
    with double_of(api_key="secret") as (_, endpoint):
        outcomes = asked(requests[:5], Endpoint(endpoint.base_url, "double", "secret"))
    assert all(isinstance(outcome, Reply) for outcome in outcomes.values())


def test_a_retry_after_of_nothing_is_not_waited_for(
    double_of: DoubleOf, requests: list[Request]
) -> None:
    limits = Limits(parallel=50, tries=30, first_backoff=0.02, longest_backoff=60)
    begun = time.monotonic()
    with double_of(rate_limit_rate=0.5, retry_after=0) as (_, endpoint):
        outcomes = asked(requests, endpoint, limits)
    # Of 200 questions some meet 7 refusals in a row: a backoff of their own would take 2 s.
    assert max(outcome.tries for outcome in outcomes.values()) > 5
    assert all(isinstance(outcome, Reply) for outcome in outcomes.values())
    assert time.monotonic() - begun < 5


def test_no_request_comes_back_before_the_server_allows(
    double_of: DoubleOf, requests: list[Request]
) -> None:
    limits = Limits(parallel=1, tries=2, first_backoff=0.01, longest_backoff=0.01)
    with double_of(rate_limit_rate=1.0, retry_after=1) as (_, endpoint):
        outcomes = asked(requests[:1], endpoint, limits)
    (failure,) = outcomes.values()
    assert isinstance(failure, Failure)
    assert failure.error == "HTTP 429: Too many requests."
    assert failure.tries == 2
    assert failure.seconds >= 1.0


def test_all_1319_are_in_flight_where_that_is_asked_for(tmp_path: Path) -> None:
    rows = [row(number) for number in range(1319)]
    write_rows(tmp_path / "test.jsonl", rows)
    requests = [
        Request(f"q{number}", f"Question: {row['question']}\nAnswer:")
        for number, row in enumerate(rows)
    ]
    with running_double(answers=tmp_path, delay=1.2) as double:
        endpoint = Endpoint(double.base_url, "double")
        outcomes = asked(requests, endpoint, Limits(parallel=1319))
        stats = double.stats()
    assert stats.max_in_flight == 1319
    assert stats.requests == len(outcomes) == 1319
    assert all(isinstance(outcome, Reply) for outcome in outcomes.values())
