"""The double as a process, seen through raw sockets and http.client."""

from __future__ import annotations

import asyncio
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.double import Double, running_double

ROWS = 40


def prompt(i: int) -> str:
    return f"Question: Shot?\nAnswer: 1\n#### 1\n\nQuestion: What is 2 times {i}?\nAnswer:"


def message(i: int) -> bytes:
    body = json.dumps({"model": "m", "prompt": prompt(i), "max_tokens": 8}).encode()
    return b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def port(double: Double) -> int:
    return int(double.base_url.rpartition(":")[2])


def ask(double: Double, i: int) -> tuple[int, Any]:
    """Status and body of one question, or -1 and the exception's name if there was no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port(double), timeout=5)
    try:
        body = json.dumps({"model": "m", "prompt": prompt(i), "max_tokens": 8})
        connection.request("POST", "/v1/completions", body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
        return -1, type(error).__name__
    finally:
        connection.close()


def get(double: Double, path: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port(double), timeout=5)
    connection.request("GET", path)
    response = connection.getresponse()
    status, body = response.status, json.loads(response.read())
    connection.close()
    return status, body


async def answered_texts(double: Double, pieces: list[bytes], count: int) -> list[str]:
    """Send the pieces one by one over one connection; the texts of the first `count` answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port(double))
    texts = []
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)  # each piece a segment of its own
        for _ in range(count):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            texts.append(body["choices"][0]["text"].rpartition("#### ")[2])
    finally:
        writer.close()
        await writer.wait_closed()
    return texts


def test_fragmented_and_pipelined_requests_are_answered_in_order(few_answers: Path) -> None:
    with running_double(answers=few_answers, delay=0.005) as double:
        together = b"".join(message(i) for i in range(10))
        pieces = [together[at : at + 37] for at in range(0, len(together), 37)]
        assert asyncio.run(answered_texts(double, pieces, 10)) == [str(2 * i) for i in range(10)]
        assert asyncio.run(answered_texts(double, [together], 10)) == [
            str(2 * i) for i in range(10)
        ]
        stats = double.stats()
        assert (stats.answered, stats.max_in_flight, stats.connections) == (20, 1, 2)


def test_two_runs_answer_alike_whatever_the_order_and_concurrency(few_answers: Path) -> None:
    told = {
        "answers": few_answers,
        "accuracy": 0.5,
        "error_rate": 0.2,
        "drop_rate": 0.2,
        "rate_limit_rate": 0.1,
        "invalid_share": 0.1,
    }

    def outcomes(order: list[int], workers: int) -> dict[int, list[Any]]:
        def three_tries(i: int) -> list[Any]:
            replies = [ask(double, i) for _ in range(3)]
            return [
                (status, body["choices"][0]["text"] if status == 200 else body)
                for status, body in replies
            ]

        with running_double(**told) as double, ThreadPoolExecutor(workers) as pool:
            return dict(zip(order, pool.map(three_tries, order), strict=True))

    first = outcomes(list(range(ROWS)), 1)
    assert first == outcomes(list(reversed(range(ROWS))), 8)
    statuses = {status for tries in first.values() for status, _ in tries}
    assert statuses == {200, 429, 500, -1}


def test_requests_in_flight_are_counted(few_answers: Path) -> None:
    with running_double(answers=few_answers, delay=0.3) as double:
        with ThreadPoolExecutor(16) as pool:
            assert all(status == 200 for status, _ in pool.map(lambda i: ask(double, i), range(32)))
        stats = double.stats()
        assert (stats.requests, stats.answered, stats.in_flight) == (32, 32, 0)
        assert stats.max_in_flight == 16
        assert stats.tries == {f"What is 2 times {i}?": 1 for i in range(32)}


def test_a_client_that_leaves_is_no_longer_in_flight(few_answers: Path) -> None:
    async def leave(double: Double) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port(double))
        writer.write(message(1))
        await writer.drain()
        while double.stats().in_flight != 1:
            await asyncio.sleep(0.01)
        writer.close()
        await writer.wait_closed()
        while double.stats().in_flight != 0:
            await asyncio.sleep(0.01)

    with running_double(answers=few_answers, hang_share=1.0) as double:
        asyncio.run(asyncio.wait_for(leave(double), 5))


def test_it_dies_after_as_many_answers_as_told(few_answers: Path) -> None:
    with running_double(answers=few_answers, die_after=3) as double:
        assert [ask(double, i)[0] for i in range(5)] == [200, 200, 200, -1, -1]
        assert double.process.wait(5) == 1


def test_it_hangs_after_as_many_answers_as_told(few_answers: Path) -> None:
    async def third(double: Double) -> None:
        await asyncio.wait_for(answered_texts(double, [message(3)], 1), 0.2)

    with running_double(answers=few_answers, hang_after=2) as double:
        assert [ask(double, i)[0] for i in range(2)] == [200, 200]
        with pytest.raises(TimeoutError):
            asyncio.run(third(double))
        assert get(double, "/health")[0] == 200


@pytest.mark.parametrize(
    ("share", "name"),
    [
        ("drop_rate", "ConnectionResetError"),
        ("half_body_share", "IncompleteRead"),
        ("malformed_share", "JSONDecodeError"),
    ],
)
def test_what_is_no_answer_breaks_the_client(few_answers: Path, share: str, name: str) -> None:
    with running_double(**{"answers": few_answers, share: 1.0}) as double:
        assert ask(double, 1) == (-1, name)
        assert double.stats().answered == 0


def test_it_tells_of_itself(few_answers: Path, tmp_path: Path) -> None:
    info = tmp_path / "info.json"
    info.write_text('{"attention_backend": "fa3"}')
    with running_double(answers=few_answers, model="scout", server_info=info) as double:
        assert get(double, "/v1/models")[1]["data"][0]["id"] == "scout"
        assert get(double, "/server_info") == (200, {"attention_backend": "fa3"})
        assert get(double, "/health")[0] == get(double, "/health_generate")[0] == 200
        assert get(double, "/nothing")[0] == 404
        assert double.stats().requests == 0
