"""What the double has seen: the form of `GET /stats`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stats:
    """Counts since the start. Only requests for completions count, so that probes change nothing.

    `answered` are those that got a whole completion; `connections` carried at least one request;
    `tries` is by question; `cpu_seconds` is user and system time of the whole process.
    """

    requests: int
    answered: int
    in_flight: int
    max_in_flight: int
    connections: int
    cpu_seconds: float
    tries: dict[str, int]
