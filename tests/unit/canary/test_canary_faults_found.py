"""Each fault that the card lists as felt is found: by parity, or by the reference row's drift."""

from __future__ import annotations

import pytest

from evals.parity import Parity
from fixtures.canary.card import felt_by, is_sound, parity, read_report
from fixtures.matrix.file import load_matrix

REPORT = read_report()
FAULTS = [
    name
    for name in REPORT["variants"]["stock"]["effects"]
    if not is_sound(name) and "no fault" not in name
]


def bound(backend: str) -> float:
    """The largest mean |Δ log-probability| that this row of the CPU lets pass."""
    drift = load_matrix().row(f"canary-stock-{backend}-cpu").drift
    assert drift is not None
    assert drift.mean is not None
    return drift.mean


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_is_felt_is_found_by_parity_or_by_drift(fault: str) -> None:
    variants = felt_by(REPORT, fault)
    assert variants
    for variant in variants:
        effect = REPORT["variants"][variant]["effects"][fault]
        by_parity = parity(REPORT, variant, fault) is Parity.WORSE
        assert by_parity or effect["logprob_change"] > bound("fa_off"), variant


@pytest.mark.parametrize("backend", ["fa_off", "fa_on", "fa_q8"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_stock_canary_is_above_the_bound_of_every_row(
    fault: str, backend: str
) -> None:
    effect = REPORT["variants"]["stock"]["effects"][fault]
    assert effect is None or effect["logprob_change"] > bound(backend)


@pytest.mark.parametrize("variant", ["stock", "chunked"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_bfloat16_is_above_the_bound_of_the_rows_on_a_gpu(
    fault: str, variant: str
) -> None:
    drift = load_matrix().row(f"canary-{variant}-fa3-h200").drift
    assert drift is not None
    assert drift.mean is not None
    effect = REPORT["variants"][variant]["effects_in_bfloat16"].get(fault)
    found = effect is None or effect["logprob_change"] > drift.mean
    assert found is not ((variant, fault) == ("chunked", "attention scale x 1.01"))


def test_the_references_own_repeats_are_far_below_the_bound() -> None:
    for variant in REPORT["variants"].values():
        for name, effect in variant["effects"].items():
            if name.startswith("repeat"):
                assert effect["logprob_change"] < bound("fa_off") / 100
