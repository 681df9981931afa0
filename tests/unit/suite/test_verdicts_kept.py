"""Verdicts whose file cannot be written, and rows that cannot be gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.errors import RecordsNotWritten, UsageError
from evals.run import Evaluation
from evals.verdict import Counts, Gate, Outcome
from fixtures.engines.attached import attached_row
from fixtures.matrix.rows import Gate as RowGate
from fixtures.matrix.rows import Row
from fixtures.measuring import serving
from fixtures.measuring.gates import GateChecker, GateFailed

Kept = list[tuple[Outcome, Path | None]]


def a_run(folder: Path, right: int) -> Evaluation:
    return Evaluation(
        name="row",
        folder=folder,
        asked=100,
        partial=False,
        protocol="train",
        shots=8,
        server={},
        records=(),
        counts=Counts(right=right, wrong=100 - right),
        seconds=1.0,
        stopped=None,
        trouble=(),
    )


def check(run: Evaluation, kept: Kept) -> None:
    GateChecker(Gate(0.93), lambda outcome, file: kept.append((outcome, file))).check([run])


def test_a_fail_stays_one_where_its_file_cannot_be_written(tmp_path: Path) -> None:
    kept: Kept = []
    with pytest.raises(GateFailed, match=r"besides: .*verdict\.json cannot be written"):
        check(a_run(tmp_path / "gone", 10), kept)
    assert kept == [(Outcome.FAIL, None)]


def test_a_pass_whose_file_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordsNotWritten, match=r"verdict\.json cannot be written"):
        check(a_run(tmp_path / "gone", 99), [])


def test_a_verdict_that_is_written_is_kept_with_its_file(tmp_path: Path) -> None:
    kept: Kept = []
    check(a_run(tmp_path, 99), kept)
    assert kept == [(Outcome.PASS, tmp_path / "verdict.json")]


def test_a_row_that_pools_runs_is_not_resumed() -> None:
    def row_of(runs: int) -> Row:
        gate = RowGate(name="strict", accuracy=0.93, invalid=0, runs=runs, source="test")
        return attached_row("m", questions="canary", generation="cpu", gate=gate)

    serving.refuse_pooled(row_of(1))
    with pytest.raises(UsageError) as refused:
        serving.refuse_pooled(row_of(3))
    assert str(refused.value) == (
        f"--resume: {row_of(3).id} pools 3 runs, and a row that pools runs cannot be resumed; "
        "run it again"
    )
