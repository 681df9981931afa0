"""Each fault that the card lists as felt is found: by parity, or by the reference row's drift."""

from __future__ import annotations

from typing import Any

import pytest

from evals.paired import Cells
from evals.parity import Parity, ParityGate, judge_pair
from fixtures.canary.card import felt_by, read_report
from fixtures.matrix import load_matrix

REPORT = read_report()
FAULTS = [
    name
    for name in REPORT["variants"]["stock"]["effects"]
    if name != "reference" and not name.startswith(("repeat", "bfloat16"))
]


def bound(backend: str) -> float:
    """The largest mean |Δ log-probability| that this row of the CPU lets pass."""
    drift = load_matrix().row(f"canary-stock-{backend}-cpu").drift
    assert drift is not None
    assert drift.mean is not None
    return drift.mean


def worse(effect: dict[str, Any], accuracy: float) -> bool:
    """Whether parity finds it, where its discordant cells were measured."""
    if "lost" not in effect:
        return False
    lost, gained, asked = effect["lost"], effect["gained"], REPORT["questions"]
    right = round(accuracy * asked)
    cells = Cells(right - lost, lost, gained, asked - right - gained)
    return judge_pair(cells, ParityGate()).parity is Parity.WORSE


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_is_felt_is_found_by_parity_or_by_drift(fault: str) -> None:
    variants = felt_by(REPORT, fault)
    assert variants
    for variant in variants:
        effects = REPORT["variants"][variant]["effects"]
        effect, accuracy = effects[fault], effects["reference"]["accuracy"]
        assert worse(effect, accuracy) or effect["logprob_change"] > bound("fa_off"), variant


@pytest.mark.parametrize("backend", ["fa_off", "fa_on", "fa_q8"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_stock_canary_is_above_the_bound_of_every_row(
    fault: str, backend: str
) -> None:
    effect = REPORT["variants"]["stock"]["effects"][fault]
    assert effect is None or effect["logprob_change"] > bound(backend)


def test_the_references_own_repeats_are_far_below_the_bound() -> None:
    for variant in REPORT["variants"].values():
        for name, effect in variant["effects"].items():
            if name.startswith("repeat"):
                assert effect["logprob_change"] < bound("fa_off") / 100
