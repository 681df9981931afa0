"""The progress bar of a run."""

from __future__ import annotations

import sys
from typing import Never, TextIO

from tqdm import tqdm

from evals.verdict import Counts

LOG_SECONDS = 10.0  # between two lines where no terminal redraws one


class Progress:
    """Questions done, accuracy so far, invalid, failed, and the time left; tqdm draws it."""

    def __init__(
        self, name: str, questions: int, done: int = 0, *, file: TextIO | None = None
    ) -> None:
        """`done` of the `questions` were answered before. No `file`: nothing is drawn."""
        self._bar: tqdm[Never] = tqdm(
            total=questions,
            initial=done,
            desc=name,
            unit="q",
            file=file or sys.stderr,
            disable=file is None,
            mininterval=0.1 if file is not None and file.isatty() else LOG_SECONDS,
            dynamic_ncols=True,
        )

    def update(self, counts: Counts) -> None:
        """One more question is done; `counts` are those of the run so far."""
        if self._bar.disable:
            return
        accuracy = "-" if counts.accuracy is None else f"{counts.accuracy:.4f}"
        self._bar.set_postfix_str(
            f"accuracy {accuracy}, invalid {counts.invalid}, failed {counts.failed}", refresh=False
        )
        self._bar.update()

    def close(self) -> None:
        """Leaves the bar as it last stood."""
        self._bar.close()
