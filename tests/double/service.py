"""The OpenAI-compatible endpoints, answering as the plan says."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import Any

from tests.double.behaviour import Behaviour
from tests.double.http11 import Connection, Request
from tests.double.plan import Fate, Mishap, Planned, mishap, plan, question_in
from tests.double.scoring import by_question, generate, tokenize
from tests.double.stats import Stats

_HELD_BACK = 200  # bytes that a half body promises and does not send


class Service:
    """Handles every connection's requests; see `http11.Handler`."""

    def __init__(self, behaviour: Behaviour) -> None:
        """Raises ValueError if a file that the behaviour names cannot be used."""
        self._told = behaviour
        self._model = behaviour.model or "double"
        self._plan = plan(behaviour)
        self._server_info = _server_info(behaviour)
        self._logprobs = by_question(behaviour.logprobs, list(self._plan))
        self._requests = self._answered = self._max_in_flight = self._connections = 0
        self._in_flight: set[Connection] = set()  # one request at most on each connection
        self._seen: set[Connection] = set()  # open ones that carried a request
        self._tries: Counter[str] = Counter()

    def received(self, connection: Connection, request: Request) -> None:
        path = request.path.partition("?")[0]
        public = path.startswith("/health") or path == "/stats"  # as SGLang has it
        shown = request.headers.get("authorization")
        if self._told.api_key and not public and shown != f"Bearer {self._told.api_key}":
            return _refuse(connection, 401, "Incorrect API key provided.", "invalid_api_key")
        if path == "/v1/completions":
            if request.method != "POST":
                return _refuse(connection, 405, f"{path} takes POST.", "method_not_allowed")
            return self._complete(connection, request)
        if (request.method, path) == ("POST", "/flush_cache"):
            return _send(connection, {"success": True})
        if request.method == "POST" and path in ("/tokenize", "/generate"):
            return self._score(connection, path, request.body)
        if request.method != "GET":
            return _refuse(connection, 404, f"No {request.method} {path} here.", "not_found")
        match path:
            case "/v1/models":
                model = {"id": self._model, "object": "model", "created": 0, "owned_by": "double"}
                _send(connection, {"object": "list", "data": [model]})
            case "/health":
                _send(connection, {"status": "ok"})
            case "/health_generate":
                if not self._hanging():
                    _send(connection, {"status": "ok"})
            case "/server_info":
                _send(connection, self._server_info)
            case "/stats":
                _send(connection, asdict(self._stats()))
            case _:
                _refuse(connection, 404, f"No GET {path} here.", "not_found")
        return None

    def _score(self, connection: Connection, path: str, body: bytes) -> None:
        try:
            asked, told = json.loads(body), self._told
            if path == "/tokenize":
                return _send(connection, tokenize(asked))
            items = generate(asked, self._logprobs, told.logprob_shift, told.other_tokens)
            return _send(connection, items)
        except (ValueError, LookupError, TypeError) as error:
            return _refuse(connection, 400, f"{path}: {error!r:.200}", "invalid_request")

    def lost(self, connection: Connection) -> None:
        self._in_flight.discard(connection)
        self._seen.discard(connection)

    def _complete(self, connection: Connection, request: Request) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._told.delay  # so that the double's own work is within the delay
        self._requests += 1
        if connection not in self._seen:
            self._seen.add(connection)
            self._connections += 1
        try:
            asked = json.loads(request.body)
            prompt, model = asked["prompt"], asked["model"]
            planned = self._plan[question_in(prompt)]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            why = f"no body with model, prompt and a question of the answers file: {error!r:.200}"
            return _refuse(connection, 400, why, "invalid_request")
        if self._told.model and model != self._told.model:
            return _refuse(
                connection, 404, f"The model {model!r} does not exist.", "model_not_found"
            )
        if asked.get("stream"):
            return _refuse(connection, 400, "The double does not stream.", "invalid_request")
        self._tries[planned.question] += 1
        met = mishap(self._told, planned.question, self._tries[planned.question])
        if planned.fate is Fate.REJECT:
            why = "This model's maximum context length is exceeded by the prompt and max_tokens."
            return _refuse(connection, 400, why, "context_length_exceeded")
        if met is Mishap.RATE_LIMIT and planned.fate is not Fate.HANG:
            headers = f"Retry-After: {self._told.retry_after}\r\n"
            return _refuse(connection, 429, "Too many requests.", "rate_limit_exceeded", headers)
        self._in_flight.add(connection)
        self._max_in_flight = max(self._max_in_flight, len(self._in_flight))
        if planned.fate is not Fate.HANG:
            body = self._completion(asked, planned)
            loop.call_at(due, self._finish, connection, body, planned, met)
        return None

    def _finish(
        self, connection: Connection, body: bytes, planned: Planned, met: Mishap | None
    ) -> None:
        """The delay is over: what is sent depends on the try's mishap, then on the fate."""
        if connection not in self._in_flight or self._hanging():
            return None
        self._in_flight.discard(connection)
        if met is Mishap.DROP:
            return connection.reset()
        if met is Mishap.ERROR or planned.fate is Fate.FAIL:
            return _refuse(connection, 500, "The double fails, as told.", "internal_error")
        if planned.fate is Fate.MALFORMED:
            return connection.respond(200, b'{"id": "cmpl-')
        if planned.fate is Fate.HALF_BODY:
            return connection.respond(200, body[:-_HELD_BACK], missing=_HELD_BACK)
        connection.respond(200, body)
        if planned.fate is not Fate.NO_CHOICES:
            self._answered += 1
            if self._answered == self._told.die_after:
                print(
                    f"dies after {self._answered} completions, as told", file=sys.stderr, flush=True
                )
                os._exit(1)
        return None

    def _completion(self, asked: dict[str, Any], planned: Planned) -> bytes:
        choice = {"index": 0, "text": planned.text, "logprobs": None}
        choice["finish_reason"] = planned.finish_reason
        cut = planned.fate is Fate.TRUNCATED
        # Four characters to a token is the usual guess for English.
        tokens = int(asked.get("max_tokens") or 16) if cut else len(planned.text) // 4 + 1
        prompt_tokens = len(asked["prompt"]) // 4 + 1
        return _json(
            {
                "id": f"cmpl-{self._requests}",
                "object": "text_completion",
                "created": int(time.time()),
                "model": asked["model"],
                "choices": [] if planned.fate is Fate.NO_CHOICES else [choice],
                "usage": {
                    "prompt_tokens": prompt_tokens,
                    "completion_tokens": tokens,
                    "total_tokens": prompt_tokens + tokens,
                },
            }
        )

    def _hanging(self) -> bool:
        return self._told.hang_after is not None and self._answered >= self._told.hang_after

    def _stats(self) -> Stats:
        return Stats(
            requests=self._requests,
            answered=self._answered,
            in_flight=len(self._in_flight),
            max_in_flight=self._max_in_flight,
            connections=self._connections,
            cpu_seconds=time.process_time(),
            tries=dict(self._tries),
        )


def _server_info(behaviour: Behaviour) -> object:
    if behaviour.server_info is None:
        return {}
    try:
        return json.loads(behaviour.server_info.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"server_info = {behaviour.server_info}: {error}") from error


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _send(connection: Connection, value: object) -> None:
    connection.respond(200, _json(value))


def _refuse(
    connection: Connection, status: int, message: str, code: str, headers: str = ""
) -> None:
    """An error in OpenAI's form."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    error = {"message": message, "type": kind, "param": None, "code": code}
    connection.respond(status, _json({"error": error}), headers=headers)
