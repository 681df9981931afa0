"""Pairs of one session as a table; each as `comparison_values` gives it, its name as `pair`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evals.report.table import aligned

HEADER = (
    "pair", "verdict", "difference", "95% interval", "lost", "gained", "discordant", "p (Holm)",
    "texts changed",
)  # fmt: skip


def pair_table(pairs: Sequence[Mapping[str, Any]]) -> str:
    """One line a pair; points for differences, p corrected for the session's pairs."""
    return aligned([HEADER, *(pair_cells(pair) for pair in pairs)])


def pair_cells(pair: Mapping[str, Any]) -> tuple[str, ...]:
    """What the table says of one pair, as under `HEADER`."""
    cells = pair["cells"]
    questions, discordant = sum(cells.values()), cells["lost"] + cells["gained"]
    low, high = pair["interval"]
    outcome = "KNOWN DEFECT" if pair.get("known_defect") else pair["outcome"] or "no verdict"
    return (
        pair["pair"],
        outcome.upper(),
        f"{100 * pair['difference']:+.2f}",
        f"{100 * low:+.2f} to {100 * high:+.2f}",
        f"{cells['lost']:.4g}",
        f"{cells['gained']:.4g}",
        f"{discordant / questions:.2%}",
        f"{pair['corrected']:.3g}",
        f"{pair['changed_texts']:.4g}/{pair['compared']}",
    )
