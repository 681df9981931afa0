"""HTTP/1.1 by hand: as much of it as a completions server needs, as cheap as asyncio allows."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from http import HTTPStatus
from typing import NamedTuple, Protocol, cast

_LONGEST_HEAD = 65536


class Request(NamedTuple):
    """One request; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool


class BadRequest(Exception):
    """Bytes that are no HTTP/1.1 request with a Content-Length body."""


class Handler(Protocol):
    """What answers: it calls one method of the connection, at once or later, for each request."""

    def received(self, connection: Connection, request: Request) -> None:
        """A whole request has come; the connection's next one waits until this is answered."""

    def lost(self, connection: Connection) -> None:
        """The connection has ended, by whoever's hand."""


class Connection(asyncio.Protocol):
    """One keep-alive connection: whole requests out of its bytes, one at a time, in order."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._buffer = b""
        self._answering: Request | None = None
        self._reading = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._handler.lost(self)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        self._read()

    def respond(self, status: int, body: bytes, *, headers: str = "", missing: int = 0) -> None:
        """Answer the request at hand; with `missing`, promise that many bytes more and close."""
        keep_alive = self._answering is not None and self._answering.keep_alive and not missing
        self._answering = None
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body) + missing}\r\n{headers}"
            f"Connection: {'keep-alive' if keep_alive else 'close'}\r\n\r\n"
        )
        self._transport.write(head.encode("latin-1") + body)
        if not keep_alive:
            self._transport.close()
        elif self._buffer:
            self._read()

    def reset(self) -> None:
        """Drop the connection so that the client sees a reset (RST), not an orderly end."""
        peer = cast("socket.socket", self._transport.get_extra_info("socket"))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _read(self) -> None:
        """Hand over requests until one is left to be answered later or the bytes run out."""
        if self._reading:  # `respond` was called from within `received`: the loop below goes on
            return
        self._reading = True
        try:
            while self._buffer and self._answering is None and not self._transport.is_closing():
                found = parse(self._buffer)
                if found is None:
                    return
                self._answering, self._buffer = found
                self._handler.received(self, self._answering)
        except BadRequest as error:
            self.respond(400, json.dumps({"error": {"message": str(error)}}).encode())
        finally:
            self._reading = False


def parse(data: bytes) -> tuple[Request, bytes] | None:
    """The first request in `data` and the bytes after it, or None while it is not whole yet."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > _LONGEST_HEAD:
            raise BadRequest(f"no end of the head within {_LONGEST_HEAD} bytes")
        return None
    lines = data[:end].decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequest(f"no HTTP/1.1 request line: {lines[0][:80]!r}")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise BadRequest("a body needs a Content-Length, not a Transfer-Encoding")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise BadRequest(f"Content-Length is no number: {length[:80]!r}")
    body_at = end + 4
    whole = body_at + int(length)
    if len(data) < whole:
        return None
    asked = headers.get("connection", "").lower()
    keep_alive = "close" not in asked if words[2] == "HTTP/1.1" else "keep-alive" in asked
    request = Request(words[0], words[1], headers, data[body_at:whole], keep_alive)
    return request, data[whole:]
