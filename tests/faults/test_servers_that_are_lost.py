"""An attached server that dies, refuses, or was never there: no verdict, soon, with its cause."""

import socket
from pathlib import Path

from tests.double import running_double
from tests.faults.against_double import ATTACHED, GATE, QUESTIONS, Measured, against_double
from tests.sessions import CANARY_QUESTIONS, run_session

DIES_AFTER = 600


@against_double(accuracy=0.96, die_after=DIES_AFTER)
def test_a_server_that_dies_has_no_verdict_and_a_resume_brings_the_unbroken_score(
    measured: Measured,
) -> None:
    session, run = measured.session, measured.run
    before = {a["id"]: a for a in run.answers if a["error"] is None}
    assert session.exit_code == 11
    assert DIES_AFTER - 50 < len(before) <= DIES_AFTER
    trouble = run.verdict["reasons"][0]
    assert "requests in a row got no answer, the last after 6 tries: ClientConnectorError" in (
        trouble
    )
    assert f"next: ask what is missing with --resume={run.folder}" in session.output
    assert session.seconds < 60  # six tries with backoff take 8 to 16 s

    with running_double(answers=CANARY_QUESTIONS, accuracy=0.96) as healthy:
        url = ("--base-url", healthy.base_url)
        resumed = run_session(
            *ATTACHED, *url, "--resume", str(run.folder), runs_dir=session.runs_dir
        )
        asked = healthy.stats().requests
    assert resumed.exit_code == 0
    assert asked == QUESTIONS - len(before)
    assert resumed.run.folder == run.folder
    assert run.verdict["outcome"] == "pass"
    assert run.score["right"] == round(0.96 * QUESTIONS)
    after = {a["id"]: a for a in run.answers}
    assert len(after) == len(run.answers) == QUESTIONS
    assert before.items() <= after.items()
    assert [attempt["asked"] for attempt in run.about["attempts"]] == [QUESTIONS, asked]


@against_double(reject=True)
def test_a_400_ends_the_run_at_once_with_the_servers_words(measured: Measured) -> None:
    assert measured.session.exit_code == 11
    assert "refused a request, HTTP 400: This model's maximum context length is exceeded" in (
        measured.session.output
    )
    assert measured.stats is not None
    assert measured.stats.requests <= 50
    assert measured.session.seconds < 60


@against_double(api_key="secret")
def test_a_401_ends_the_run_at_once_with_the_servers_words(measured: Measured) -> None:
    assert measured.session.exit_code == 11
    assert "refuses the key in OPENAI_API_KEY, or the lack of one" in measured.session.output
    assert "401 - Incorrect API key provided." in measured.session.output
    assert measured.session.seconds < 60


@against_double("--model", "scout", model="maverick")
def test_a_model_that_is_not_served_is_named_beside_those_that_are(measured: Measured) -> None:
    assert measured.session.exit_code == 11
    assert "does not list a model 'scout'; it lists maverick" in measured.session.output
    assert measured.session.seconds < 60


def test_nobody_listening_is_one_line(runs_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        url = f"http://127.0.0.1:{once.getsockname()[1]}"
    session = run_session(*ATTACHED, "--base-url", url, runs_dir=runs_dir)
    assert session.exit_code == 11
    assert f"no server answers at {url}" in session.output
    assert f"no verdict: {GATE}" in session.output
    assert session.seconds < 60
