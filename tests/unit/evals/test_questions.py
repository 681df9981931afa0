"""Loading question sets: the same from files and hub, and one line where one cannot be used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from evals.errors import UsageError
from evals.questions import Expected, QuestionSet, known_set, load_folder, load_gsm8k, load_hub
from tests.unit.evals.conftest import row, write_rows

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two rows of train and three of test, as files that a test may spoil."""
    write_rows(tmp_path / "train.jsonl", [row(8), row(9)])
    write_rows(tmp_path / "test.jsonl", [row(1), row(2), row(3)])
    return tmp_path


def refusal(folder: Path, expected: dict[str, Expected] | None = None) -> str:
    with pytest.raises(UsageError) as refused:
        load_folder(folder, "eggs", expected)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_rows_have_stable_ids_and_their_golds(folder: Path) -> None:
    eggs = load_folder(folder, "eggs")
    assert [question.id for question in eggs.test] == ["test-0000", "test-0001", "test-0002"]
    assert [question.id for question in eggs.train] == ["train-0000", "train-0001"]
    assert [question.gold for question in eggs.test] == [Decimal(2), Decimal(4), Decimal(6)]
    assert eggs.test[0].question == row(1)["question"]
    assert eggs.test[0].answer == row(1)["answer"]


def test_a_line_separator_within_a_text_ends_no_row(folder: Path) -> None:
    text = "First line.\u2028Second line.\u0085Third."
    rows = [{"question": text, "answer": "#### 4"}, row(2)]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (folder / "test.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    eggs = load_folder(folder, "eggs")
    assert len(eggs.test) == 2
    assert eggs.test[0].question == text


def test_a_file_is_the_same_however_it_is_written(folder: Path, tmp_path: Path) -> None:
    before = load_folder(folder, "eggs").sha256
    swapped = [
        {"answer": r["answer"], "extra": "1", "question": r["question"]}
        for r in map(row, (1, 2, 3))
    ]
    text = "\r\n".join(json.dumps(row, indent=None, separators=(" , ", " : ")) for row in swapped)
    (folder / "test.jsonl").write_bytes(text.encode())
    assert load_folder(folder, "eggs").sha256 == before


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "train.jsonl").unlink()
    assert refusal(folder) == (
        f"eggs: {folder}/train.jsonl is missing; the folder must hold train.jsonl and test.jsonl"
    )


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path}/nowhere is no folder" in refusal(tmp_path / "nowhere")


def test_a_truncated_file_is_told_from_a_whole_one(folder: Path) -> None:
    file = folder / "test.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    refused = refusal(folder)
    assert (
        f"eggs: {file} line 3 is not JSON (Unterminated string starting at: character " in refused
    )
    assert refused.endswith("must be an object with the texts question and answer")
    assert refusal(folder, {"test": Expected(3, "")}) == f"{refused}; fetch it again"


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("blank", ["", " \t"])
def test_a_blank_line_is_named(folder: Path, number: int, blank: str) -> None:
    file = folder / "test.jsonl"
    lines = file.read_text().splitlines()
    lines.insert(number - 1, blank)
    file.write_text("".join(f"{line}\n" for line in lines))
    assert refusal(folder) == (
        f"eggs: {file} line {number} is blank: "
        "it must be an object with the texts question and answer"
    )


def test_a_byte_order_mark_is_no_part_of_a_file(folder: Path) -> None:
    before = load_folder(folder, "eggs")
    file = folder / "test.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load_folder(folder, "eggs") == before


@pytest.mark.parametrize("key", ["question", "answer"])
def test_half_a_surrogate_pair_is_named(folder: Path, key: str) -> None:
    file = folder / "test.jsonl"
    write_rows(file, [row(1), row(2) | {key: "\ud83e\udd5a \ud800 #### 4"}])
    assert refusal(folder).startswith(
        f"eggs: {file} line 2 has half a character in its {key}, '\\ud800': "
    )
    write_rows(file, [row(1), row(2) | {key: "\ud83e\udd5a #### 4"}])
    assert "\N{EGG}" in getattr(load_folder(folder, "eggs").test[1], key)


def test_what_json_allows_and_python_does_not_is_named(folder: Path) -> None:
    (folder / "test.jsonl").write_text("[" * 100_000)
    assert "line 1 cannot be read (it is nested too deeply): it must be" in refusal(folder)


def test_a_folder_with_a_nul_byte_in_its_name_is_refused() -> None:
    assert refusal(Path("a\0b")) == ("'eggs': 'a\\x00b' is no folder: a name holds no NUL byte")


def test_a_file_cut_at_a_line_is_found_by_its_count(folder: Path) -> None:
    expected = {"test": Expected(4, "")}
    message = refusal(folder, expected)
    assert "test of" in message
    assert "has 3 rows, the published one has 4; fetch it again" in message


