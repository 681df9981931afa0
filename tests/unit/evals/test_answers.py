"""What number a text answers with, by this project's rule and by SGLang's."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evals.answers import extract_answer, sglang_answer
from evals.questions import QuestionSet

# Any text at all, lone surrogates included: a server's JSON can carry them.
ANY_TEXT = st.text(st.characters())
NUMERIC_TEXT = st.text("0123456789 .,-$%#\u2212\u00a0'()=:\n\u0663x", max_size=60)

READ_AS = {
    # The mark, and what may stand around its number.
    "#### 18": "18",
    "####18": "18",
    "#### 18\n\nQuestion: 7 boys?\nAnswer: 9": "18",
    "#### 18 #### 20": "18",
    "It is 5.\n#### The answer is 18 eggs, not 20": "18",
    "7 eggs\n####": "7",
    "7 eggs and 9 more\n#### none": "9",
    "#### 18.": "18",
    "#### 18.00": "18",
    "#### **18**": "18",
    r"#### \boxed{18}": "18",
    r"#### \$18": "18",
    # No mark: the last number.
    "He has 3, then 5 and so 18 eggs": "18",
    "The answer is 18.": "18",
    "**18**": "18",
    r"\boxed{18}": "18",
    "(18)": "18",
    "### 4": "4",
    # Signs.
    "#### -3": "-3",
    "#### - 3": "-3",
    "#### \u22123": "-3",
    "#### \u2212 3": "-3",
    "#### -$3": "-3",
    "#### $-3": "-3",
    "#### \u2212$1,234.50": "-1234.5",
    "the loss is -3": "-3",
    "x = - 3": "-3",
    "(-3)": "-3",
    "#### +3": "3",
    # A minus that is no sign.
    "10-20": "20",
    "10 \u2013 20": "20",
    "50 - 8": "8",
    "50 -8": "8",
    "(40 + 10) - 8": "8",
    "50% - 8": "8",
    "mid-8": "8",
    "The steps:\n- 5 eggs": "5",
    "The steps:\n- 5 eggs\n- 7 eggs": "7",
    # Currency, percent, separators of thousands, decimals.
    "#### $18": "18",
    "#### \u20ac 18": "18",
    "#### 18 \u20ac": "18",
    "#### 18%": "18",
    "#### 1,234": "1234",
    "#### 1,234,567.89": "1234567.89",
    "#### 1\u2009234": "1234",
    "#### 1\u00a0234": "1234",
    "#### 1\u202f234\u202f567": "1234567",
    "#### 1'234": "1234",
    "#### 1\u2019234": "1234",
    "#### 0.5": "0.5",
    "#### .5": "0.5",
    "#### -.5": "-0.5",
    "#### $.50": "0.5",
    "#### 007": "7",
    # Separators that are none.
    "5, 100": "100",
    "5 100": "100",
    "1,23": "23",
    "1,2345": "2345",
    # Half a character beside the number, as a cut text can leave.
    "\ud800#### 18\udfff": "18",
}


@pytest.mark.parametrize(("text", "number"), READ_AS.items())
def test_a_text_is_read_as_a_number(text: str, number: str) -> None:
    assert extract_answer(text) == Decimal(number)


@pytest.mark.parametrize(
    "text", ["", " ", "####", "#### none", "no number", "-", "$", ".", "\u0663", "\u00bd", "\ud800"]
)
def test_a_text_without_a_number_is_invalid(text: str) -> None:
    assert extract_answer(text) is None


def test_a_huge_number_is_read_exactly() -> None:
    digits = "7" * 50_000  # more than int() reads (4300), and than a Decimal context holds (28)
    assert extract_answer(f"#### -{digits}") == Decimal(f"-{digits}")


def test_a_long_text_is_read_in_no_time() -> None:
    assert extract_answer("1 " * 100_000 + "- " * 100_000 + "18") == 18


def plain(number: Decimal) -> str:
    return f"{number:f}"


def grouped(separator: str, number: Decimal) -> str:
    return f"{number:,f}".replace(",", separator)


FORMS: dict[str, Callable[[Decimal], str]] = {
    "plain": plain,
    "comma": lambda n: grouped(",", n),
    "thin space": lambda n: grouped("\u2009", n),
    "no-break space": lambda n: grouped("\u00a0", n),
    "apostrophe": lambda n: grouped("'", n),
    "unicode minus": lambda n: plain(n).replace("-", "\u2212"),
    "currency": lambda n: ("-$" if n.is_signed() else "$") + f"{n.copy_abs():,f}",
    "percent": lambda n: plain(n) + "%",
    "full stop": lambda n: plain(n) + ".",
    "bold": lambda n: f"**{plain(n)}**",
    "boxed": lambda n: rf"\boxed{{{plain(n)}}}",
    "trailing zeros": lambda n: plain(n) + ("00" if "." in plain(n) else ".00"),
    "written on": lambda n: f"{plain(n)}\n\nQuestion: 7 of 9?",
}


@pytest.mark.parametrize("form", FORMS)
@given(
    st.decimals(
        min_value=-(10**12), max_value=10**12, places=3, allow_nan=False, allow_infinity=False
    )
    | st.integers(-(10**20), 10**20).map(Decimal)
)
def test_a_number_written_in_any_form_reads_back(form: str, number: Decimal) -> None:
    assert extract_answer(f"So 3 of 4.\n#### {FORMS[form](number)}") == number


@given(ANY_TEXT | NUMERIC_TEXT)
def test_no_text_makes_it_raise(text: str) -> None:
    found = extract_answer(text)
    assert found is None or found.is_finite()
    assert (found is None) == (re.search("[0-9]", text) is None)


@given(ANY_TEXT | NUMERIC_TEXT, st.integers(-1000, 1000), ANY_TEXT.filter(lambda t: "#" not in t))
def test_what_follows_the_marked_number_changes_nothing(
    before: str, number: int, after: str
) -> None:
    text = f"{before.replace('#', '')}\n#### {number}"
    assert extract_answer(text) == extract_answer(f"{text}\n{after}") == number


# SGLang's rule, as benchmark/gsm8k/bench_sglang.py has it.
INVALID = -9999999


def get_answer_value(answer_str: str) -> int:
    answer_str = answer_str.replace(",", "")
    numbers = re.findall(r"\d+", answer_str)
    if len(numbers) < 1:
        return INVALID
    try:
        return ast.literal_eval(numbers[-1])  # type: ignore[no-any-return]
    except SyntaxError:
        return INVALID


@given(ANY_TEXT | NUMERIC_TEXT)
@example("08")
@example("00")
@example("0")
@example("1\u0663")
@example("\u0663")
@example("9" * 4300)
@example("9" * 4301)
def test_sglangs_rule_is_the_one_of_its_script(text: str) -> None:
    theirs, ours = get_answer_value(text), sglang_answer(text)
    assert ours == (None if theirs == INVALID else theirs)


@pytest.mark.parametrize(
    ("text", "number"), [("-3", 3), ("$18.00", 0), ("$5.05", None), ("08", None), ("1,234", 1234)]
)
def test_sglangs_rule_misreads_as_it_is_known_to(text: str, number: int | None) -> None:
    assert sglang_answer(text) == number


def test_all_gold_answers_of_gsm8k_are_read(gsm8k: QuestionSet) -> None:
    for question in (*gsm8k.train, *gsm8k.test):
        written = question.answer.rpartition("#### ")[2]
        assert question.gold == extract_answer(question.answer) == Decimal(written.replace(",", ""))


def test_gsm8k_holds_the_forms_that_it_is_known_to_hold(gsm8k: QuestionSet) -> None:
    written = [question.answer.rpartition("#### ")[2] for question in gsm8k.test]
    assert sum(text.startswith("-") for text in written) == 2
    assert sum("," in text for text in written) == 14
    assert sum(question.gold < 0 for question in gsm8k.test) == 2


def test_sglangs_rule_reads_the_gold_answers_but_for_their_signs(gsm8k: QuestionSet) -> None:
    for question in gsm8k.test:
        assert sglang_answer(question.answer) == abs(question.gold)
