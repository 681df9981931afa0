"""`python -m benchmarks.parity`: what the parity gate finds and what it cries wolf at, simulated.

Pairs of runs are drawn: each question is right for both, for one or for none, with the same chances
for all. Beside the parity gate stands what the absolute gate alone says of the same candidates.
Then runs with repeats, whose discordance is noise between repeats or lasts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from evals.paired import Cells, chance_to_find, holm, least_lead, mcnemar, paired_interval
from evals.parity import Parity, ParityGate, parity_of
from evals.repeats import Evidence, evidence_of
from evals.statistics import count_needed

QUESTIONS = 1319
ACCURACY = 0.935  # the baseline's true one: what a Llama 4 Maverick reaches
REQUIRED = 0.93
ROWS = 8
DISCORDANT = (0.01, 0.03, 0.05, 0.10)
DROPS = (0.0, 0.0075, 0.0095, 0.015, 0.02)
GATE = ParityGate()
REPEATS = (1, 3)


@dataclass(frozen=True, slots=True)
class Shares:
    """Of the simulated pairs of one scenario; `exact` is the calculated share of worse."""

    worse: float
    exact: float
    no_worse: float
    absolute: float


def draw(
    rng: np.random.Generator, pairs: int, discordant: float, drop: float, accuracy: float = ACCURACY
) -> list[Cells]:
    """`pairs` pairs of runs over 1319 questions; `accuracy` is the baseline's."""
    lost, gained = (discordant + drop) / 2, (discordant - drop) / 2
    chances = [accuracy - lost, lost, gained, 1 - accuracy - gained]
    return [Cells(*map(int, row)) for row in rng.multinomial(QUESTIONS, chances, size=pairs)]


p_value = cache(mcnemar)


@cache
def excludes(lost: int, gained: int) -> bool:
    """Whether the interval excludes a drop above twice the tolerance."""
    cells = Cells(0, lost, gained, QUESTIONS - lost - gained)
    return paired_interval(cells)[0] >= -2 * GATE.tolerance


def is_worse(cells: Cells, corrected: float) -> bool:
    lead = least_lead(QUESTIONS, GATE.tolerance)
    return corrected <= GATE.alpha and cells.lost - cells.gained >= lead


def one_row(rng: np.random.Generator, pairs: int, discordant: float, drop: float) -> Shares:
    """What one parity row says of `pairs` pairs of runs."""
    drawn = draw(rng, pairs, discordant, drop)
    worse = [is_worse(cells, p_value(cells.lost, cells.gained)) for cells in drawn]
    settled = [
        not bad and excludes(cells.lost, cells.gained)
        for cells, bad in zip(drawn, worse, strict=True)
    ]
    needed = count_needed(REQUIRED, QUESTIONS)
    return Shares(
        worse=sum(worse) / pairs,
        exact=chance_to_find(QUESTIONS, discordant, drop, GATE.alpha, GATE.tolerance),
        no_worse=sum(settled) / pairs,
        absolute=sum(cells.both + cells.gained < needed for cells in drawn) / pairs,
    )


def several_rows(
    rng: np.random.Generator, sessions: int, discordant: float, drop: float = 0.0
) -> tuple[float, float]:
    """Of sessions of 8 parity rows whose first is worse by `drop`, the others by nothing.

    Shares with any alarm among the others, and with one at the first.
    """
    first = draw(rng, sessions, discordant, drop)
    others = draw(rng, sessions * (ROWS - 1), discordant, 0.0)
    found = alarms = 0
    for session in range(sessions):
        rows = [first[session], *others[session * (ROWS - 1) : (session + 1) * (ROWS - 1)]]
        corrected = holm([p_value(row.lost, row.gained) for row in rows])
        worse = [is_worse(row, p) for row, p in zip(rows, corrected, strict=True)]
        found += worse[0]
        alarms += any(worse) if drop == 0 else any(worse[1:])
    return alarms / sessions, found / sessions


