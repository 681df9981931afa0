"""The file of the reference's tokens and their log-probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from evals.drift import TokenLogprobs
from evals.errors import UsageError
from fixtures.canary import CANARY_DIR, VARIANTS
from fixtures.canary.logprobs import read_logprobs, write_logprobs

ANSWERS = [
    TokenLogprobs((5, 1023), (-0.5, -2.0)),
    TokenLogprobs((), ()),
    TokenLogprobs((7,), (0.0,)),
]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_logprobs(tmp_path / "logprobs.npz", ANSWERS)
    assert read_logprobs(tmp_path / "logprobs.npz") == ANSWERS


def test_the_same_answers_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_logprobs(tmp_path / name, ANSWERS)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_token_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="16 bits"):
        write_logprobs(tmp_path / "logprobs.npz", [TokenLogprobs((65536,), (0.0,))])
    assert not list(tmp_path.iterdir())


def test_anything_else_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "logprobs.npz"
    with pytest.raises(UsageError, match="No such file"):
        read_logprobs(file)
    file.touch()
    with pytest.raises(UsageError, match="is no file of log-probabilities"):
        read_logprobs(file)
    file.write_text("no archive")
    with pytest.raises(UsageError, match="is no file of log-probabilities"):
        read_logprobs(file)
    np.savez(file, tokens=[1, 2])
    with pytest.raises(UsageError, match="logprobs"):
        read_logprobs(file)
    np.savez(file, tokens=[1, 2], logprobs=[0.0, 0.0], lengths=[3])
    with pytest.raises(UsageError, match="2 tokens, 2 log-probabilities, lengths of 3"):
        read_logprobs(file)
    np.savez(file, tokens=[1], logprobs=[np.nan], lengths=[1])
    with pytest.raises(UsageError, match="not finite"):
        read_logprobs(file)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_committed_tokens_are_as_many_as_the_committed_answers_have(variant: str) -> None:
    lines = (CANARY_DIR / variant / "reference.jsonl").read_text("utf-8").splitlines()
    counts = [json.loads(line)["completion_tokens"] for line in lines]
    answers = read_logprobs(CANARY_DIR / variant / "logprobs.npz")
    assert [len(answer.tokens) for answer in answers] == counts
    assert all(logprob <= 0 for answer in answers for logprob in answer.logprobs)
