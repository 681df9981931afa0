"""Runs that were interrupted or failed in part, and going on with them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from evals.client import Limits
from evals.completions import Endpoint
from evals.errors import UsageError
from evals.prompts import PROTOCOLS
from evals.records import read_records, read_run, write_json
from evals.run import evaluate
from evals.task import Settings, Task
from evals.verdict import Counts
from tests.double import Double
from tests.unit.evals.conftest import ROWS, DoubleOf

ROOT = Path(__file__).resolve().parents[3]


def test_going_on_asks_only_what_failed_or_is_missing(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    with double_of(accuracy=0.935, fail_share=0.05) as (_, endpoint):
        first = evaluate("row", small_task, endpoint, patient, tmp_path)
    assert first.counts.failed == 10
    lines = (tmp_path / "answers.jsonl").read_bytes().splitlines(keepends=True)
    answered = [line for line in lines if json.loads(line)["error"] is None]
    # ... of a run that was cut in the middle of its last line besides:
    cut = [line for line in lines if line is not answered[-1]] + [answered[-1][:-20]]
    (tmp_path / "answers.jsonl").write_bytes(b"".join(cut))
    with double_of(accuracy=0.935) as (double, endpoint):
        second = evaluate("row", small_task, endpoint, patient, tmp_path)
        assert double.stats().requests == 11
    assert second.counts == Counts(right=187, wrong=13, right_sglang=187)
    assert len(read_records(tmp_path)) == ROWS
    attempts = read_run(tmp_path)["attempts"]
    assert [attempt["asked"] for attempt in attempts] == [200, 11]
    assert len(attempts[0]["failed"]) == 10
    assert second.seconds == pytest.approx(sum(attempt["seconds"] for attempt in attempts))


def test_a_finished_run_asks_nothing_more(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    with double_of() as (double, endpoint):
        evaluate("row", small_task, endpoint, patient, tmp_path)
        again = evaluate("row", small_task, endpoint, patient, tmp_path)
        assert double.stats().requests == ROWS
    assert again.counts.right == ROWS


def test_another_configuration_is_refused_by_its_differences(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    def refusal(name: str, task: Task, endpoint: Endpoint, settings: Settings) -> str:
        with pytest.raises(UsageError) as refused:
            evaluate(name, task, endpoint, settings, tmp_path)
        assert "\n" not in str(refused.value)
        return str(refused.value).removeprefix(f"{tmp_path} cannot be resumed: ")

    with double_of() as (double, endpoint):
        evaluate("row", small_task, endpoint, patient, tmp_path)
        asked = double.stats().requests
        shots = replace(small_task, shots=3)
        assert refusal("row", shots, endpoint, patient) == "shots was 2, is 3"
        protocol = replace(small_task, protocol=PROTOCOLS["sglang-bench"])
        assert refusal("row", protocol, endpoint, patient) == (
            'protocol was "train", is "sglang-bench"'
        )
        parallel = replace(patient, limits=replace(patient.limits, parallel=7))
        both = refusal("other", small_task, replace(endpoint, model="m"), parallel)
        assert both == (
            'name was "row", is "other"; model was "double", is "m"; parallel was 50, is 7'
        )
        first = replace(small_task, first=5)
        assert '"asked": 5' in refusal("row", first, endpoint, patient)
        assert double.stats().requests == asked
    assert len(read_records(tmp_path)) == ROWS


def told_by(**facts: object) -> dict[str, object]:
    """What a record says of a server with these facts."""
    return {"server": {"command": "", "facts": facts}}


SGLANG = {
    "version": "0.5.6",
    "build": {"version": "0.5.6", "commit": "abc", "modified": False, "location": "/a/sglang"},
    "attention_backend": "fa3",
    "model_path": "/models/scout/",
    "random_seed": 1,
}


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (
            SGLANG,
            SGLANG | {"version": "0.5.7"},
            'server was {"version": "0.5.6"}, is {"version": "0.5.7"}',
        ),
        (SGLANG, SGLANG | {"build": {**SGLANG["build"], "commit": "abd"}}, '"commit": "abd"'),  # type: ignore[dict-item]
        (SGLANG, SGLANG | {"attention_backend": "triton"}, '"attention_backend": "triton"'),
        (SGLANG, {}, "is null"),
        ({"flash_attention": "on"}, {"flash_attention": "off"}, '"flash_attention": "off"'),
        (
            {"model_path": "/a/canary-83ac.gguf"},
            {"model_path": "/a/canary-94bd.gguf"},
            'server was {"model_path": "canary-83ac.gguf"}, is {"model_path": "canary-94bd.gguf"}',
        ),
        (
            {"server_info": {"kv_cache_dtype": "auto"}},
            {"server_info": {"kv_cache_dtype": "fp8_e5m2"}},
            '"kv_cache_dtype": "fp8_e5m2"',
        ),
        ({"props": {"build_info": "b1"}}, {"props": {"build_info": "b2"}}, '"build_info": "b2"'),
    ],
)
def test_a_run_is_not_gone_on_with_by_another_build(
    double_of: DoubleOf,
    small_task: Task,
    patient: Settings,
    tmp_path: Path,
    first: dict[str, object],
    second: dict[str, object],
    says: str,
) -> None:
    few = replace(small_task, first=5)
    with double_of() as (double, endpoint):
        evaluate("row", few, endpoint, replace(patient, about=told_by(**first)), tmp_path)
        with pytest.raises(UsageError) as refused:
            evaluate("row", few, endpoint, replace(patient, about=told_by(**second)), tmp_path)
        assert double.stats().requests == 5
    assert str(refused.value).startswith(f"{tmp_path} cannot be resumed: server was ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_run_is_gone_on_with_by_the_same_build_started_again_elsewhere(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    other = {"random_seed": 2, "model_path": "/mnt/scout", "server_info": {"port": 2}}
    moved = told_by(**SGLANG, **{"v1/models": {"created": 2}}) | {"started": "later"}
    moved["server"]["facts"] |= other  # type: ignore[index]
    with double_of(fail_share=0.05) as (_, endpoint):
        settings = replace(patient, about=told_by(**SGLANG, server_info={"port": 1}))
        assert evaluate("row", small_task, endpoint, settings, tmp_path).counts.failed == 10
    with double_of() as (double, endpoint):
        again = evaluate("row", small_task, endpoint, replace(patient, about=moved), tmp_path)
        assert double.stats().requests == 10
    assert again.counts.right == ROWS


def test_a_run_from_before_builds_were_compared_is_held_to_what_it_says_of_its_server(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    with double_of() as (_, endpoint):
        settings = replace(patient, about=told_by(**SGLANG))
        evaluate("row", small_task, endpoint, settings, tmp_path)
        about = read_run(tmp_path)
        del about["configuration"]["server"]
        write_json(tmp_path / "run.json", about)
        other = replace(patient, about=told_by(**SGLANG | {"version": "0.5.7"}))
        with pytest.raises(UsageError, match=r'server was {"version": "0\.5\.6"}'):
            evaluate("row", small_task, endpoint, other, tmp_path)
        assert evaluate("row", small_task, endpoint, settings, tmp_path).counts.right == ROWS


def edited(folder: Path, **changes: object) -> None:
    """With the first record of a run changed by hand."""
    file = folder / "answers.jsonl"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([json.dumps(json.loads(first) | changes) + "\n", *rest]))


def test_scores_that_were_edited_do_not_count(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    with double_of(accuracy=0) as (double, endpoint):
        first = evaluate("row", small_task, endpoint, patient, tmp_path)
        before = read_records(tmp_path)
        edited(tmp_path, value=before[0].gold, gold="1", right=True, right_sglang=True)
        again = evaluate("row", small_task, endpoint, patient, tmp_path)
        assert double.stats().requests == ROWS
    assert again.counts == first.counts
    assert again.counts.right == 0
    assert read_records(tmp_path) == before


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"id": "test-9999"}, "'test-9999' in answers.jsonl is no question of this run"),
        ({"prompt_sha256": "ab" * 32}, "' in answers.jsonl was asked by another prompt"),
    ],
)
def test_an_answer_to_something_else_is_refused(
    double_of: DoubleOf,
    small_task: Task,
    patient: Settings,
    tmp_path: Path,
    changes: dict[str, object],
    says: str,
) -> None:
    with double_of() as (_, endpoint):
        evaluate("row", small_task, endpoint, patient, tmp_path)
        edited(tmp_path, **changes)
        (tmp_path / "verdict.json").write_text("{}")
        with pytest.raises(UsageError) as refused:
            evaluate("row", small_task, endpoint, patient, tmp_path)
    assert str(refused.value).startswith(f"{tmp_path} cannot be resumed: ")
    assert str(refused.value).endswith(says)
    assert "\n" not in str(refused.value)
    assert (tmp_path / "verdict.json").exists()


def test_an_earlier_verdict_is_gone_once_a_run_is_gone_on_with(
    double_of: DoubleOf, small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    with double_of() as (_, endpoint):
        evaluate("row", small_task, endpoint, patient, tmp_path)
        (tmp_path / "verdict.json").write_text('{"outcome": "fail"}')
        evaluate("row", small_task, endpoint, patient, tmp_path)
    assert not (tmp_path / "verdict.json").exists()


def test_two_writers_of_one_folder_are_refused(
    small_task: Task, patient: Settings, tmp_path: Path
) -> None:
    nowhere = Endpoint("http://127.0.0.1:9", "double")
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(UsageError, match=r"is being written by another process$"),
    ):
        evaluate("row", small_task, nowhere, patient, tmp_path)


ONE_RUN = """
import resource, signal, sys
from dataclasses import replace
from pathlib import Path
from evals.client import Limits
from evals.completions import Endpoint
from evals.prompts import PROTOCOLS
from evals.questions import load_folder
from evals.run import evaluate
from evals.task import Settings, Task
questions, base_url, folder, longest_file = sys.argv[1:]
if longest_file != "0":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(longest_file),) * 2)
task = Task(load_folder(Path(questions), "small"), PROTOCOLS["train"], shots=2)
settings = Settings(limits=Limits(parallel=10))
run = evaluate("row", task, Endpoint(base_url, "double"), settings, Path(folder))
print(run.counts.answered, *run.trouble)
"""


def start(folder: Path, questions: Path, double: Double, longest_file: int = 0) -> list[str]:
    words = [str(questions), double.base_url, str(folder), str(longest_file)]
    return [sys.executable, "-c", ONE_RUN, *words]


def test_ctrl_c_loses_what_is_in_flight_at_most(
    double_of: DoubleOf, small_folder: Path, small_task: Task, tmp_path: Path
) -> None:
    answers = tmp_path / "answers.jsonl"
    settings = Settings(limits=Limits(parallel=10))
    with double_of(delay=0.05) as (double, endpoint):
        command = start(tmp_path, small_folder, double)
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 20
            while not answers.exists() or answers.read_bytes().count(b"\n") < 30:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, complaint = process.communicate(timeout=10)
        assert complaint.splitlines()[-1] == b"KeyboardInterrupt"
        kept = read_records(tmp_path)
        assert double.stats().answered - len(kept) <= 10
        attempt = read_run(tmp_path)["attempts"][0]
        assert (attempt["trouble"], attempt["answered"]) == (["interrupted"], len(kept))
        before = double.stats().requests
        run = evaluate("row", small_task, endpoint, settings, tmp_path)
        assert double.stats().requests - before == ROWS - len(kept)
    assert run.counts.right == ROWS


def test_a_full_disk_is_trouble_and_keeps_what_was_written(
    double_of: DoubleOf, small_folder: Path, small_task: Task, tmp_path: Path
) -> None:
    settings = Settings(limits=Limits(parallel=10))
    with double_of() as (double, endpoint):
        command = start(tmp_path, small_folder, double, longest_file=20_000)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        kept = read_records(tmp_path, torn_end=True)
        assert done.stdout.startswith(f"{len(kept)} {tmp_path}/answers.jsonl cannot be written")
        assert 20 < len(kept) < ROWS
        before = double.stats().requests
        run = evaluate("row", small_task, endpoint, settings, tmp_path)
        assert double.stats().requests - before == ROWS - len(kept)
    assert run.counts.right == ROWS
    assert len(read_records(tmp_path)) == ROWS
