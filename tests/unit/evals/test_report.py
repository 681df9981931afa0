"""What is told of a row: the figures in table, message and page, and the bar while it runs."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from evals.errors import RecordsNotWritten
from evals.progress import Progress
from evals.records import FORMAT, Record, Recorder
from evals.report.page import write_page
from evals.report.text import HEADER, cells, message, verdict_table
from evals.run import Evaluation
from evals.scoring import count
from evals.statistics import wilson_interval
from evals.summary import Summary, summarize, summary_from, write_summary
from evals.verdict import Counts, Gate, Outcome

RED = "#b3141d"


def record(number: int, *, right: bool = True, **other: object) -> Record:
    plain = Record(
        id=f"test-{number:04d}",
        prompt_sha256="ab" * 32,
        gold="18",
        seconds=(number + 1) / 100,
        tries=1,
        text="#### 18" if right else "#### 17",
        value="18" if right else "17",
        right=right,
        right_sglang=right,
        finish_reason="stop",
        prompt_tokens=650,
        completion_tokens=30,
    )
    return replace(plain, **other)  # type: ignore[arg-type]


def evaluation(records: list[Record], folder: Path = Path("runs/a"), **other: object) -> Evaluation:
    counts = sum((count(one) for one in records), Counts())
    plain = Evaluation(
        name="row[a]",
        folder=folder,
        asked=100,
        partial=False,
        protocol="train",
        shots=8,
        server={"attention_backend": "fa3", "version": "0.5.15"},
        records=tuple(records),
        counts=counts,
        seconds=10.0,
        stopped=None,
        trouble=(),
    )
    return replace(plain, **other)  # type: ignore[arg-type]


@pytest.fixture
def passing() -> Summary:
    """94 of 100 right, 3 of them at the second try."""
    records = [record(number, right=number >= 6) for number in range(100)]
    records[97:] = [replace(one, tries=2) for one in records[97:]]
    return summarize([evaluation(records)], Gate(0.93))


@pytest.fixture
def failing(tmp_path: Path) -> Summary:
    """90 right, 7 wrong, 1 invalid, 2 failed; one text is markup."""
    records = [record(number) for number in range(90)]
    records += [record(number, right=False) for number in range(90, 97)]
    records[96] = replace(records[96], text="<script>alert('x')</script> & #### 17 \ud800")
    records.append(record(97, right=False, text="none", value=None, finish_reason="length"))
    records += [
        Record(f"test-{n:04d}", "ab" * 32, "18", 1.0, 6, error="HTTP 500: <b>no</b>")
        for n in (98, 99)
    ]
    with Recorder(tmp_path) as recorder:
        for one in records:
            recorder.append(one)
    return summarize([evaluation(records, tmp_path)], Gate(0.93))


def test_a_summary_holds_the_figures(passing: Summary) -> None:
    assert passing.outcome is Outcome.PASS
    assert passing.counts == Counts(right=94, wrong=6, right_sglang=94)
    assert (passing.accuracy, passing.accuracy_sglang, passing.needed) == (0.94, 0.94, 93)
    # Wilson's formula: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), z = 1.959964.
    assert passing.interval == pytest.approx((0.87523, 0.97221), abs=5e-6)
    assert passing.retried == 3
    assert passing.tokens_per_second == 300.0
    assert passing.latency == {"p50": 0.505, "p90": 0.901, "p99": 0.9901}
    assert (passing.missing, passing.failed) == (0, {})
    # P(Bin(100, 0.94) <= 92), the risk of a system that is as good as this.
    assert passing.chance_to_fail == pytest.approx(0.25165, abs=5e-6)


@pytest.mark.parametrize(
    ("questions", "wrong", "told"),
    [
        (40, 0, None),  # a perfect run of few questions: the gate lies within its wide interval
        (60, 1, None),  # P(Bin(60, 59/60) <= 55) = 0.33%
        (50, 1, "luck 2% of the time"),
    ],
)
def test_luck_of_0_percent_is_not_spoken_of(questions: int, wrong: int, told: str | None) -> None:
    records = [record(n, right=n >= wrong) for n in range(questions)]
    near = summarize([evaluation(records, asked=questions)], Gate(0.93))
    assert near.interval is not None
    assert near.interval[0] < 0.93
    text = message(near)
    assert "near the gate" not in text if told is None else told in text


def test_far_from_the_gate_luck_is_not_spoken_of() -> None:
    perfect = summarize([evaluation([record(n) for n in range(100)])], Gate(0.93))
    assert perfect.chance_to_fail is None


def test_the_table_holds_the_figures(passing: Summary, failing: Summary) -> None:
    assert dict(zip(HEADER, cells(passing), strict=True)) == {
        "row": "row[a]",
        "verdict": "PASS",
        "right": "94/100",
        "needed": "93",
        "accuracy": "0.9400",
        "95% interval": "0.8752 to 0.9722",
        "SGLang's rule": "0.9400",
        "invalid": "0",
        "truncated": "0",
        "failed": "0",
        "retried": "3",
        "tok/s": "300",
        "p50 s": "0.51",
        "p99 s": "0.99",
        "seconds": "10.0",
    }
    header, first, second = verdict_table([passing, failing]).splitlines()
    assert header.split()[:2] == ["row", "verdict"]
    assert "94/100" in first
    assert "FAIL" in second
    assert header.index("needed") + len("needed") == first.index(" 93 ") + len(" 93")


def test_of_a_gate_that_is_about_other_shots_nothing_is_required(tmp_path: Path) -> None:
    why = "asked with 4 shots of train; the row's gates are about 8 shots of train"
    records = [record(n, right=n >= 6) for n in range(100)]  # near the gate
    summary = summarize([evaluation(records, shots=4, otherwise=why)], Gate(0.93))
    told = dict(zip(HEADER, cells(summary), strict=True))
    assert told["verdict"] == "NO VERDICT (train, 4 shots)"
    assert (told["accuracy"], told["needed"]) == ("0.9400", "-")
    lines = message(summary).splitlines()
    assert lines[:2] == ["row[a]: NO VERDICT", f"  {why}"]
    assert lines[2].startswith("  observed: 94 right of 100 answered = 0.9400 ")
    assert not any("required" in line or "near the gate" in line for line in lines)
    page = write_page([summary], [], [], tmp_path / "report.html").read_text()
    assert page.count(RED) == 1  # of the styles: the figure draws no gate


def test_a_failing_rows_message_says_all_that_is_needed(failing: Summary) -> None:
    lines = message(failing).splitlines()
    assert lines[0] == "row[a]: FAIL"
    text = "\n".join(lines)
    for part in (
        "accuracy: 90 of 98 answered are right, so at most 92 of 100 can be; 93 are needed",
        "invalid: 1 answers hold no number; 0 may be so",
        "besides: 2 of 100 requests failed for good",
        "observed: 90 right of 98 answered = 0.9184 (95% interval 0.8471 to 0.9581)",
        "1 invalid, 1 truncated",
        "required: accuracy 0.93 = 93 of 100, at most 0 invalid",
        "near the gate: a system whose true accuracy is 0.9184 fails it by luck ",
        "test-0098: HTTP 500: <b>no</b>",
        "protocol: train, 8 shots",
        "attention_backend: fa3",
        f"records: {failing.runs[0]}",
        f"next: ask what is missing with --resume={failing.runs[0]}",
    ):
        assert part in text


def test_more_failed_requests_than_fit_are_named_in_one_line() -> None:
    records = [
        Record(f"test-{n:04d}", "ab" * 32, "18", 1.0, 6, error="HTTP 500: no") for n in range(12)
    ]
    text = message(summarize([evaluation(records)], Gate(0.93)))
    assert "test-0009: HTTP 500: no" in text
    assert "and 2 more: test-0010, test-0011" in text


def test_runs_are_pooled_and_each_is_shown(tmp_path: Path) -> None:
    halves = [
        evaluation([record(n, right=n >= lost) for n in range(100)], Path(f"runs/{lost}"))
        for lost in (5, 9)
    ]
    pooled = summarize(halves, Gate(0.93, runs=2))
    assert (pooled.outcome, pooled.questions, pooled.needed) == (Outcome.PASS, 200, 186)
    text = message(pooled)
    assert (
        "accuracy of each of 2 runs: 0.9500, 0.9100; standard deviation 2.83 points; between two "
        "runs 4.00% of the questions flip, 4 in all: test-0005, test-0006, test-0007, test-0008"
    ) in text
    file = write_summary(replace(pooled, runs=(str(tmp_path),)))
    kept = summary_from(json.loads(file.read_text()))
    assert (kept.repeats, kept.spread) == (pooled.repeats, pooled.spread)
    assert "2 runs pooled" in text
    assert "records: runs/5, runs/9" in text
    assert summarize(halves[:1], Gate(0.93, runs=2)).outcome is Outcome.NO_VERDICT


def test_asking_the_same_again_does_not_make_the_accuracy_surer() -> None:
    alone = [evaluation([record(n, right=n >= 9) for n in range(100)])]
    assert alone[0].counts.right == 91
    once = summarize(alone, None).interval
    assert once == pytest.approx(wilson_interval(91, 100))
    assert summarize(alone * 3, None).interval == pytest.approx(once)
    luck = [summarize(alone * runs, Gate(0.93, runs=runs)).chance_to_fail for runs in (1, 3)]
    assert luck[0] is not None
    assert luck[0] == luck[1]


def test_runs_that_differ_make_the_accuracy_surer() -> None:
    halves = [
        evaluation([record(n, right=not first <= n < first + 9) for n in range(100)])
        for first in (0, 9)
    ]
    once, twice = (summarize(some, None).interval for some in (halves[:1], halves))
    assert once is not None
    assert twice is not None
    assert once[0] < twice[0] < wilson_interval(182, 200)[0] + 1e-9
    # Questions that only one of the runs answered count too.
    short = evaluation([record(n, right=False) for n in range(10)])
    whole = evaluation([record(n) for n in range(100)])
    seen = summarize([whole, short], None)
    assert seen.accuracy == pytest.approx(100 / 110)
    assert seen.interval is not None
    assert seen.interval[0] < seen.accuracy < seen.interval[1]


def test_pooled_runs_are_not_said_to_be_resumable() -> None:
    short = [evaluation([record(n) for n in range(90)])]
    assert "--resume" in message(summarize(short, Gate(0.93)))
    assert "--resume" not in message(summarize(short, Gate(0.93, runs=2)))
    assert "--resume" not in message(summarize(short * 2, Gate(0.93, runs=2)))


def test_nothing_answered_is_told_without_figures() -> None:
    nothing = summarize([evaluation([], trouble=("the server died",))], Gate(0.93))
    assert nothing.outcome is Outcome.NO_VERDICT
    assert (nothing.accuracy, nothing.interval, nothing.latency) == (None, None, {})
    assert "  the server died" in message(nothing).splitlines()
    assert dict(zip(HEADER, cells(nothing), strict=True))["accuracy"] == "-"


def test_a_verdict_file_reads_back_as_the_summary(failing: Summary) -> None:
    content = json.loads(write_summary(failing).read_text("utf-8"))
    assert content["format"] == FORMAT
    assert content["outcome"] == "fail"
    assert asdict(summary_from(content)) == asdict(failing)


def test_the_page_shows_every_answer_that_is_not_right_as_text(
    failing: Summary, tmp_path: Path
) -> None:
    page = write_page(
        [failing], [], ["1319 of <1319> texts"], tmp_path / "reports" / "report.html"
    ).read_text("utf-8")
    assert "8 answers that are not right" in page
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; #### 17 \\ud800" in page
    assert "<script" not in page
    assert "<b>no</b>" not in page
    assert "test-0097, invalid" in page
    assert "<svg" in page
    assert "1319 of &lt;1319&gt; texts" in page
    for figure in ("90/98", "0.8471 to 0.9581", "FAIL"):
        assert figure in page


def test_a_page_that_cannot_be_written_is_named(passing: Summary, tmp_path: Path) -> None:
    alone = replace(passing, runs=())
    (tmp_path / "taken").write_text("")
    with pytest.raises(RecordsNotWritten, match=r"taken/report.html cannot be written"):
        write_page([alone], [], [], tmp_path / "taken" / "report.html")


def test_the_bar_shows_how_the_run_stands() -> None:
    drawn = io.StringIO()
    bar = Progress("row[a]", 100, 40, file=drawn)
    bar.update(Counts(right=38, wrong=2, invalid=1, failed=3))
    bar.close()
    last = drawn.getvalue().rpartition("\r")[2]
    assert "row[a]" in last
    assert "41/100" in last
    assert "accuracy 0.9268, invalid 1, failed 3" in last


def test_no_bar_is_drawn_where_none_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    bar = Progress("row[a]", 100)
    bar.update(Counts(right=1))
    bar.close()
    assert capsys.readouterr() == ("", "")
