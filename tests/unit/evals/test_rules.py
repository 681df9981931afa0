"""Rules beside the project's own, each on texts whose reading is known; and runs rescored."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from evals.errors import UsageError
from evals.prompts import PROTOCOLS
from evals.questions import QuestionSet
from evals.report.reading import rescore_text, rescore_values
from evals.rescore import rescore
from evals.rules import RULES, rule_named
from evals.saved import load_run
from evals.task import Task
from tests.unit.evals.conftest import ROWS
from tests.unit.evals.run_folders import FAILED, INVALID, RIGHT, WRONG, write_run


@pytest.mark.parametrize(
    ("text", "project", "sglang", "flexible", "strict"),
    [
        ("so #### 18", "18", "18", "18", "18"),
        ("#### 18\nNext: 20", "18", "20", "20", "18"),
        ("The answer is 1,234.", "1234", "1234", "1234", None),
        ("####18", "18", "18", "18", None),
        ("#### -3", "-3", "3", "-3", "-3"),
        ("$5.05", "5.05", None, "5.05", None),
        ("#### ...", None, None, None, None),
        ("nothing", None, None, None, None),
    ],
)
def test_each_rule_reads_what_its_authors_rule_reads(
    text: str, project: str | None, sglang: str | None, flexible: str | None, strict: str | None
) -> None:
    read = {name: rule.read(text) for name, rule in RULES.items()}
    wanted = {"project": project, "sglang": sglang, "flexible": flexible, "strict": strict}
    assert read == {n: None if v is None else Decimal(v) for n, v in wanted.items()}


def test_an_unknown_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="is none of: project, sglang, flexible, strict"):
        rule_named("loose")


def test_a_rescore_by_the_projects_rule_changes_nothing(tmp_path: Path, small_task: Task) -> None:
    fates = [RIGHT] * 150 + [WRONG] * 30 + [INVALID] * 15 + [FAILED] * 5
    run = load_run(write_run(tmp_path / "run", small_task, fates))
    seen = rescore(run, RULES["project"])
    assert (seen.answered, seen.right, seen.invalid, seen.changes) == (195, 150, 15, ())
    assert rescore(run, RULES["sglang"]).right == sum(r.right_sglang is True for r in run.records)


def test_the_gold_of_sglangs_rule_is_read_from_a_record_as_from_the_worked_answer(
    tmp_path: Path, gsm8k: QuestionSet
) -> None:
    task = Task(gsm8k, PROTOCOLS["train"])
    run = load_run(write_run(tmp_path / "run", task, [RIGHT, WRONG, INVALID] * 439 + [RIGHT] * 2))
    recorded = sum(record.right_sglang is True for record in run.records)
    assert rescore(run, RULES["sglang"]).right == recorded


def test_a_rescore_says_that_it_is_one_and_what_it_judges_otherwise(
    tmp_path: Path, small_task: Task
) -> None:
    folder = write_run(tmp_path / "run", small_task, [RIGHT] * ROWS)
    file = folder / "answers.jsonl"
    file.write_text(file.read_text().replace("#### 2", "#### 2, not 7", 1))
    run = load_run(folder)
    seen = [rescore(run, RULES["sglang"]), rescore(run, RULES["strict"])]
    text = rescore_text(run, seen)
    assert text.startswith(f"rescore of run: {folder}; records read again, no server asked")
    assert "sglang: 199 of 200 right = 0.9950" in text
    assert "test-0000: read 7, recorded 2, gold 2: not right by this rule" in text
    assert "strict: 200 of 200 right" in text
    values = rescore_values(run, seen)
    assert values["rescore_of"] == str(folder)
    assert values["rules"]["sglang"]["changes"] == [
        {"id": "test-0000", "value": "7", "recorded": "2", "gold": "2", "right": False}
    ]
