"""A model that answers worse: verdict fail, exit code 10; and what is no such thing."""

from tests.faults.against_double import NEEDED, QUESTIONS, Measured, against_double

ALL = QUESTIONS
ONE = 1 / QUESTIONS


@against_double()
def test_all_right_passes(measured: Measured) -> None:
    session, verdict = measured.session, measured.run.verdict
    assert session.exit_code == 0
    assert verdict["outcome"] == "pass"
    assert verdict["counts"]["right"] == len(measured.run.answers) == ALL
    assert "1 gate: 1 passed, 0 failed, 0 without a verdict; exit code 0" in session.output
    assert session.seconds < 60


@against_double("--parallel", "1", accuracy=0.9)
def test_a_lost_gate_stops_at_the_93rd_wrong_answer(measured: Measured) -> None:
    session, verdict = measured.session, measured.run.verdict
    assert session.exit_code == 10
    assert verdict["outcome"] == "fail"
    assert verdict["counts"]["wrong"] == ALL - NEEDED + 1 == 93
    assert verdict["stopped"] == "93 answers are not right, 92 of 1319 may be"
    assert len(measured.run.answers) < ALL
    assert f"so at most {NEEDED - 1} of {ALL} can be; {NEEDED} are needed for 0.93" in (
        session.output
    )


@against_double(accuracy=0.9)
def test_a_lost_gate_stops_with_many_in_flight(measured: Measured) -> None:
    counts = measured.run.verdict["counts"]
    assert measured.session.exit_code == 10
    assert counts["wrong"] == 93
    assert counts["right"] + counts["wrong"] == len(measured.run.answers) < ALL
    assert measured.stats is not None
    assert measured.stats.requests < ALL
    assert measured.stats.in_flight == 0


@against_double("--no-early-stop", accuracy=0.9)
def test_without_early_stop_a_lost_gate_asks_all(measured: Measured) -> None:
    verdict = measured.run.verdict
    assert measured.session.exit_code == 10
    assert verdict["outcome"] == "fail"
    assert verdict["counts"]["right"] == round(0.9 * ALL)
    assert len(measured.run.answers) == ALL
    assert verdict["stopped"] is None


@against_double("--shots", "4", accuracy=0.9)
def test_a_gate_about_other_shots_neither_ends_a_run_nor_judges_it(measured: Measured) -> None:
    session, verdict = measured.session, measured.run.verdict
    assert session.exit_code == 11
    assert verdict["outcome"] == "no verdict"
    why = "asked with 4 shots of train; the row's gates are about 8 shots of train"
    assert verdict["reasons"] == [why]
    assert why in session.output
    assert "NO VERDICT (train, 4 shots)  1187/1319" in session.output
    assert len(measured.run.answers) == ALL


@against_double("--shots", "8", "--protocol", "train")
def test_the_rows_own_shots_and_protocol_may_be_given(measured: Measured) -> None:
    assert measured.session.exit_code == 0


@against_double(invalid_share=ONE)
def test_one_invalid_answer_fails_and_the_run_goes_on_to_its_end(measured: Measured) -> None:
    verdict = measured.run.verdict
    assert measured.session.exit_code == 10
    assert verdict["reasons"] == ["invalid: 1 answers hold no number; 0 may be so"]
    assert len(measured.run.answers) == ALL
    assert verdict["counts"]["right"] == ALL - 1


@against_double(invalid_share=0.05)
def test_more_than_one_percent_invalid_stops_the_run(measured: Measured) -> None:
    counts = measured.run.verdict["counts"]
    assert measured.session.exit_code == 10
    assert 14 <= counts["invalid"] < 66
    assert len(measured.run.answers) < ALL
    assert "answers are invalid, 0 may be" in measured.session.output


@against_double(empty_share=3 * ONE)
def test_empty_texts_are_invalid(measured: Measured) -> None:
    counts = measured.run.verdict["counts"]
    empty = [a for a in measured.run.answers if a["text"] == ""]
    assert measured.session.exit_code == 10
    assert counts["invalid"] == len(empty) == 3
    assert counts["failed"] == 0
    assert all(a["value"] is None and a["error"] is None for a in empty)


@against_double(truncated_share=20 * ONE)
def test_truncated_answers_are_counted_apart(measured: Measured) -> None:
    counts = measured.run.verdict["counts"]
    assert measured.session.exit_code == 0
    assert counts["truncated"] == counts["wrong"] == 20
    assert counts["invalid"] == 0
    assert counts["right"] == ALL - 20
