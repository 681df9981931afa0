"""The suite's options, read from a command line without a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.errors import UsageError
from fixtures.suite.options import Options, add_options, read_options


class Config:
    """As much of pytest's as reads options."""

    def __init__(self, *words: str) -> None:
        parser = pytest.Parser(_ispytest=True)
        add_options(parser)
        self._read = parser.parse_known_args(list(words))

    def getoption(self, name: str) -> object:
        return getattr(self._read, name)


def read(*words: str) -> Options:
    return read_options(Config(*words))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def no_folder_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GSM8K_DIR", raising=False)


def test_the_defaults() -> None:
    options = read()
    assert options.limits.parallel == 50
    assert options.limits.run_timeout == 3600
    assert options.limits.tries == 6
    assert options.early_stop
    assert options.runs_dir == Path("runs")
    assert options.question_set == "gsm8k"
    unset = (options.questions, options.shots, options.request_timeout, options.gsm8k)
    assert unset == (None, None, None, None)


def test_what_is_given_is_read() -> None:
    options = read("--questions=40", "--shots=0", "--parallel=1319", "--no-early-stop")
    assert (options.questions, options.shots, options.limits.parallel) == (40, 0, 1319)
    assert not options.early_stop


def test_gsm8k_on_the_command_line_counts_for_more_than_the_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GSM8K_DIR", "/environment")
    assert read().gsm8k == Path("/environment")
    assert read("--gsm8k=/here").gsm8k == Path("/here")


@pytest.mark.parametrize(
    "url", ["http://host:1", "http://host:1/", "http://host:1/v1", "http://host:1/v1/"]
)
def test_a_base_url_ends_before_v1(url: str) -> None:
    assert read("--base-url", url).base_url == "http://host:1"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--base-url=host:1",), "--base-url host:1: no URL such as http://127.0.0.1:30000"),
        (("--model=scout",), "--model goes with --base-url only"),
        (("--question-set=canary",), "--question-set goes with --base-url only"),
        (("--generation=cpu",), "--generation goes with --base-url only"),
        (("--base-url=http://h", "--generation=vax"), "--generation vax: unknown; allowed: .*cpu"),
        (("--resume=/no/run",), "/no/run is no run folder: there is no such folder"),
    ],
)
def test_options_that_do_not_go_together_are_named(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read(*words)


def test_a_run_of_a_newer_format_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(UsageError, match="has format 99, this version reads up to "):
        read("--resume", str(tmp_path))