def test_a_changed_row_is_found_by_its_hash(folder: Path) -> None:
    known = load_folder(folder, "eggs").sha256["test"]
    write_rows(folder / "test.jsonl", [row(1), row(2), row(4)])
    message = refusal(folder, {"test": Expected(3, known)})
    assert "is not the published one" in message
    assert known[:12] in message


def test_a_file_that_is_not_utf8_is_named(folder: Path) -> None:
    (folder / "test.jsonl").write_bytes(b'{"question": "\xff", "answer": "#### 1"}\n')
    assert "test.jsonl cannot be read" in refusal(folder)


@pytest.mark.parametrize("answer", ["It is 4.", "It is 4.\n#### ", "4 ####", "#### four"])
def test_an_answer_without_its_number_is_named(folder: Path, answer: str) -> None:
    write_rows(folder / "test.jsonl", [row(1), {"question": "?", "answer": answer}])
    assert refusal(folder) == "eggs: test row 1: the answer must end in '#### ' and a number"


@pytest.mark.parametrize(
    "line", ['["question"]', '{"question": "?"}', '{"question": 1, "answer": ""}']
)
def test_a_line_of_another_form_is_named(folder: Path, line: str) -> None:
    (folder / "test.jsonl").write_text(line + "\n")
    assert "test.jsonl line 1 must be an object with the texts question and answer" in refusal(
        folder
    )


@pytest.mark.parametrize("content", ["", "\n"])
def test_an_empty_file_scores_nothing(folder: Path, content: str) -> None:
    (folder / "test.jsonl").write_text(content)
    assert "test.jsonl line 1 is blank: it must be" in refusal(folder)


def test_gsm8k_loads_from_its_folder(gsm8k: QuestionSet) -> None:
    assert (len(gsm8k.train), len(gsm8k.test)) == (7473, 1319)
    assert gsm8k.sha256 == {split: known.sha256 for split, known in known_set("gsm8k").items()}
    assert any("\u2028" in question.question + question.answer for question in gsm8k.train)


def test_another_set_under_gsm8ks_name_is_refused(small_folder: Path) -> None:
    with pytest.raises(UsageError, match="has 10 rows, the published one has 7473"):
        load_gsm8k(small_folder)


# The hub's path, with the `datasets` library on a folder laid out as a repository on the hub is.
CARD = """---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train-*}
  - {split: test, path: main/test-*}
---
"""
LOAD = """
import json, sys
from evals.errors import UsageError
from evals.questions import load_folder, load_gsm8k, load_hub
try:
    if sys.argv[1:]:
        loaded = load_hub(sys.argv[1], "main", "eggs", {})
    else:
        loaded = load_gsm8k(None)
    print(json.dumps({"sha256": loaded.sha256, "test": [q.question for q in loaded.test]}))
except UsageError as error:
    print(json.dumps({"refused": str(error)}))
"""


def load_elsewhere(cache: Path, *arguments: str) -> dict[str, object]:
    """What loading says in a process of its own: `datasets` reads its settings when imported."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_the_hubs_tables_and_the_files_agree(folder: Path, tmp_path: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow import parquet

    published = tmp_path / "published"
    (published / "main").mkdir(parents=True)
    (published / "README.md").write_text(CARD)
    rows = {"train": [row(8), row(9)], "test": [row(1), row(2) | {"question": "A\u2028B?"}, row(3)]}
    for split, those in rows.items():
        write_rows(folder / f"{split}.jsonl", those)
        table = pa.Table.from_pylist(those)
        parquet.write_table(table, published / "main" / f"{split}-00000-of-00001.parquet")
    files = load_folder(folder, "eggs")
    assert load_elsewhere(tmp_path / "cache", str(published)) == {
        "sha256": files.sha256,
        "test": [question.question for question in files.test],
    }


def test_a_hub_out_of_reach_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    begun = time.monotonic()
    refused = load_elsewhere(tmp_path / "cache")["refused"]
    assert time.monotonic() - begun < 20
    assert isinstance(refused, str)
    assert refused.startswith("gsm8k: openai/gsm8k did not load (")
    assert refused.endswith(
        "give a folder with train.jsonl and test.jsonl by --gsm8k=DIR or GSM8K_DIR"
    )
    assert "\n" not in refused


def test_a_hub_that_raises_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str, config: str) -> None:
        raise ConnectionError("\nno route\nto the host")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=fail))
    with pytest.raises(
        UsageError, match=r"^eggs: some/where did not load \(no route\); give a folder"
    ):
        load_hub("some/where", "main", "eggs", {})