def draw_repeats(
    rng: np.random.Generator, runs: int, discordant: float, noise: float, drop: float = 0.0
) -> Evidence:
    """So many runs of either side over 1319 questions.

    A run of one side and a run of the other differ in a share `discordant`; of it, a share `noise`
    is of questions that each run has right by chance anew, the baseline half the time, and the rest
    of questions that one side has right in every run and the other in none. The drop lies in the
    rest, or where there is none in the candidate's chances. All else is right: it plays no part.
    """
    unsure, lasting = 2 * noise * discordant, (1 - noise) * discordant
    lost, gained = (lasting + drop) / 2, (lasting - drop) / 2
    luck = 0.5
    if noise == 1:
        lost, gained, luck = 0.0, 0.0, 0.5 - drop / unsure
    kinds = rng.choice(4, size=QUESTIONS, p=[1 - lasting - unsure, lost, gained, unsure])
    ours = rng.binomial(runs, np.array([1, 1, 0, 0.5])[kinds])
    theirs = rng.binomial(runs, np.array([1, 0, 1, luck])[kinds])
    return evidence_of(ours.tolist(), theirs.tolist(), (runs, runs))


def repeats_table(rng: np.random.Generator, pairs: int) -> list[str]:
    """How often each verdict is given with one run of either side and with several."""
    columns = [f"{parity}, {runs} run{'s'[: runs - 1]}" for parity in Parity for runs in REPEATS]
    lines = [
        f"| discordant | of it noise | true drop | {' | '.join(columns)} |",
        "| --- " * (3 + len(columns)) + "|",
    ]
    for discordant in DISCORDANT[1:]:
        for noise in (1.0, 0.5):
            for drop in (0.0, 0.015):
                shares = []
                for runs in REPEATS:
                    drawn = [draw_repeats(rng, runs, discordant, noise, drop) for _ in range(pairs)]
                    seen = [parity_of(one, GATE, one.p) for one in drawn]
                    shares.append([seen.count(parity) / pairs for parity in Parity])
                told = [
                    f"{share:.1%}" for of_parity in zip(*shares, strict=True) for share in of_parity
                ]
                lines.append(
                    f"| {discordant:.0%} | {noise:.0%} | {100 * drop:.2f} | {' | '.join(told)} |"
                )
    return lines


def table(pairs: int, seed: int) -> str:
    """All scenarios as Markdown."""
    rng = np.random.default_rng(seed)
    lines = [
        "| discordant | true drop | worse | calculated | no worse | cannot tell "
        f"| below {REQUIRED} alone |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for discordant in DISCORDANT:
        for drop in (drop for drop in DROPS if drop <= discordant):
            seen = one_row(rng, pairs, discordant, drop)
            undecided = abs(1 - seen.worse - seen.no_worse)
            lines.append(
                f"| {discordant:.0%} | {100 * drop:.2f} | {seen.worse:.1%} | {seen.exact:.1%} "
                f"| {seen.no_worse:.1%} | {undecided:.1%} | {seen.absolute:.1%} |"
            )
    lines += [
        "",
        f"| discordant | {ROWS} rows, no drop: any alarm | one drop of 1.5 among {ROWS}: found |",
        "| --- | --- | --- |",
    ]
    for discordant in DISCORDANT:
        alarms, _ = several_rows(rng, pairs, discordant)
        possible = discordant >= 0.015
        found = several_rows(rng, pairs, discordant, 0.015)[1] if possible else None
        told = "-" if found is None else f"{found:.1%}"
        lines.append(f"| {discordant:.0%} | {alarms:.1%} | {told} |")
    lines += ["", *repeats_table(rng, pairs)]
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parity", description=__doc__)
    parser.add_argument("--pairs", type=int, default=2000, help="pairs of runs a scenario (2000)")
    parser.add_argument("--seed", type=int, default=4)
    told = parser.parse_args(words)
    print(table(told.pairs, told.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
