"""The parity gates of a session, from run folders alone: no server is started."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evals.errors import NoVerdict, ServerNotStarted
from evals.parity import Parity
from evals.prompts import protocol_named
from evals.questions import load_folder
from evals.records import read_run, write_json
from evals.task import Task
from evals.verdict import Outcome
from fixtures.matrix.defects import Defect
from fixtures.matrix.file import load_matrix
from fixtures.matrix.pairs import Pair
from fixtures.matrix.rows import Row
from fixtures.measuring import parity as session
from fixtures.measuring import parity_gate
from fixtures.measuring.gates import GateFailed
from fixtures.measuring.parity import SessionParity
from fixtures.measuring.parity_gate import ParityChecker
from fixtures.measuring.told import NOTICE, PAIR_FILE, VERDICT, Told
from fixtures.suite.suite import CANARY_QUESTIONS
from tests.unit.evals.run_folders import FAILED, RIGHT, WRONG, write_run

ROWS = {row.id: row for row in load_matrix().rows}
REFERENCE, ON, Q8 = (ROWS[f"canary-stock-{b}-cpu"] for b in ("fa_off", "fa_on", "fa_q8"))
TASK = Task(load_folder(CANARY_QUESTIONS, "canary"), protocol_named("train"))
QUESTIONS = TASK.whole


@dataclass
class Suite:
    """As much of one as parity asks of it."""

    tmp_path: Path
    folders: dict[str, list[Path]] = field(default_factory=dict)
    with_tests: set[str] = field(default_factory=set)
    more_repeats: bool = False
    said: list[str] = field(default_factory=list)

    @property
    def options(self) -> Any:
        return SimpleNamespace(
            more_repeats=self.more_repeats,
            runs_dir=self.tmp_path / "runs",
            limits=SimpleNamespace(run_timeout=1.0),
        )

    @property
    def terminal(self) -> Any:
        return SimpleNamespace(say=self.said.append)

    @property
    def config(self) -> Any:
        return SimpleNamespace()

    def runs(self, row: Row) -> list[Path] | None:
        return self.folders.get(row.id)

    def measured(self, row: Row, *wrongs: range, failed: int = 0) -> None:
        """A run of that row for each set of wrong answers."""
        for wrong in wrongs:
            folder = self.tmp_path / f"{row.id}-{len(self.folders.get(row.id, []))}"
            fates = [WRONG if n in wrong else RIGHT for n in range(QUESTIONS - failed)]
            write_run(folder, TASK, fates + [FAILED] * failed, row_name=row.id)
            self.folders.setdefault(row.id, []).append(folder)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def parity_of(suite: Suite, *candidates: Row) -> SessionParity:
    return SessionParity(suite, [Pair(row, REFERENCE) for row in candidates])  # type: ignore[arg-type]


def checked(suite: Suite, row: Row, *others: Row) -> tuple[dict[str, str], BaseException | None]:
    """What a test of that pair tells, and what it ends with."""
    test = SimpleNamespace(user_properties=[])
    checker = ParityChecker(parity_of(suite, row, *others), Told(test))  # type: ignore[arg-type]
    try:
        checker.check(Pair(row, REFERENCE))
    except (GateFailed, NoVerdict, pytest.xfail.Exception) as error:
        return dict(test.user_properties), error
    return dict(test.user_properties), None


def test_a_backend_that_loses_answers_fails_and_the_message_shows_which(suite: Suite) -> None:
    suite.measured(REFERENCE, range(40))
    suite.measured(ON, range(80))
    told, error = checked(suite, ON)
    assert told[VERDICT] == Outcome.FAIL
    assert isinstance(error, GateFailed)
    assert "40 lost, 0 gained" in str(error)
    assert "test-0040 lost" in str(error)


def test_a_backend_with_the_same_answers_passes_and_is_written_beside_its_run(suite: Suite) -> None:
    suite.measured(REFERENCE, range(40))
    suite.measured(ON, range(40))
    told, error = checked(suite, ON)
    assert (told[VERDICT], error) == (Outcome.PASS, None)
    written = json.loads(Path(told[PAIR_FILE]).read_text())
    assert Path(told[PAIR_FILE]) == suite.folders[ON.id][0] / "parity-fa_off.json"
    assert written["pair"] == "canary-stock-fa_on-vs-fa_off-cpu"
    assert written["outcome"] == Parity.NO_WORSE


def test_what_cannot_be_told_passes_with_a_notice_that_names_the_repeats(suite: Suite) -> None:
    suite.measured(REFERENCE, range(40))
    suite.measured(ON, range(24, 72))  # 32 lost, 24 gained
    told, error = checked(suite, ON)
    assert (told[VERDICT], error) == (Outcome.PASS, None)
    assert "cannot tell whether it is worse: -0.61 points" in told[NOTICE]
    assert "4.25% discordant" in told[NOTICE]
    assert "--repeats " in told[NOTICE]


def test_a_row_that_lacks_answers_is_no_verdict(suite: Suite) -> None:
    suite.measured(REFERENCE, range(40))
    suite.measured(ON, range(40), failed=3)
    told, error = checked(suite, ON)
    assert told[VERDICT] == Outcome.NO_VERDICT
    assert isinstance(error, NoVerdict)


@pytest.mark.parametrize("stopped", [True, False])
def test_a_known_defect_explains_missing_answers_only_where_it_ended_the_run(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    until = date.max
    what = {"defect": "x", "source": "y", "versions": "", "until": until, "basis": "measured"}
    monkeypatch.setattr(parity_gate, "load_defects", lambda: [Defect(rows=ON.id, **what)])
    suite.measured(REFERENCE, range(QUESTIONS - 40, QUESTIONS))
    suite.measured(ON, range(30), failed=200)  # which might yet be 40 gained
    if stopped:
        about = read_run(suite.folders[ON.id][0])
        about["attempts"][-1]["stopped"] = "93 answers are not right"
        write_json(suite.folders[ON.id][0] / "run.json", about)
    told, error = checked(suite, ON)
    assert told[VERDICT] == (Outcome.REPORT if stopped else Outcome.NO_VERDICT)
    assert isinstance(error, pytest.xfail.Exception if stopped else NoVerdict)


@pytest.mark.parametrize("known", ["known defect", None])
def test_a_known_defect_explains_a_drop_unless_the_row_itself_did_not_show_it(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, known: str | None
) -> None:
    what = {"defect": "x", "source": "y", "versions": "", "until": date.max, "basis": "measured"}
    monkeypatch.setattr(parity_gate, "load_defects", lambda: [Defect(rows=ON.id, **what)])
    suite.measured(REFERENCE, range(40))
    suite.measured(ON, range(100))
    verdict = {"outcome": "fail" if known else "pass", "known_defect": known, "reasons": []}
    write_json(suite.folders[ON.id][0] / "verdict.json", verdict)
    told, error = checked(suite, ON)
    assert told[VERDICT] == (Outcome.REPORT if known else Outcome.FAIL)
    assert isinstance(error, pytest.xfail.Exception if known else GateFailed)


def test_a_row_whose_tests_measured_nothing_is_no_verdict_and_is_not_started_again(
    suite: Suite,
) -> None:
    suite.measured(ON, range(40))
    suite.with_tests = {REFERENCE.id, ON.id}
    _, error = checked(suite, ON)
    assert str(error) == f"{REFERENCE.id} was not measured: there is nothing to compare"


def test_several_pairs_of_a_session_are_corrected_for_being_several(suite: Suite) -> None:
    suite.measured(REFERENCE, range(100))
    suite.measured(ON, range(12, 124))  # 24 lost, 12 gained: p 0.033
    suite.measured(Q8, range(12, 124))
    alone = parity_of(suite, ON).of(Pair(ON, REFERENCE)).verdict
    among = parity_of(suite, ON, Q8).of(Pair(ON, REFERENCE)).verdict
    assert (alone.parity, alone.corrected) == (Parity.WORSE, alone.p)
    assert among.corrected == pytest.approx(2 * alone.p)
    assert among.parity is not Parity.WORSE


def test_a_pair_that_cannot_be_compared_leaves_the_others_as_they_are(suite: Suite) -> None:
    suite.measured(REFERENCE, range(40))
    suite.measured(ON, range(40))
    suite.with_tests = {Q8.id}
    assert checked(suite, ON, Q8)[1] is None


@contextmanager
def no_server(suite: Suite, row: Row, folder: Path | None = None) -> Iterator[Row]:
    yield row


Extra = Callable[[Row, int], list[Any]]


@pytest.fixture
def undecided(suite: Suite) -> Suite:
    """One run of each side, which cannot tell; more may be made."""
    suite.more_repeats = True
    suite.measured(REFERENCE, range(40))
    suite.measured(ON, range(24, 72))
    return suite


@pytest.fixture
def make_extra(monkeypatch: pytest.MonkeyPatch) -> Callable[[Extra], None]:
    """No server is started; what is given says which extra runs a row brings."""

    def install(extra: Extra) -> None:
        def measure_runs(
            suite: Suite, row: Row, runs: int, folder: Path, *, judged: bool
        ) -> list[Any]:
            assert not judged  # or the gate of one run would end the others early
            return extra(row, runs)

        monkeypatch.setattr(session, "serving", no_server)
        monkeypatch.setattr(session, "measure_runs", measure_runs)

    return install


def made(suite: Suite, row: Row, wrong: range, runs: int) -> list[Any]:
    """So many more runs of that row, which the session does not know of yet."""
    suite.measured(row, *[wrong] * runs)
    folders = suite.folders[row.id][-runs:]
    del suite.folders[row.id][-runs:]
    return [SimpleNamespace(folder=folder, trouble=(), void=()) for folder in folders]


def test_auto_runs_what_might_settle_it_and_judges_again_at_half_of_alpha(
    undecided: Suite, make_extra: Callable[[Extra], None]
) -> None:
    asked: list[tuple[str, int]] = []

    def extra(row: Row, runs: int) -> list[Any]:
        asked.append((row.id, runs))
        wrong = range(40) if row is REFERENCE else range(42)  # its first run was bad luck
        return made(undecided, row, wrong, runs)

    make_extra(extra)
    seen = parity_of(undecided, ON).of(Pair(ON, REFERENCE))
    assert [row for row, _ in asked] == [REFERENCE.id, ON.id]
    assert len({runs for _, runs in asked}) == 1
    assert len(seen.candidate.runs) == 1 + asked[0][1]
    assert seen.outcome is Parity.NO_WORSE
    assert seen.verdict.corrected == pytest.approx(min(1.0, 2 * seen.verdict.p))


def test_an_extra_run_that_fails_leaves_what_was_seen_before_and_is_told(
    undecided: Suite, make_extra: Callable[[Extra], None]
) -> None:
    nowhere = undecided.tmp_path / "nowhere"
    make_extra(lambda *_: [SimpleNamespace(folder=nowhere, trouble=("it died",), void=())])
    told, error = checked(undecided, ON)
    assert (told[VERDICT], error) == (Outcome.PASS, None)
    assert f"{ON.id}: an extra run failed: it died; " in told[NOTICE]
    assert "cannot tell whether it is worse" in told[NOTICE]


def test_extra_runs_of_another_build_do_not_count_and_are_told(
    undecided: Suite, make_extra: Callable[[Extra], None]
) -> None:
    def extra(row: Row, runs: int) -> list[Any]:
        folder = undecided.tmp_path / f"{row.id}-other"
        write_run(folder, TASK, [RIGHT] * QUESTIONS, row_name="another")
        return [SimpleNamespace(folder=folder, trouble=(), void=())]

    make_extra(extra)
    told, error = checked(undecided, ON)
    assert (told[VERDICT], error) == (Outcome.PASS, None)
    assert "its extra runs do not count" in told[NOTICE]


def test_a_pair_that_is_settled_at_the_first_look_stays_so(
    undecided: Suite, make_extra: Callable[[Extra], None]
) -> None:
    undecided.measured(Q8, range(80))
    # In all that comes later the reference is as bad.
    make_extra(lambda row, runs: made(undecided, row, range(60), runs))
    parity = parity_of(undecided, ON, Q8)
    assert len(parity.of(Pair(ON, REFERENCE)).candidate.runs) > 1
    settled = parity.of(Pair(Q8, REFERENCE))
    assert (settled.outcome, len(settled.baseline.runs)) == (Parity.WORSE, 1)


def test_a_row_without_tests_of_its_own_is_measured_for_the_comparison(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.measured(ON, range(40))

    def measure(suite: Suite, row: Row, *, judged: bool) -> list[Any]:
        assert not judged  # by a gate of its own, which nobody asked for
        suite.measured(row, range(40))
        return [SimpleNamespace(folder=folder) for folder in suite.folders[row.id]]

    monkeypatch.setattr(session, "serving", no_server)
    monkeypatch.setattr(session, "measure", measure)
    assert parity_of(suite, ON).of(Pair(ON, REFERENCE)).outcome is Parity.NO_WORSE


def test_a_server_that_does_not_start_leaves_its_cause(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.measured(ON, range(40))

    @contextmanager
    def refused(suite: Suite, row: Row, folder: Path | None = None) -> Iterator[Row]:
        raise ServerNotStarted("no such luck")
        yield row

    monkeypatch.setattr(session, "serving", refused)
    _, error = checked(suite, ON)
    assert isinstance(error, NoVerdict)
    assert suite.said == ["no such luck"]
