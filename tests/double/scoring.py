"""SGLang's native /tokenize and /generate with `return_logprob`, in the form that 0.5.15 answers.

A token of a text is a byte of it; the tokens behind the prompt are whatever was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fixtures.canary.logprobs import read_logprobs
from tests.double.plan import question_in

HIGHEST = 1023  # of the canaries' vocabulary: returned as 0


def tokenize(asked: Mapping[str, Any]) -> dict[str, Any]:
    tokens = [list(prompt.encode()) for prompt in asked["prompt"]]
    return {"tokens": tokens, "count": [len(ids) for ids in tokens], "max_model_len": 8192}


def generate(
    asked: Mapping[str, Any], known: Mapping[str, tuple[float, ...]], shift: float, other: bool
) -> list[dict[str, Any]]:
    """One item for each input: `known` log-probabilities by question, `shift` added to each.

    Of a question that is not known, each token has -0.5. `other`: of other tokens than were sent.
    LookupError, TypeError for what is not asked so.
    """
    items = []
    for ids, start in zip(asked["input_ids"], asked["logprob_start_len"], strict=True):
        prompt, answer = bytes(ids[: start + 1]).decode(), ids[start + 1 :]
        before = known.get(question_in(prompt), [-0.5] * len(answer))
        logprobs = [p + shift for p in before]
        returned = [token + other if token != HIGHEST else 0 for token in answer]
        meta = {
            "prompt_tokens": len(ids),
            "completion_tokens": asked["sampling_params"]["max_new_tokens"],
            "finish_reason": {"type": "length", "length": 1},
            "input_token_logprobs": [
                [None, ids[start], None],
                *([p, t, None] for p, t in zip(logprobs, returned, strict=True)),
            ],
            "input_top_logprobs": [
                None,
                *([[p, t, None]] for p, t in zip(logprobs, answer, strict=True)),
            ][: None if asked["top_logprobs_num"] else 0],
        }
        items.append({"text": " The", "output_ids": [314], "meta_info": meta})
    return items


def by_question(file: Path | None, questions: list[str]) -> dict[str, tuple[float, ...]]:
    """The log-probabilities in a file of a canary's, whose answers are in the same order."""
    if file is None:
        return {}
    return dict(zip(questions, (a.logprobs for a in read_logprobs(file)), strict=True))
