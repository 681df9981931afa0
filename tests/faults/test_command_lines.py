"""What a user gets wrong is one clear line, never a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.double import running_double
from tests.faults.against_double import ATTACHED
from tests.sessions import CANARY_QUESTIONS, ROOT, Session, run_session

USAGE = 4

MATRIX = """
[models.canary-stock]
path = "canary"
questions = "canary"
source = "a test"

[[rows]]
model = "canary-stock"
engine = "llama_cpp"
backend = "fa_off"
generation = "cpu"
tier = "merge"
"""


def _errors(session: Session) -> list[str]:
    lines = session.output.splitlines()
    return [line for line in lines if re.search(r"(?i)\berror: (?!usage)", line)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--questions", "0"), "argument --questions: '0' is no whole number of at least 1"),
        (("--parallel", "x"), "argument --parallel: 'x' is no whole number of at least 1"),
        (("--run-timeout", "soon"), "'soon' is no number of seconds above 0"),
        (("--matrix", "/no/matrix.toml"), "/no/matrix.toml: no such matrix file"),
        (("--resume", "/no/run"), "/no/run is no run folder: there is no such folder"),
    ],
)
def test_an_option_that_cannot_be_used_is_one_line(
    runs_dir: Path, arguments: tuple[str, ...], says: str
) -> None:
    session = run_session(*arguments, runs_dir=runs_dir)
    assert session.exit_code == USAGE
    (error,) = _errors(session)
    assert says in error
    assert not runs_dir.exists()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ('colour = "red"', "rows[0].colour: unknown key; allowed: "),
        ("shots =", "not a readable TOML file"),
    ],
)
def test_a_mistake_in_a_matrix_is_one_line(runs_dir: Path, wrong: str, says: str) -> None:
    matrix = runs_dir.with_name("matrix.toml")
    matrix.write_text(MATRIX + wrong)
    session = run_session("--matrix", str(matrix), runs_dir=runs_dir)
    assert session.exit_code == USAGE
    (error,) = _errors(session)
    assert f"{matrix}: " in error
    assert says in error


def test_a_marker_that_nobody_registered_selects_nothing(runs_dir: Path) -> None:
    session = run_session("-m", "blackwall", runs_dir=runs_dir)
    assert session.exit_code in (USAGE, pytest.ExitCode.NO_TESTS_COLLECTED)  # by pytest's version
    assert "no verdict: " not in session.output


def test_every_option_of_the_suite_is_explained() -> None:
    command = [sys.executable, "-m", "pytest", "--help"]
    helped = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in ("--gsm8k", "--questions", "--parallel", "--resume", "--runs-dir", "--base-url"):
        assert f"  {name}=" in helped


def test_what_only_a_measurement_finds_out_is_one_line_and_no_verdict(tmp_path: Path) -> None:
    """Questions that are not there, and a number that the set does not hold."""
    with running_double(answers=CANARY_QUESTIONS) as double:

        def measure(*arguments: str) -> Session:
            url = ("-m", "cpu", "--generation", "cpu", "--base-url", double.base_url)
            return run_session(*url, *arguments, runs_dir=tmp_path / "runs")

        wrong_folder = measure("--gsm8k", str(tmp_path))
        assert wrong_folder.exit_code == 11
        assert f"gsm8k: {tmp_path / 'train.jsonl'} is missing" in wrong_folder.output

        too_many = measure("--question-set", "canary", "--questions", "2000")
        assert too_many.exit_code == 4
        assert "2000 questions: canary allows 1 to 1319" in too_many.output
        assert double.stats().requests == 0


def test_a_run_of_another_configuration_is_not_resumed(runs_dir: Path) -> None:
    with running_double(answers=CANARY_QUESTIONS) as double:
        url = ("--base-url", double.base_url)
        partial = run_session(*ATTACHED, *url, "--questions", "40", runs_dir=runs_dir)
        answers = partial.run.answers
        resume = ("--resume", str(partial.run.folder))
        other = run_session(
            *ATTACHED, *url, *resume, "--questions", "40", "--shots", "4", runs_dir=runs_dir
        )
        elsewhere = run_session("-m", "cpu", *resume, runs_dir=runs_dir)
    assert partial.exit_code == 11
    assert "a partial run: only 40 questions were asked for" in partial.output
    assert partial.run.verdict["outcome"] == "no verdict"
    assert len(answers) == 40

    assert other.exit_code == 11
    assert "cannot be resumed: shots was 8, is 4" in other.output
    assert other.run.answers == answers

    assert elsewhere.exit_code == USAGE
    (error,) = _errors(elsewhere)
    assert "that run is of served-attached-cpu, and this session's rows are canary-" in error
