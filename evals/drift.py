"""How far log-probabilities of the same tokens lie apart in two implementations. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The tokens of one answer, in order, and the log-probability of each in nats."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Of |Δ log-probability| over tokens, in nats; the 99th percentile interpolates linearly."""

    mean: float
    p99: float
    max: float


def change(before: Sequence[float], after: Sequence[float]) -> Change:
    """Of two log-probabilities of each token. ValueError for none, or unlike numbers of them."""
    if not before or len(before) != len(after):
        raise ValueError(f"{len(before)} and {len(after)} log-probabilities")
    apart = np.abs(np.subtract(after, before))
    return Change(float(apart.mean()), float(np.percentile(apart, 99)), float(apart.max()))
