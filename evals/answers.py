"""Reading a number from a model's text: this project's rule, and SGLang's beside it."""

from __future__ import annotations

import re
from decimal import Decimal

MARK = "####"

_MINUS = "-\u2212\u2013\u2010\u2011\ufe63\uff0d"
_SPACE = " \t\u00a0\u2009\u202f"
_CURRENCY = "$€£¥₹₩"
# Separators of thousands: comma, apostrophes, and the spaces that do not break a line. A plain
# space is none of them: "bought 5 100 g bars" holds two numbers.
_THOUSANDS = ",'\u2019\u00a0\u2009\u202f"
_NUMBER = re.compile(
    rf"""
    (?P<sign>[{_MINUS}][{_SPACE}]?)?
    (?:\\?[{_CURRENCY}][{_SPACE}]?)?
    (?P<inner>[{_MINUS}])?
    (?P<whole>[0-9]{{1,3}}(?:[{_THOUSANDS}][0-9]{{3}})+(?![0-9])|[0-9]+)?
    (?(whole)(?P<decimals>\.[0-9]+)?|(?P<bare>(?<![0-9])\.[0-9]+))
    """,
    re.VERBOSE,
)
_NOT_DIGITS = re.compile(rf"[{_THOUSANDS}]")


def extract_answer(text: str) -> Decimal | None:
    """The number that `text` answers with, or None where it holds no number (an invalid answer).

    The number after the first `####` if there is one, else the last number. A model that answers
    `#### 18` and writes on is so read as 18. Signs, decimals, thousands separators, currency signs
    and percent signs are understood: `-$1,234.50` is -1234.5; compare values, not texts.
    """
    mark = text.find(MARK)
    if mark >= 0:
        first = _NUMBER.search(text, mark + len(MARK))
        if first is not None:
            return _value(text, first)
    last = None
    for last in _NUMBER.finditer(text):  # noqa: B007  the last one is wanted
        pass
    return None if last is None else _value(text, last)


def _value(text: str, found: re.Match[str]) -> Decimal:
    # As text, since arithmetic on a Decimal would round to its context's precision.
    digits = _NOT_DIGITS.sub("", found["whole"] or "0") + (found["decimals"] or found["bare"] or "")
    negative = found["inner"] is not None or (
        found["sign"] is not None and _is_sign(text[: found.start()], found["sign"])
    )
    return Decimal(f"-{digits}" if negative else digits)


def _is_sign(before: str, sign: str) -> bool:
    """Whether a minus belongs to its number, not to a subtraction, a range, a word or a list."""
    stripped = before.rstrip(_SPACE)
    if len(sign) > 1:  # "- 3" is a number only where one must come: "= - 3"
        return stripped.endswith(("=", ":", MARK))
    if not stripped:
        return True
    if len(stripped) < len(before):  # "20 -3" subtracts, "is -3" does not
        return not (stripped[-1].isdigit() or stripped[-1] in ")%")
    return not (stripped[-1].isalnum() or stripped[-1] in ")%.")


def sglang_answer(text: str) -> Decimal | None:
    r"""The answer as SGLang's `bench_sglang.py` for GSM8K reads it, None where it says INVALID.

    Commas dropped, the last `\d+`, then Python's reading of it as a literal: so "-3" is 3,
    "$18.00" is 0, and "08" and "$5.05" are invalid. Published scores were made with it.
    """
    numbers = re.findall(r"\d+", text.replace(",", ""))
    if not numbers:
        return None
    last = numbers[-1]
    if not last.isascii() or (last.startswith("0") and last.strip("0")):
        return None  # as literals, 08 and digits of other scripts are errors; 00 is not
    try:
        return Decimal(int(last))
    except ValueError:  # more digits than Python reads
        return None
