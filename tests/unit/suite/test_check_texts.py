"""Texts held against a reference implementation's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.errors import NoVerdict, UsageError
from evals.records import Record
from evals.run import Evaluation
from evals.verdict import Counts, Outcome
from fixtures.measuring.gates import GateChecker, GateFailed

QUESTIONS = 10


def evaluation(
    texts: dict[int, str], failed: tuple[int, ...] = (), partial: bool = False
) -> Evaluation:
    """A run that answered these questions with these texts."""
    common: dict[str, Any] = {"prompt_sha256": "ab" * 32, "gold": "1", "seconds": 0.1, "tries": 1}
    answered = [Record(id=f"test-{n:04d}", text=text, **common) for n, text in texts.items()]
    lost = [Record(id=f"test-{n:04d}", error="HTTP 500", **common) for n in failed]
    return Evaluation(
        name="row",
        folder=Path("runs/one"),
        asked=QUESTIONS,
        partial=partial,
        protocol="train",
        shots=8,
        server={},
        records=(*answered, *lost),
        counts=Counts(),
        seconds=1.0,
        stopped=None,
        trouble=(),
    )


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    """Ten texts, "text 0" to "text 9"."""
    file = tmp_path / "reference.jsonl"
    rows = [
        {"id": f"test-{n:04d}", "prompt_sha256": "ab" * 32, "text": f"text {n}\n\n"}
        for n in range(QUESTIONS)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def kept() -> list[Outcome]:
    return []


@pytest.fixture
def checker(kept: list[Outcome]) -> GateChecker:
    return GateChecker(None, lambda outcome, _: kept.append(outcome))


def same(*numbers: int) -> dict[int, str]:
    return {number: f"text {number}" for number in numbers}


def test_enough_same_texts_pass_whatever_blanks_they_end_in(
    checker: GateChecker, kept: list[Outcome], reference: Path
) -> None:
    checker.check_texts(evaluation(same(*range(9)) | {9: "else"}), reference, 9)
    assert kept == [Outcome.PASS]


def test_too_few_same_texts_fail_and_the_first_differences_are_named(
    checker: GateChecker, kept: list[Outcome], reference: Path
) -> None:
    with pytest.raises(GateFailed) as caught:
        checker.check_texts(evaluation(same(*range(8)) | {8: "else", 9: ""}), reference, 9)
    assert kept == [Outcome.FAIL]
    assert "row: 8 of 10 texts are the reference implementation's, 9 are required" in (
        str(caught.value)
    )
    assert "2 differ, the first: test-0008, test-0009" in str(caught.value)
    assert f"reference: {reference}" in str(caught.value)


def test_texts_that_are_missing_could_still_be_the_same_so_there_is_no_verdict(
    checker: GateChecker, kept: list[Outcome], reference: Path
) -> None:
    with pytest.raises(NoVerdict, match="2 were not answered"):
        checker.check_texts(evaluation(same(*range(7)) | {7: "else"}, (8, 9)), reference, 9)
    assert kept == [Outcome.NO_VERDICT]


def test_a_fail_stands_whatever_the_missing_would_have_been(
    checker: GateChecker, kept: list[Outcome], reference: Path
) -> None:
    with pytest.raises(GateFailed):
        checker.check_texts(evaluation(same(*range(7)) | {7: "a", 8: "b"}, (9,)), reference, 9)
    assert kept == [Outcome.FAIL]


def test_a_partial_run_never_fails(
    checker: GateChecker, kept: list[Outcome], reference: Path
) -> None:
    with pytest.raises(NoVerdict):
        checker.check_texts(evaluation({0: "a", 1: "b", 2: "c"}, partial=True), reference, 9)
    assert kept == [Outcome.NO_VERDICT]


@pytest.mark.parametrize("texts", [same(*range(10)), dict.fromkeys(range(10), "else")])
def test_texts_of_something_else_than_asked_for_neither_pass_nor_fail(
    checker: GateChecker, kept: list[Outcome], reference: Path, texts: dict[int, str]
) -> None:
    void = replace(evaluation(texts), void=("prompts were truncated",))
    with pytest.raises(NoVerdict, match="row: prompts were truncated"):
        checker.check_texts(void, reference, 9)
    assert kept == [Outcome.NO_VERDICT]


@pytest.mark.parametrize("texts", [same(*range(10)), dict.fromkeys(range(10), "else")])
@pytest.mark.parametrize("change", [{"prompt_sha256": "cd" * 32}, {"id": "own-0007"}])
def test_texts_of_other_prompts_neither_pass_nor_fail(
    checker: GateChecker,
    kept: list[Outcome],
    reference: Path,
    texts: dict[int, str],
    change: dict[str, str],
) -> None:
    run = evaluation(texts)
    records = [replace(r, **change) if r.id == "test-0007" else r for r in run.records]
    with pytest.raises(NoVerdict) as caught:
        checker.check_texts(replace(run, records=tuple(records)), reference, 9)
    question = change.get("id", "test-0007")
    assert f"{reference} answers other prompts than were asked" in str(caught.value)
    assert f"{question} and 0 more" in str(caught.value)
    assert kept == [Outcome.NO_VERDICT]


@pytest.mark.parametrize("content", [None, "no JSON\n", '{"id": "test-0000"}\n', "[1]\n"])
def test_a_file_that_holds_no_texts_is_named(
    checker: GateChecker, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "broken.jsonl"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=r"broken\.jsonl is no file of reference texts"):
        checker.check_texts(evaluation(same(0)), file, 1)
