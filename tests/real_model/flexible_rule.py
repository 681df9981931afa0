"""lm-evaluation-harness' flexible rule for GSM8K, and why it may read another number than ours."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from evals.answers import extract_answer

# lm_eval/tasks/gsm8k/gsm8k.yaml: filter "flexible-extract", group_select -1; the metric drops what
# `regexes_to_ignore` names before it compares.
_FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_IGNORED = (r",", r"\$", r"\.$")


def flexible_text(text: str) -> str | None:
    """What the rule extracts; None for its "[invalid]"."""
    found = _FLEXIBLE.findall(text)
    return next(group for group in found[-1] if group).strip() if found else None


def flexible_value(text: str) -> Decimal | None:
    """The number that the rule extracts; None where that is no number, such as "..."."""
    extracted = flexible_text(text)
    for ignored in _IGNORED:
        extracted = re.sub(ignored, "", extracted or "")
    try:
        return Decimal(extracted or "")
    except InvalidOperation:
        return None


def difference(text: str) -> str | None:
    """Why the two rules read different values, None where they agree; "unexplained" otherwise."""
    ours, theirs = extract_answer(text), flexible_value(text)
    if ours == theirs:
        return None
    if re.search("####[^0-9]*[0-9]", text):
        return f"ours is the first number behind '####', {ours}; theirs the text's last, {theirs}"
    extracted = flexible_text(text) or ""
    if not re.search(r"[0-9]", extracted):
        return f"theirs takes the punctuation {extracted!r} for a number"
    if theirs is None:
        return f"theirs takes {extracted!r} for one number"
    if ours is not None and ours == -theirs:
        return "a minus that subtracts or joins: theirs takes it for a sign"
    if "." in extracted and ours is not None and str(theirs).endswith(str(abs(ours))):
        return f"theirs takes {extracted!r} for one number"
    return "unexplained"
