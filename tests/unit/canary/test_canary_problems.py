"""The generator of word problems."""

from __future__ import annotations

import re
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.canary.problems import EDGE, KINDS, ROUTINE, is_held_out, problems, shares, write

EQUATION = re.compile(r"(\d+(?: [-+*/] \d+)+) = (\d+)")
REMAINDER = re.compile(r"(\d+) / (\d+) leaves (\d+)")


@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 2**32))
@settings(max_examples=400, deadline=None)
def test_every_step_of_an_answer_is_true(kind: str, seed: int) -> None:
    problem = write(kind, Random(seed))
    equations = EQUATION.findall(problem.answer)
    remainders = REMAINDER.findall(problem.answer)
    assert equations or remainders
    for left, right in equations:
        assert eval(left) == int(right)
    for total, divisor, rest in remainders:
        assert int(total) % int(divisor) == int(rest)


@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 2**32))
@settings(max_examples=400, deadline=None)
def test_an_answer_ends_in_its_result_which_the_last_step_yields(kind: str, seed: int) -> None:
    problem = write(kind, Random(seed))
    steps, mark, result = problem.answer.partition("\n#### ")
    assert mark
    assert int(result) == problem.value >= 0
    results = [found[-1] for found in (EQUATION.findall(steps) or REMAINDER.findall(steps))]
    assert int(results[-1]) == problem.value


@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_a_question_gives_every_number_that_its_first_step_uses(kind: str, seed: int) -> None:
    problem = write(kind, Random(seed))
    given_numbers = set(re.findall(r"\d+", problem.question))
    first = (EQUATION.findall(problem.answer) or REMAINDER.findall(problem.answer))[0][0]
    unknown = set(re.findall(r"\d+", first)) - given_numbers
    known_by_heart = {"2", "3", "5", "4", "10", "60"}  # halves, thirds, percent, minutes
    assert unknown <= known_by_heart or kind == "left_over"


def test_the_same_seed_draws_the_same_problems() -> None:
    def drawn(seed: int) -> list[str]:
        source = problems(Random(seed), shares({}), held_out=False)
        return [problem.question for problem in islice(source, 50)]

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize("held_out", [True, False])
def test_each_side_of_the_split_gets_only_its_own_questions(held_out: bool) -> None:
    source = problems(Random(3), shares(dict.fromkeys(EDGE, 0.04)), held_out=held_out)
    assert {is_held_out(problem.question) for problem in islice(source, 500)} == {held_out}


def test_the_split_depends_on_the_text_alone() -> None:
    texts = [f"question {number}" for number in range(4000)]
    sides = [is_held_out(text) for text in texts]
    assert sides == [is_held_out(text) for text in texts]
    assert 4000 / 16 * 0.75 < sum(sides) < 4000 / 16 * 1.25


def test_there_are_more_than_30_kinds_beside_those_at_the_edge() -> None:
    assert len(ROUTINE) >= 36
    assert len(EDGE) == 10
    assert set(KINDS) == {*ROUTINE, *EDGE}


def test_named_shares_leave_the_rest_to_the_other_routine_kinds() -> None:
    mix = shares({"tiles": 0.2, "change": 0.1})
    assert sum(mix.values()) == pytest.approx(1)
    assert mix["tiles"] == 0.2
    assert mix["change"] == 0.1
    assert mix["packs"] == pytest.approx(0.7 / (len(ROUTINE) - 1))
