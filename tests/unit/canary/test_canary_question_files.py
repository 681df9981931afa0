"""The held-out questions and the shots as they are committed."""

from __future__ import annotations

from collections import Counter
from functools import cache
from statistics import fmean

from tokenizers import Tokenizer

from fixtures.canary import CANARY_DIR, VARIANTS
from fixtures.canary.problems import Problem, is_held_out
from fixtures.canary.prompts import Row, prompt
from fixtures.canary.questions import (
    SHOTS_FILE,
    TEST_FILE,
    draw_shots,
    draw_test,
    read_mix,
    read_rows,
    row,
)


@cache
def asked() -> list[Row]:
    return read_rows(TEST_FILE)


@cache
def drawn() -> list[Problem]:
    return draw_test(read_mix())


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(CANARY_DIR / "stock" / "tokenizer.json"))


def test_there_are_1319_questions_and_none_twice() -> None:
    assert len({line["question"] for line in asked()}) == len(asked()) == 1319


def test_every_question_is_held_out_and_no_shot_is() -> None:
    assert all(is_held_out(line["question"]) for line in asked())
    assert not any(is_held_out(line["question"]) for line in read_rows(SHOTS_FILE))


def test_the_files_are_what_the_generator_writes() -> None:
    assert asked() == [row(problem) for problem in drawn()]
    shots = draw_shots(read_mix(), tokenizer())
    assert read_rows(SHOTS_FILE) == [row(problem) for problem in shots]


def test_every_gold_answer_is_its_problem_s_value() -> None:
    golds = [line["answer"].rpartition("#### ")[2] for line in asked()]
    assert golds == [str(problem.value) for problem in drawn()]


def test_at_least_30_kinds_are_asked() -> None:
    counts = Counter(problem.kind for problem in drawn())
    assert len(counts) >= 50
    assert max(counts.values()) < 0.06 * 1319


def test_8_shots_fit_in_720_tokens() -> None:
    shots = read_rows(SHOTS_FILE)
    assert len(shots) == 8
    assert len(tokenizer().encode(prompt(shots, "")).ids) <= 720


def test_answers_average_at_most_60_tokens() -> None:
    encoded = tokenizer().encode_batch([" " + line["answer"] for line in asked()])
    assert fmean(len(encoding.ids) for encoding in encoded) <= 60


def test_both_variants_have_the_same_tokenizer() -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        first, second = ((CANARY_DIR / variant / name).read_bytes() for variant in VARIANTS)
        assert first == second


def test_digits_are_tokens_of_their_own() -> None:
    tokens = tokenizer().encode("A box of 1205 eggs costs $37.").tokens
    assert [token for token in tokens if any(map(str.isdigit, token))] == list("120537")
