"""How far a candidate's log-probabilities of a reference's answers lie from the reference's. Pure.

Texts are compared by `parity` and differ only where two tokens are nearly level. Log-probabilities
differ everywhere, so that a small fault shows in each token, and noise alone stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evals.errors import NoVerdict
from evals.verdict import Outcome


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The tokens of one answer, in order, and the log-probability of each in nats."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer of the reference as a candidate sees it.

    `logprobs` are of the reference's own tokens, in nats: of all, or of the first ones, where the
    candidate wrote its own text and parted from the reference. `greedy` are the tokens that it
    would have written itself, as far as they are known.
    """

    logprobs: tuple[float, ...]
    greedy: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Of |Δ log-probability| over tokens, in nats; the 99th percentile interpolates linearly."""

    mean: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Place:
    """A token of an answer: the question, and how many tokens of the answer come before."""

    question: str
    token: int


@dataclass(frozen=True, slots=True)
class Drift:
    """`tokens` of `of` tokens could be compared; `largest` is where |Δ| is at its maximum.

    `parted` counts the answers that the candidate would have written otherwise, from `parts_first`
    on: the least token at which any of them parts, None where none does.
    """

    change: Change
    questions: int
    tokens: int
    of: int
    largest: Place
    parted: int
    parts_first: Place | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest mean and maximum of |Δ log-probability| that pass, in nats; None: any."""

    mean: float | None = None
    max: float | None = None


def change(before: Sequence[float], after: Sequence[float]) -> Change:
    """Of two log-probabilities of each token. ValueError for none, or unlike numbers of them."""
    if not before or len(before) != len(after):
        raise ValueError(f"{len(before)} and {len(after)} log-probabilities")
    apart = np.abs(np.subtract(after, before))
    return Change(float(apart.mean()), float(np.percentile(apart, 99)), float(apart.max()))


def parting(reference: TokenLogprobs, scored: Scored) -> int | None:
    """The first token that the candidate would have chosen otherwise; None: as far as known, none.

    A candidate that ends its text early parts where it ends only if it says so by a token.
    """
    pairs = zip(reference.tokens, scored.greedy, strict=False)
    return next((i for i, (ours, theirs) in enumerate(pairs) if ours != theirs), None)


def compare(
    questions: Sequence[str], reference: Sequence[TokenLogprobs], candidate: Sequence[Scored]
) -> Drift:
    """Token by token, over all questions together: long answers count for more.

    Raises:
        NoVerdict: no token could be compared.
        ValueError: unlike numbers of questions.
    """
    triples = list(zip(questions, reference, candidate, strict=True))
    before = [p for _, r, c in triples for p in r.logprobs[: len(c.logprobs)]]
    after = [p for _, _, c in triples for p in c.logprobs]
    places = [Place(q, i) for q, _, c in triples for i in range(len(c.logprobs))]
    if not after:
        raise NoVerdict("not a token of the reference's answers could be compared")
    parts = [Place(q, i) for q, r, c in triples if (i := parting(r, c)) is not None]
    return Drift(
        change=change(before, after),
        questions=len(triples),
        tokens=len(after),
        of=sum(len(r.tokens) for r in reference),
        largest=places[int(np.argmax(np.abs(np.subtract(after, before))))],
        parted=len(parts),
        parts_first=min(parts, key=lambda place: place.token, default=None),
    )


LEAST_SHARE = 0.5


def judge_drift(drift: Drift, bounds: Bounds) -> Outcome:
    """Fail above a bound; a report where there is none.

    No verdict where less than `LEAST_SHARE` of the reference's tokens could be compared: what comes
    after texts part is not seen.
    """
    pairs = [(drift.change.mean, bounds.mean), (drift.change.max, bounds.max)]
    held = [found <= bound for found, bound in pairs if bound is not None]
    if not held:
        return Outcome.REPORT
    if not all(held):
        return Outcome.FAIL
    enough = drift.tokens >= LEAST_SHARE * drift.of
    return Outcome.PASS if enough else Outcome.NO_VERDICT


def told(drift: Drift, bounds: Bounds) -> str:
    """All of it in one line."""
    found, largest, first = drift.change, drift.largest, drift.parts_first
    mean, most = (
        "" if bound is None else f" (at most {bound:.1e})" for bound in (bounds.mean, bounds.max)
    )
    parted = (
        f"{drift.parted} of {drift.questions} texts part, the first at token {first.token} of "
        f"{first.question}"
        if first is not None
        else "no text parts"
    )
    return (
        f"|Δ log-probability| of {drift.tokens} of {drift.of} tokens of {drift.questions} "
        f"questions: mean {found.mean:.1e}{mean}, 99th percentile {found.p99:.1e}, "
        f"maximum {found.max:.1e}{most} at token {largest.token} of {largest.question}; {parted}"
    )
