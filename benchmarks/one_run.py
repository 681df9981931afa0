"""One client asks all questions of one server once; a process of its own, so that memory is its.

`python -m benchmarks.one_run CLIENT BASE_URL ANSWERS PARALLEL` prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evals.client import Limits
from evals.completions import Endpoint, Request, Sampling, request_body
from evals.prompts import PROTOCOLS
from evals.questions import load_folder
from evals.run import evaluate
from evals.task import Settings, Task
from evals.verdict import Gate

ENDPOINT_MODEL = "double"
Answers = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of the loop alone: wall seconds, and user and system seconds of this process."""

    loop_seconds: float
    cpu_seconds: float


def whole_path(base_url: str, task: Task, parallel: int) -> Cost:
    """`evals.run.evaluate`: records, scoring, early stop and progress bar included.

    The seconds are those that it gives for its loop; the loop's first act is a look at the server.
    """
    looks: list[float] = []

    def watch() -> None:
        looks.append(time.process_time())

    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        settings = Settings(
            limits=Limits(parallel=parallel), gate=Gate(0.93), watch=watch, progress=nowhere
        )
        endpoint = Endpoint(base_url, ENDPOINT_MODEL)
        evaluation = evaluate("benchmark", task, endpoint, settings, Path(folder))
        cpu_seconds = time.process_time() - looks[0]
    check(evaluation.counts.answered, len(task.questions.test))
    return Cost(evaluation.seconds, cpu_seconds)


def bare_asyncio(base_url: str, task: Task, parallel: int) -> Cost:
    """HTTP by hand over asyncio's streams, one connection a worker: nothing can be much cheaper."""
    return timed(lambda bodies: _bare(base_url, bodies, parallel), task)


def aiohttp_gather(base_url: str, task: Task, parallel: int) -> Cost:
    """All requests in one gather over a session of `parallel` connections, as vLLM's test does."""
    return timed(lambda bodies: _gather(base_url, bodies, parallel), task)


CLIENTS: dict[str, Callable[[str, Task, int], Cost]] = {
    "evals": whole_path,
    "bare asyncio": bare_asyncio,
    "aiohttp gather": aiohttp_gather,
}


def timed(client: Callable[[list[bytes]], Any], task: Task) -> Cost:
    """What `client` costs for all requests, their bodies made within that time, as ours are."""
    prompts = task.prompts()
    begun, cpu = time.perf_counter(), time.process_time()
    bodies = [
        request_body(Request(p.question.id, p.text), ENDPOINT_MODEL, Sampling()) for p in prompts
    ]
    answers = asyncio.run(client(bodies))
    cost = Cost(time.perf_counter() - begun, time.process_time() - cpu)
    check(sum("text" in answer["choices"][0] for answer in answers), len(prompts))
    return cost


def check(answered: int, asked: int) -> None:
    """A client that lost answers has not done the work that is timed."""
    if answered != asked:
        raise SystemExit(f"{answered} of {asked} questions were answered")


async def _bare(base_url: str, bodies: list[bytes], parallel: int) -> Answers:
    address = urlsplit(base_url)
    head = f"POST /v1/completions HTTP/1.1\r\nHost: {address.netloc}\r\n".encode()
    waiting = iter(bodies)
    answers: Answers = []

    async def work() -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for body in waiting:
            writer.write(b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body))
            answered = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = answered.partition(b"content-length:")[2].partition(b"\r\n")[0]
            answers.append(json.loads(await reader.readexactly(int(length))))
        writer.close()

    await asyncio.gather(*(work() for _ in range(parallel)))
    return answers


async def _gather(base_url: str, bodies: list[bytes], parallel: int) -> Answers:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=parallel)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def post(body: bytes) -> dict[str, Any]:
            async with session.post(f"{base_url}/v1/completions", data=body) as response:
                answer: dict[str, Any] = await response.json()
                return answer

        return await asyncio.gather(*(post(body) for body in bodies))


def main() -> None:
    """Prints what one run took: of the loop, of the whole call, and the peak memory in MB."""
    client, base_url, answers, parallel = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    task = Task(load_folder(Path(answers), "gsm8k"), PROTOCOLS["train"])
    begun = time.perf_counter()
    cost = CLIENTS[client](base_url, task, int(parallel))
    call_seconds = time.perf_counter() - begun
    # Since the start of the process, imports included; Linux gives KiB, macOS bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(
        json.dumps(
            {
                "loop_seconds": round(cost.loop_seconds, 4),
                "call_seconds": round(call_seconds, 4),
                "cpu_seconds": round(cost.cpu_seconds, 4),
                "peak_mb": round(peak, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
