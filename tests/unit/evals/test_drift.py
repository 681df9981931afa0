"""How far log-probabilities drift."""

from __future__ import annotations

import pytest

from evals.drift import Change, change


def test_a_change_counts_either_direction() -> None:
    assert change([-1.0, -2.0], [-1.5, -1.5]) == Change(0.5, 0.5, 0.5)


def test_the_99th_percentile_lies_between_the_two_tokens_around_it() -> None:
    # Of 0, 1, …, 100 the 99th percentile is 99 exactly; of 0, 1, …, 10 it is 9.9.
    assert change([0.0] * 101, list(map(float, range(101)))) == Change(50.0, 99.0, 100.0)
    assert change([0.0] * 11, list(map(float, range(11)))).p99 == pytest.approx(9.9)


def test_no_token_and_unlike_numbers_of_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="0 and 0"):
        change([], [])
    with pytest.raises(ValueError, match="2 and 1"):
        change([0.0, 0.0], [0.0])
