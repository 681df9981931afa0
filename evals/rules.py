"""Rules that read a number from a text, by name: this project's, and those of others beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from evals.answers import extract_answer, sglang_answer
from evals.errors import UsageError

# lm_eval/tasks/gsm8k/gsm8k.yaml: filters "flexible-extract" (group_select -1) and "strict-match";
# the metric drops what `regexes_to_ignore` names before it compares.
_FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_STRICT = re.compile(r"#### (-?[0-9.,]+)")
_IGNORED = (r",", r"\$", r"\.$")


@dataclass(frozen=True, slots=True)
class Rule:
    """`read` gives the number of a text, or None; `gold` that of a record's gold, by its own way.

    Values are compared, not texts.
    """

    name: str
    about: str
    read: Callable[[str], Decimal | None]
    gold: Callable[[str], Decimal | None] = Decimal


def flexible_text(text: str) -> str | None:
    """What the flexible rule extracts; None for its "[invalid]"."""
    found = _FLEXIBLE.findall(text)
    return next(group for group in found[-1] if group).strip() if found else None


def flexible_value(text: str) -> Decimal | None:
    """The number that it extracts; None where that is no number, such as "..."."""
    return _harness_value(flexible_text(text))


def strict_value(text: str) -> Decimal | None:
    """The number behind the first `#### `, with one blank, as the harness' strict rule wants it."""
    found = _STRICT.search(text)
    return _harness_value(None if found is None else found[1])


def _harness_value(extracted: str | None) -> Decimal | None:
    for ignored in _IGNORED:
        extracted = re.sub(ignored, "", extracted or "")
    try:
        return Decimal(extracted or "")
    except InvalidOperation:
        return None


RULES = {
    rule.name: rule
    for rule in (
        Rule("project", "the first number after ####, else the last", extract_answer),
        Rule("sglang", "SGLang's bench_sglang.py: the last digits", sglang_answer, sglang_answer),
        Rule("flexible", "lm-evaluation-harness, flexible-extract", flexible_value),
        Rule("strict", "lm-evaluation-harness, strict-match", strict_value),
    )
}


def rule_named(name: str) -> Rule:
    """Raises UsageError for a name that is none of `RULES`."""
    try:
        return RULES[name]
    except KeyError:
        raise UsageError(f"rule {name!r} is none of: {', '.join(RULES)}") from None
