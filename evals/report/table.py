"""Columns of plain text."""

from __future__ import annotations

from collections.abc import Container, Sequence


def aligned(lines: Sequence[Sequence[str]], left: Container[int]) -> str:
    """Lines of cells as columns: those in `left` to the left, others to the right."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
