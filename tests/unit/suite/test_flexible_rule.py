"""lm-evaluation-harness' flexible rule beside ours, on texts whose reading is known."""

import pytest

from evals.rules import flexible_text
from tests.real_model.flexible_rule import difference


@pytest.mark.parametrize(
    ("text", "extracted"),
    [
        ("The answer is 18.", "18."),
        ("So $1,234.50 it is", "$1,234.50"),
        ("7 apples", "7"),
        ("= -3", "-3"),
        ("none", None),
        ("wait...", "..."),
    ],
)
def test_the_flexible_rule_takes_the_last_run_of_number_characters(
    text: str, extracted: str | None
) -> None:
    assert flexible_text(text) == extracted


@pytest.mark.parametrize("text", ["The answer is 18.", "#### 18", "so 1,234", "nothing"])
def test_where_both_rules_agree_there_is_no_difference(text: str) -> None:
    assert difference(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#### 18\nNext: 20", "ours is the first number behind '####', 18"),
        ("#### 1:00", "ours is the first number behind '####', 1"),
        ("I count 5 apples...", "takes the punctuation"),
        ("from 10-20", "a minus that subtracts"),
    ],
)
def test_a_difference_is_explained(text: str, reason: str) -> None:
    assert reason in str(difference(text))


def test_a_difference_of_no_known_kind_is_called_unexplained() -> None:
    assert difference("7 or 1'000") == "unexplained"
