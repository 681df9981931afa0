"""A table of plain text."""

from __future__ import annotations

from collections.abc import Container, Sequence


def aligned(lines: Sequence[Sequence[str]], left: Container[int] = (0, 1)) -> str:
    """Lines of equally many cells as columns: those in `left` to the left, others to the right.

    A line break within a cell, as of a note that a user gave, is a blank.
    """
    lines = [[" ".join(cell.splitlines()) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
