"""The text of each prompt, under both protocols."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.errors import UsageError
from evals.prompts import PROTOCOLS, Protocol, build_prompts, protocol_named
from evals.questions import Question, QuestionSet
from evals.task import Task

TINY = QuestionSet(
    "tiny",
    train=(
        Question(
            "train-0000", "Ann has 2 pears and buys 3. How many?", "2+3=5\n#### 5", Decimal(5)
        ),
        Question("train-0001", "Half of 8?", "8/2=4\n#### 4", Decimal(4)),
        Question("train-0002", "Not shown?", "#### 0", Decimal(0)),
    ),
    test=(
        Question("test-0000", "Bo eats 1 of 7 figs. How many stay?", "7-1=6\n#### 6", Decimal(6)),
        Question("test-0001", "Twice 9?", "9*2=18\n#### 18", Decimal(18)),
        Question("test-0002", "Price in $?", "#### 3", Decimal(3)),
    ),
    sha256={},
)

TRAIN_GOLDEN = [
    "Question: Ann has 2 pears and buys 3. How many?\n"
    "Answer: 2+3=5\n"
    "#### 5\n"
    "\n"
    "Question: Half of 8?\n"
    "Answer: 8/2=4\n"
    "#### 4\n"
    "\n"
    "Question: Bo eats 1 of 7 figs. How many stay?\n"
    "Answer:",
    "Question: Ann has 2 pears and buys 3. How many?\n"
    "Answer: 2+3=5\n"
    "#### 5\n"
    "\n"
    "Question: Half of 8?\n"
    "Answer: 8/2=4\n"
    "#### 4\n"
    "\n"
    "Question: Twice 9?\n"
    "Answer:",
    "Question: Ann has 2 pears and buys 3. How many?\n"
    "Answer: 2+3=5\n"
    "#### 5\n"
    "\n"
    "Question: Half of 8?\n"
    "Answer: 8/2=4\n"
    "#### 4\n"
    "\n"
    "Question: Price in $?\n"
    "Answer:",
]
SGLANG_GOLDEN = [
    "Question: Bo eats 1 of 7 figs. How many stay?\n"
    "Answer: 7-1=6\n"
    "#### 6\n"
    "\n"
    "Question: Twice 9?\n"
    "Answer: 9*2=18\n"
    "#### 18\n"
    "\n"
    "Question: Bo eats 1 of 7 figs. How many stay?\n"
    "Answer:",
    "Question: Bo eats 1 of 7 figs. How many stay?\n"
    "Answer: 7-1=6\n"
    "#### 6\n"
    "\n"
    "Question: Twice 9?\n"
    "Answer: 9*2=18\n"
    "#### 18\n"
    "\n"
    "Question: Twice 9?\n"
    "Answer:",
    "Question: Bo eats 1 of 7 figs. How many stay?\n"
    "Answer: 7-1=6\n"
    "#### 6\n"
    "\n"
    "Question: Twice 9?\n"
    "Answer: 9*2=18\n"
    "#### 18\n"
    "\n"
    "Question: Price in $?\n"
    "Answer:",
]


@pytest.mark.parametrize(
    ("protocol", "golden"), [("train", TRAIN_GOLDEN), ("sglang-bench", SGLANG_GOLDEN)]
)
def test_the_prompts_are_the_golden_ones(protocol: str, golden: list[str]) -> None:
    prompts = build_prompts(TINY, PROTOCOLS[protocol], 2)
    assert [prompt.text for prompt in prompts] == golden


def test_no_shots_leave_the_question_alone() -> None:
    prompts = build_prompts(TINY, PROTOCOLS["train"], 0)
    assert prompts[1].text == "Question: Twice 9?\nAnswer:"


@pytest.mark.parametrize("shots", [-1, 4])
@pytest.mark.parametrize(("protocol", "split"), [("train", "train"), ("sglang-bench", "test")])
def test_more_shots_than_the_split_holds_are_refused(protocol: str, split: str, shots: int) -> None:
    with pytest.raises(UsageError) as refused:
        build_prompts(TINY, PROTOCOLS[protocol], shots)
    assert str(refused.value) == f"{shots} shots: tiny allows 0 to 3 from its {split} split"


def test_an_unknown_protocol_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        UsageError, match=r"^protocol 'bench' is none of: train, sglang-bench, long$"
    ):
        protocol_named("bench")
    assert protocol_named("train") is PROTOCOLS["train"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
QUESTIONS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6).map(
    lambda rows: tuple(
        Question(f"{number}", question, answer, Decimal(0))
        for number, (question, answer) in enumerate(rows)
    )
)


@given(QUESTIONS, QUESTIONS, st.sampled_from([*PROTOCOLS.values()]), st.data())
def test_every_prompt_is_the_same_shots_and_then_its_question(
    train: tuple[Question, ...],
    test: tuple[Question, ...],
    protocol: Protocol,
    data: st.DataObject,
) -> None:
    split = train if protocol.shots_from == "train" else test
    shots = data.draw(st.integers(0, len(split)))
    prompts = build_prompts(QuestionSet("any", train, test, {}), protocol, shots)
    assert [prompt.question for prompt in prompts] == list(test)
    ends = [f"Question: {question.question}\nAnswer:" for question in test]
    prefixes = {prompt.text.removesuffix(end) for prompt, end in zip(prompts, ends, strict=True)}
    assert len(prefixes) == 1
    prefix = prefixes.pop()
    for prompt, end in zip(prompts, ends, strict=True):
        assert prompt.text == prefix + end
        assert prompt.sha256 == hashlib.sha256(prompt.text.encode()).hexdigest()
    for shot in split[:shots]:
        shown = f"Question: {shot.question}\nAnswer: {shot.answer}\n\n"
        assert prefix.startswith(shown)
        prefix = prefix.removeprefix(shown)
    assert prefix == ""


@pytest.mark.parametrize("name", ["train", "sglang-bench"])
def test_gsm8k_gives_1319_prompts_of_eight_shots(gsm8k: QuestionSet, name: str) -> None:
    protocol = PROTOCOLS[name]
    prompts = build_prompts(gsm8k, protocol, 8)
    assert len({prompt.sha256 for prompt in prompts}) == len(prompts) == 1319
    split = gsm8k.train if protocol.name == "train" else gsm8k.test
    for prompt, question in zip(prompts, gsm8k.test, strict=True):
        assert prompt.text.startswith(
            f"Question: {split[0].question}\nAnswer: {split[0].answer}\n\n"
        )
        assert prompt.text.endswith(
            f"Question: {split[7].question}\nAnswer: {split[7].answer}\n\n"
            f"Question: {question.question}\nAnswer:"
        )
        assert prompt.text.count("\nAnswer:") == 9


def test_the_train_protocol_leaks_no_question_that_is_scored(gsm8k: QuestionSet) -> None:
    shown = {question.question for question in gsm8k.train[:8]}
    assert not shown & {question.question for question in gsm8k.test}


def test_long_prompts_have_80_shots_and_200_of_them_are_a_whole_run() -> None:
    shots = tuple(Question(f"train-{n:04d}", "q?", "#### 1", Decimal(1)) for n in range(90))
    asked = tuple(Question(f"test-{n:04d}", "q?", "#### 1", Decimal(1)) for n in range(250))
    long = PROTOCOLS["long"]
    task = Task(QuestionSet("many", shots, asked, {}), long, long.shots or 0)
    prompts = task.prompts()
    assert len(prompts) == 200
    assert prompts[0].text.count("Question:") == 81
    assert not task.partial
    assert replace(task, first=199).partial
    with pytest.raises(UsageError, match="201 questions: many allows 1 to 200"):
        replace(task, first=201).prompts()
