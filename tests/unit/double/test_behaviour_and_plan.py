"""The pure part of the double: options, exact shares, draws that repeat."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.double import Behaviour, Fate, plan, running_double
from tests.double.behaviour import from_arguments
from tests.double.plan import Mishap, mishap, question_in, read_golds

ROWS = 1319


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """As many questions as GSM8K's test split has, golds with commas and signs among them."""
    golds = ["18", "-3", "2,125"]
    rows = [
        {"question": f"What is number {i}?", "answer": f"So.\n#### {golds[i % 3]}"}
        for i in range(ROWS)
    ]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize("accuracy", [0.0, 0.1, 0.93, 0.9348, 1.0])
def test_the_share_of_right_answers_is_exact(answers: Path, accuracy: float) -> None:
    golds = read_golds(answers)
    planned = plan(Behaviour(answers=answers, accuracy=accuracy))
    right = [row for row in planned.values() if row.text.endswith(f"#### {golds[row.question]}")]
    assert len(right) == round(accuracy * ROWS) == sum(row.right for row in planned.values())


def test_the_other_answers_are_one_too_high(answers: Path) -> None:
    planned = plan(Behaviour(answers=answers, accuracy=0.0))
    assert {row.text.rpartition("#### ")[2] for row in planned.values()} == {"19", "-2", "2126"}


def test_fates_take_exact_shares_that_do_not_overlap(answers: Path) -> None:
    behaviour = Behaviour(answers=answers, fail_share=0.01, hang_share=0.01, truncated_share=0.5)
    fates = Counter(row.fate for row in plan(behaviour).values())
    assert fates == {Fate.FAIL: 13, Fate.HANG: 13, Fate.TRUNCATED: 660, Fate.ANSWER: 633}


def test_a_spoilt_answer_is_never_right(answers: Path) -> None:
    for share in ("empty_share", "invalid_share", "truncated_share"):
        planned = plan(Behaviour.of({"answers": answers, share: 1.0})).values()
        assert not any(row.right or "####" in row.text for row in planned)
    golds = read_golds(answers)
    planned = plan(Behaviour(answers=answers, truncated_share=1.0)).values()
    assert {row.finish_reason for row in planned} == {"length"}
    assert all(re.findall(r"-?\d+", row.text)[-1] != golds[row.question] for row in planned)


def test_invalid_text_holds_no_digit(answers: Path) -> None:
    planned = plan(Behaviour(answers=answers, invalid_share=1.0)).values()
    assert not any(re.search(r"\d", row.text) for row in planned)


def test_the_plan_repeats_and_another_seed_gives_another(answers: Path) -> None:
    first = plan(Behaviour(answers=answers, accuracy=0.5, fail_share=0.1))
    assert first == plan(Behaviour(answers=answers, accuracy=0.5, fail_share=0.1))
    assert first != plan(Behaviour(answers=answers, accuracy=0.5, fail_share=0.1, seed=1))


def test_mishaps_are_drawn_anew_at_each_try_at_their_rates(answers: Path) -> None:
    told = Behaviour(answers=answers, error_rate=0.05, drop_rate=0.05, rate_limit_rate=0.1)
    tries = [[mishap(told, f"question {i}", n) for n in range(1, 5)] for i in range(5000)]
    counts = Counter(met for row in tries for met in row)
    # 20,000 draws: one standard deviation is 31 at 5% and 42 at 10%; four of them are allowed.
    assert counts[Mishap.ERROR] == pytest.approx(1000, abs=124)
    assert counts[Mishap.DROP] == pytest.approx(1000, abs=124)
    assert counts[Mishap.RATE_LIMIT] == pytest.approx(2000, abs=170)
    twice = sum(row[0] is not None and row[1] is not None for row in tries)
    assert twice == pytest.approx(200, abs=56)  # 0.2 * 0.2 of 5000: tries are independent


def test_the_question_is_the_last_one_of_a_few_shot_prompt() -> None:
    shot = "Question: What is 1 + 1?\nAnswer: 2\n#### 2\n\n"
    assert question_in(f"{shot}{shot}Question: And 2 + 2?\nAnswer:") == "And 2 + 2?"


def test_the_command_line_says_what_the_dataclass_says(answers: Path) -> None:
    told = Behaviour(
        answers=answers, accuracy=0.9348, reject=True, die_after=600, api_key="-k", model="m"
    )
    assert from_arguments(told.arguments()) == told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"error_rate": 1.5}, "error_rate = 1.5: give a share from 0 to 1"),
        ({"accuracy": float("nan")}, "accuracy = nan"),
        ({"fail_share": 0.7, "hang_share": 0.4}, "fail_share 0.4|hang_share 0.4, fail_share 0.7"),
        ({"error_rate": 0.7, "drop_rate": 0.4}, "sum to 1 at most: error_rate 0.7, drop_rate 0.4"),
        ({"delay": -1.0}, "delay = -1.0"),
        ({"die_after": 0}, "die_after = 0"),
        ({"eror_rate": 0.1}, "no option 'eror_rate': it has answers, port, seed"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_in_one_line(
    answers: Path, options: dict[str, float], why: str
) -> None:
    with (
        pytest.raises(ValueError, match=why) as caught,
        running_double(answers=answers, **options),
    ):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words", [["--error-rate", "1.5"], ["--error-rate", "x"], ["--eror", "1"]])
def test_the_command_line_refuses_in_one_line_too(
    answers: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        from_arguments(["--answers", str(answers), *words])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_row_without_a_number_is_refused_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "a", "answer": "#### 1"}\n{"question": "b", "answer": "none"}\n')
    with pytest.raises(ValueError, match=r"questions\.jsonl:2: not a row"):
        read_golds(file)
