"""The double's HTTP: whole requests out of any pieces, and nothing but requests."""

from __future__ import annotations

import pytest

from tests.double.http11 import BadRequest, parse

POST = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"


def test_a_request_is_found_only_once_it_is_whole() -> None:
    for size in range(len(POST)):
        assert parse(POST[:size]) is None
    found = parse(POST + b"GET /next")
    assert found is not None
    request, rest = found
    assert (request.method, request.path, request.body) == ("POST", "/v1/completions", b"body")
    assert rest == b"GET /next"


@pytest.mark.parametrize(
    ("version", "connection", "kept"),
    [("1.1", "", True), ("1.1", "Close", False), ("1.0", "", False), ("1.0", "Keep-Alive", True)],
)
def test_the_connection_is_kept_as_version_and_header_say(
    version: str, connection: str, kept: bool
) -> None:
    found = parse(f"GET / HTTP/{version}\r\nConnection: {connection}\r\n\r\n".encode())
    assert found is not None
    assert found[0].keep_alive is kept


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"x" * 70000,
    ],
)
def test_bytes_that_are_no_such_request_are_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        parse(data)
