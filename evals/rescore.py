"""The records of a run read again by a rule. No server is asked."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from evals.records import Record
from evals.rules import Rule
from evals.saved import SavedRun
from evals.statistics import wilson_interval


@dataclass(frozen=True, slots=True)
class Change:
    """An answer that the rule judges otherwise than the run recorded."""

    record: Record
    value: Decimal | None
    right: bool


@dataclass(frozen=True, slots=True)
class Rescore:
    """What a rule makes of a run's answers; `interval` is Wilson's 95% one, None without any."""

    rule: Rule
    answered: int
    right: int
    invalid: int
    interval: tuple[float, float] | None
    changes: tuple[Change, ...]

    @property
    def accuracy(self) -> float | None:
        return self.right / self.answered if self.answered else None


def rescore(run: SavedRun, rule: Rule) -> Rescore:
    """Failed requests hold no answer and are left out, as they were."""
    right = invalid = 0
    changes = []
    for record in run.answered.values():
        value, gold = rule.read(record.text or ""), rule.gold(record.gold)
        is_right = value is not None and value == gold
        right += is_right
        invalid += value is None
        if is_right is not record.right:
            changes.append(Change(record, value, is_right))
    answered = len(run.answered)
    interval = wilson_interval(right, answered) if answered else None
    return Rescore(rule, answered, right, invalid, interval, tuple(changes))
