"""The model card against what was measured."""

from __future__ import annotations

import json

import pytest

from fixtures.canary import CANARY_DIR, VARIANTS
from fixtures.canary.card import (
    CARD_FILE,
    felt_by,
    found_table,
    noise,
    read_ability,
    read_report,
    render,
    replaced,
)
from fixtures.canary.questions import TEST_FILE, read_rows


def test_the_card_holds_the_tables_of_the_measurement() -> None:
    card = CARD_FILE.read_text(encoding="utf-8")
    generated = render(read_report(), read_ability())
    assert generated in card
    assert replaced(card, generated) == card


@pytest.mark.parametrize("fault", read_report()["must_be_felt"])
def test_a_fault_that_must_be_felt_is_felt_by_some_variant(fault: str) -> None:
    assert felt_by(read_report(), fault)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_measured_reference_is_the_committed_one(variant: str) -> None:
    lines = (CANARY_DIR / variant / "reference.jsonl").read_text().splitlines()
    golds = [row["answer"].rpartition("#### ")[2] for row in read_rows(TEST_FILE)]
    given = [json.loads(line)["text"].rpartition("#### ")[2].strip() for line in lines]
    right = sum(a == b for a, b in zip(given, golds, strict=True))
    effects = read_report()["variants"][variant]["effects"]
    assert effects["reference"]["accuracy"] == round(right / 1319, 4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_swapped_experts_are_far_below_the_gate(variant: str) -> None:
    effects = read_report()["variants"][variant]["effects"]
    assert effects["experts swapped"]["accuracy"] < 0.82


def test_a_fault_counts_as_felt_only_above_the_repeats() -> None:
    def effects(repeats: tuple[int, int], fault: int | None) -> dict[str, object]:
        changed = {"repeat, a": repeats[0], "repeat, b": repeats[1], "fault": fault}
        counted = {k: v if v is None else {"changed_answers": v} for k, v in changed.items()}
        return {"effects": counted}

    report = {"variants": {"stock": effects((0, 3), 3), "chunked": effects((1, 0), 2)}}
    assert noise(report, "stock") == 3
    assert felt_by(report, "fault") == ["chunked"]
    report["variants"]["chunked"] = effects((1, 0), None)
    assert felt_by(report, "fault") == []


def test_a_fault_is_shown_with_what_parity_and_drift_make_of_it() -> None:
    def effect(lost: int, gained: int) -> dict[str, object]:
        return {"accuracy": 0.9, "lost": lost, "gained": gained, "logprob_change": 1e-4}

    variants = {
        "stock": {
            "effects": {"reference": effect(0, 0), "chunk ignored": None, "int4": effect(3, 9)},
            "effects_in_bfloat16": {"int4": {"logprob_change": 2e-4}},
        },
        "chunked": {
            "effects": {
                "reference": effect(0, 0),
                "chunk ignored": effect(900, 1),
                "int4": effect(2, 1),
            },
            "effects_in_bfloat16": {
                "chunk ignored": {"logprob_change": 0.7},
                "int4": {"logprob_change": 3e-4},
            },
        },
    }
    table = found_table({"questions": 1319, "variants": variants}).splitlines()
    assert table[2:] == [
        "| chunk ignored | n/a | n/a | n/a | 900 / 1 | worse | 7.0e-01 |",
        "| int4 | 3 / 9 | no worse | 2.0e-04 | 2 / 1 | no worse | 3.0e-04 |",
    ]
