"""A table of plain text."""

from __future__ import annotations

from collections.abc import Sequence

LEFT = 2  # columns of words, before those of figures


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Lines of equally many cells, the first one the header, with columns aligned."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < LEFT else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
