"""Why lm-evaluation-harness' flexible rule for GSM8K may read another number than ours."""

from __future__ import annotations

import re

from evals.answers import extract_answer
from evals.rules import flexible_text, flexible_value


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
