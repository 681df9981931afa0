"""Run folders: what is written is read back, and what cannot be written stops the run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.errors import RecordsNotWritten, UsageError
from evals.records import (
    FORMAT,
    Record,
    Recorder,
    create_run,
    read_records,
    read_run,
    write_json,
)

ROOT = Path(__file__).resolve().parents[3]
RECORD = Record(
    id="test-0001",
    prompt_sha256="ab" * 32,
    gold="18",
    seconds=0.25,
    tries=1,
    text=" 9*2=18\n#### 18",
    value="18",
    right=True,
    right_sglang=True,
    finish_reason="stop",
    prompt_tokens=650,
    completion_tokens=12,
)


def recorded(folder: Path, *records: Record) -> Path:
    with Recorder(folder) as recorder:
        for record in records:
            recorder.append(record)
    return folder / "answers.jsonl"


@given(st.lists(st.text(st.characters()), max_size=5))
def test_any_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    records = [replace(RECORD, id=f"q{i}", text=text) for i, text in enumerate(texts)]
    recorded(folder, *records)
    assert read_records(folder) == records


def test_a_record_is_one_line_of_json_with_every_key(tmp_path: Path) -> None:
    file = recorded(tmp_path, RECORD, replace(RECORD, id="test-0002", text=None, error="HTTP 500"))
    lines = file.read_text().splitlines()
    assert len(lines) == 2
    assert set(json.loads(lines[0])) == {
        "id", "prompt_sha256", "gold", "seconds", "tries", "text", "value", "right",
        "right_sglang", "finish_reason", "prompt_tokens", "completion_tokens", "error",
    }  # fmt: skip


def test_a_record_is_on_disk_before_the_next_is_made(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.append(RECORD)
        assert read_records(tmp_path) == [RECORD]


def test_a_resumed_file_keeps_what_was_answered_and_drops_the_rest(tmp_path: Path) -> None:
    recorded(tmp_path, RECORD, replace(RECORD, id="test-0002", error="HTTP 500"))
    with Recorder(tmp_path, kept=[RECORD]) as recorder:
        recorder.append(replace(RECORD, id="test-0003"))
    assert [record.id for record in read_records(tmp_path)] == ["test-0001", "test-0003"]


def test_a_torn_last_line_is_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    file = recorded(tmp_path, RECORD, replace(RECORD, id="test-0002"))
    file.write_bytes(file.read_bytes()[:-30])
    assert read_records(tmp_path, torn_end=True) == [RECORD]
    with pytest.raises(UsageError, match="ends in the middle of a line: the run was cut short"):
        read_records(tmp_path)


def test_no_file_holds_no_records(tmp_path: Path) -> None:
    assert read_records(tmp_path) == []


@pytest.mark.parametrize("line", ["{}", "[]", "1", "{", '{"id": "a"}', "[" * 100_000])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    file = recorded(tmp_path, RECORD)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(UsageError, match=r"answers.jsonl line 2 is no record"):
        read_records(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 1},
        {"id": None},
        {"id": ["test-0001"]},
        {"prompt_sha256": None},
        {"gold": 18},
        {"seconds": None},
        {"seconds": "0.25"},
        {"seconds": float("nan")},
        {"seconds": 10**400},
        {"seconds": True},
        {"tries": None},
        {"tries": 1.5},
        {"tries": True},
        {"text": 18},
        {"text": None},
        {"value": 18},
        {"right": "true"},
        {"right": 1},
        {"right": None},
        {"right_sglang": "no"},
        {"gold": "eighteen"},
        {"gold": "sNaN"},
        {"completion_tokens": "10"},
        {"prompt_tokens": [10]},
        {"finish_reason": ["stop"]},
        {"error": 500},
    ],
    ids=str,
)
def test_a_record_with_a_value_of_another_type_is_damage(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    file = recorded(tmp_path, replace(RECORD, id="test-0000"))
    row = json.dumps(json.loads(file.read_text()) | {"id": "test-0001"} | wrong)
    file.write_text(file.read_text() + row + "\n")
    with pytest.raises(UsageError) as refused:
        read_records(tmp_path)
    assert str(refused.value) == f"{file} line 2 is no record: the file is damaged"


def test_a_failed_request_needs_no_text_to_be_a_record(tmp_path: Path) -> None:
    failed = Record("test-0001", "ab" * 32, "18", 1.0, 6, error="HTTP 500")
    recorded(tmp_path, failed)
    assert read_records(tmp_path) == [failed]


def test_a_record_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    recorded(tmp_path, RECORD, RECORD)
    with pytest.raises(UsageError, match="line 2: question test-0001 has a record already"):
        read_records(tmp_path)


def test_a_key_of_a_later_minor_version_is_passed_over(tmp_path: Path) -> None:
    file = recorded(tmp_path, RECORD)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"logprob": 1}) + "\n")
    assert read_records(tmp_path) == [RECORD]


def test_a_pipe_and_a_link_that_json_is_written_to_stay_what_they_are(tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for file in (pipe, link):
        write_json(file, {"a": 1})
    assert json.loads(os.read(reader, 100)) == json.loads(target.read_text()) == {"a": 1}
    os.close(reader)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "pipe", "target"]
    assert (pipe.is_fifo(), link.is_symlink()) == (True, True)


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    content = {
        "format": FORMAT,
        "name": "a ‑ b",
        "configuration": {"name": "a ‑ b"},
        "attempts": [
            {"ended": None},
            {"ended": "later", "seconds": 1, "trouble": ["\udcff it died"]},
        ],
    }
    write_json(tmp_path / "run.json", content)
    assert read_run(tmp_path) == content
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


def test_a_newer_format_is_refused_naming_both(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"format": FORMAT + 1})
    with pytest.raises(UsageError) as refused:
        read_run(tmp_path)
    assert f"has format {FORMAT + 1}, this version reads up to {FORMAT}" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "has no run.json"),
        ("{", "cannot be read"),
        ("[]", "has no format number"),
        ("{}", "has no format number"),
        ('{"format": "1"}', "has no format number"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(UsageError, match=why):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("damage", "lacks"),
    [
        ({"configuration": None}, "configuration"),
        ({"configuration": {"name": 1}}, "configuration"),
        ({"attempts": None}, "attempts"),
        ({"attempts": [1]}, "attempts"),
        ({"attempts": [{"seconds": None}]}, "attempts"),
        ({"attempts": [{"seconds": 1.0, "answered": "all"}]}, "attempts"),
        ({"attempts": [{"seconds": 1.0, "trouble": None}]}, "attempts"),
        ({"attempts": {}, "configuration": []}, "configuration, attempts"),
    ],
)
def test_a_run_that_lacks_what_every_run_says_is_damaged(
    tmp_path: Path, damage: dict[str, object], lacks: str
) -> None:
    whole = {"format": FORMAT, "configuration": {"name": "row"}, "attempts": []}
    write_json(tmp_path / "run.json", whole | damage)
    with pytest.raises(UsageError) as refused:
        read_run(tmp_path)
    file = tmp_path / "run.json"
    assert str(refused.value) == f"{file} does not tell {lacks}: it is damaged"


def test_folders_of_one_second_do_not_collide(tmp_path: Path) -> None:
    folders = [create_run(tmp_path / "runs", "a row/with [odd] name") for _ in range(5)]
    assert len(set(folders)) == 5
    assert all("a-row-with-odd-name" in folder.name for folder in folders)


def test_a_runs_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(RecordsNotWritten, match="runs"):
        create_run(tmp_path / "runs", "row")


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordsNotWritten, match=r"answers.jsonl cannot be written"):
        Recorder(tmp_path / "gone")
    with pytest.raises(RecordsNotWritten, match=r"run.json cannot be written"):
        write_json(tmp_path / "gone" / "run.json", {})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_no_answer(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, recorder._descriptor)
        os.close(full)
        with pytest.raises(RecordsNotWritten, match="No space left on device"):
            recorder.append(RECORD)


FILL = """
import dataclasses, resource, signal, sys
from pathlib import Path
from evals.errors import RecordsNotWritten
from evals.records import Recorder
from tests.unit.evals.test_records import RECORD
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
with Recorder(Path(sys.argv[1])) as recorder:
    for number in range(1000):
        try:
            recorder.append(dataclasses.replace(RECORD, id=str(number)))
        except RecordsNotWritten as error:
            print(number, error)
            break
"""


def test_what_was_answered_before_the_disk_filled_is_kept(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    written, _, error = said.partition(" ")
    assert "cannot be written" in error
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    kept = read_records(tmp_path, torn_end=True)
    assert [record.id for record in kept] == [str(number) for number in range(int(written))]
    assert int(written) > 5
