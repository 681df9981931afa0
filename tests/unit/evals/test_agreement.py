"""What is said of two values that differ."""

from __future__ import annotations

from typing import Any

import pytest

from evals.agreement import shown


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (8, 2, ("8", "2")),
        ({"b": 1, "a": 2, "c": 3}, {"a": 4, "c": 3}, ('{"a": 2, "b": 1}', '{"a": 4}')),
        ({"a": None}, {}, ('{"a": null}', "{}")),
        ({"a": 1}, None, ('{"a": 1}', "null")),
    ],
)
def test_of_two_objects_only_what_differs_is_shown(
    one: Any, other: Any, told: tuple[str, str]
) -> None:
    assert (shown(one, other), shown(other, one)) == told
