"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_gate(parser: argparse.ArgumentParser) -> None:
    """How surely and how much worse is worse."""
    parser.add_argument("--alpha", type=_alpha, default=0.05, help="one-sided (0.05)")
    parser.add_argument(
        "--tolerance", type=_points, default=0.0075, help="points that a drop may have (0.75)"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="all of it, as JSON")


def _alpha(word: str) -> float:
    try:
        alpha = float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is no number") from None
    if not 0 < alpha < 1:
        raise argparse.ArgumentTypeError(f"{word} does not lie between 0 and 1")
    return alpha


def _points(word: str) -> float:
    try:
        points = Decimal(word)
        allowed = 0 <= points < 50
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{word!r} is no number of points") from None
    if not allowed:
        raise argparse.ArgumentTypeError(f"{word} points: 0 to less than 50 are allowed")
    return float(points / 100)  # exactly the decimal that was written
