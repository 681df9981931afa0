"""Sessions on GPUs as users run them: GPUs on paper, SGLang as a double, all else real."""

import json
import shutil
import time
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from fixtures import canary
from tests.sglang_double.sessions import Machine, ended
from tests.unit.fixtures.simulated import GIB, a_gpu

STOCK = Path(canary.__file__).parent / "stock"
REFUSED = (
    "ValueError: TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100). "
    "Please use a different backend."
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """With one H200 and one row: a canary under fa3."""
    machine = Machine(tmp_path)
    machine.rows("")
    return machine


def run_of(machine: Machine) -> dict[str, object]:
    (file,) = machine.folder.glob("runs/*/run.json")
    content: dict[str, object] = json.loads(file.read_text())
    return content


def test_a_row_passes_on_its_gpu_and_says_what_it_cost(machine: Machine) -> None:
    code, said = machine.run("-m", "h200 and canary")
    assert code == 0, said
    assert "tiny-fa3-h200: start " in said
    assert " s, warm-up " in said
    assert machine.starts == ["tiny 0"]
    assert list(machine.served.glob("gpu-*")) == []
    run = run_of(machine)
    assert "s3cret" not in json.dumps(run)
    server = run["server"]
    assert isinstance(server, dict)
    assert server["environment"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert server["facts"]["attention_backend"] == "fa3"
    assert server["warm-up seconds"] < 10
    assert server["gpus"] == ["GPU 0, NVIDIA H200, GPU-0"]
    assert list(machine.folder.glob("runs/*/key.yaml")) == []


def test_a_generation_that_is_wanted_and_absent_fails_the_session_at_once(machine: Machine) -> None:
    started = time.monotonic()
    code, said = machine.run("-m", "b200")
    assert time.monotonic() - started < 5
    assert code != 0
    assert "-m b200: no B200 on this machine (found: 1 x NVIDIA H200); nothing" in said
    assert machine.starts == []
    code, said = machine.run("-m", "b200", "-n", "2")
    assert code != 0
    assert "no B200 on this machine" in said


def test_what_does_not_fit_is_left_out_where_nobody_asked_for_it(machine: Machine) -> None:
    machine.rows("", 'generation = "b200"\nbackend = "triton"', "tensor_parallel = 8\ngpus = 8")
    machine.rows("", 'generation = "b200"\nbackend = "triton"', 'backend = "triton"\ngpus = 8')
    code, said = machine.run("--questions", "8")
    assert (
        "left out: 2 rows, found: 1 x NVIDIA H200: 1 that need 8 x H200, 1 that need B200" in said
    )
    assert machine.starts == ["tiny 0"]
    assert code == 11  # a partial run
    code, said = machine.run("-m", "h200", "-k", "triton")
    assert code == 11
    assert "tiny-triton-h200: needs 8 x H200, found: 1 x NVIDIA H200: run it on a machine" in said
    assert machine.starts == ["tiny 0"]


def test_of_a_widened_canarys_splits_those_that_fit_run_and_the_others_are_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA4_ACCURACY_CACHE", str(machine.folder / "cache"))
    monkeypatch.delenv("NCCL_NVLS_ENABLE", raising=False)
    source = shutil.copytree(STOCK, machine.folder / "stock")
    words = Tokenizer(
        WordLevel({"any": 0}, unk_token="any")
    )  # no more of them than the double says
    words.pre_tokenizer = WhitespaceSplit()
    words.save(str(source / "tokenizer.json"))
    file = machine.rows("tensor_parallel = [1, 2, 8]")
    wide = f'path = "{source}"\nattention_copies = 8\ntensor_parallel = 8'
    file.write_text(file.read_text().replace('path = "tiny"', wide))
    machine.gpus(a_gpu(0), a_gpu(1))
    code, said = machine.run("-m", "h200 and canary")
    assert code == 0, said
    assert "left out: 1 row, found: 2 x NVIDIA H200: 1 that need 8 x H200" in said
    assert machine.starts == ["tiny 0", "tiny 0,1"]
    runs = [json.loads(run.read_text()) for run in sorted(machine.folder.glob("runs/*/run.json"))]
    (wide_folder,) = (machine.folder / "cache").iterdir()
    assert [run["server"]["facts"]["model_path"] for run in runs] == [str(wide_folder)] * 2
    settings = [run["server"]["environment"].get("NCCL_NVLS_ENABLE") for run in runs]
    assert settings == [None, "0"]
    code, said = machine.run("-m", "h200", "-k", "tiny-fa3-h200")
    assert code == 4
    assert "tiny-fa3-h200 needs 8 x H200, which is not on this machine" in said
    machine.gpus(a_gpu(0))
    code, said = machine.run("-m", "h200 and parallel")
    assert code == 5
    assert "nothing was measured; left out: 2 rows, found: 1 x NVIDIA H200" in said


def test_a_refusal_is_no_verdict_with_sglangs_own_reason(machine: Machine) -> None:
    machine.rows('backend = "trtllm_mha"')
    machine.told["refuses"] = {"trtllm_mha": REFUSED}
    code, said = machine.run("-m", "h200", "-k", "trtllm_mha")
    assert code == 11
    assert "needs SGLang >=0.5.19, and this is 0.5.15" in said
    assert f"s after its start, before it was ready: {REFUSED}" in said
    assert machine.starts == []
    code, said = machine.run("-m", "h200")
    assert "left out: 1 row" in said
    assert "1 that need another release (version: trtllm_mha on h200 needs SGLang >=0.5.19" in said


def test_another_backend_than_asked_for_is_no_verdict(machine: Machine) -> None:
    machine.told["server_info"] = {"attention_backend": "triton"}
    code, said = machine.run("-m", "h200")
    assert code == 11
    assert "attention_backend: asked for fa3, the server runs triton" in said


def test_a_checkpoint_with_weights_missing_is_no_verdict_though_its_answers_pass(
    machine: Machine,
) -> None:
    machine.told["log"] = ["Parameter model.layers.0.mlp.gate not found in params_dict"]
    code, said = machine.run("-m", "h200")
    assert code == 11
    assert "weights of the checkpoint not loaded" in said


def test_the_default_must_be_what_is_on_record_for_the_generation(machine: Machine) -> None:
    machine.rows('backend = "default"')
    machine.told["default_backend"] = "triton"
    code, said = machine.run("-m", "h200")
    assert code == 11
    assert "the default on h200 is fa3, the server runs triton" in said


def test_memory_that_somebody_else_holds_is_named_before_a_launch(machine: Machine) -> None:
    holder = {"pid": 1, "name": "train", "memory": 100 * GIB}
    machine.gpus(a_gpu(0, used=100 * GIB, processes=[holder]))
    code, said = machine.run("-m", "h200")
    assert code == 11
    assert "GPU 0 has 40.0 of 140.0 GiB free: held by train (pid 1, 100.0 GiB): end it" in said
    assert machine.starts == []


def test_on_paper_every_wanted_row_has_its_launch_line(machine: Machine) -> None:
    machine.rows('generation = "b200"\nbackend = "trtllm_mha"\ntensor_parallel = 8')
    code, said = machine.run("-m", "b200", "--dry-run")
    assert code == 0
    assert "tiny-trtllm_mha-b200: 8 x b200 (not on this machine), about 40 GPU-minutes, " in said
    assert "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 " in said
    assert "--tp 8 --attention-backend trtllm_mha" in said
    assert machine.starts == []


def test_a_late_line_of_the_log_takes_the_answers_back(machine: Machine) -> None:
    machine.told["late_log"] = "Setting attention backend to triton"
    machine.told["double"] += ["--delay", "0.1"]
    code, said = machine.run("-m", "h200")
    assert code == 11
    assert "attention backend changed by the server: Setting attention backend to triton" in said


def test_a_launcher_of_the_row_starts_the_server(machine: Machine) -> None:
    machine.rows('launcher = ["env", "KEY={key_file}", "{command}"]')
    code, said = machine.run("-m", "h200", "--dry-run")
    assert f" env KEY=KEY.yaml {machine.folder}/python -m sglang.launch_server" in said
    code, said = machine.run("-m", "h200", "--questions", "5")
    assert (code, machine.starts) == (11, ["tiny 0"])
    assert "5 right of 5 answered" in said or "4 right of 5 answered" in said


def test_killing_pytest_leaves_no_server_and_frees_its_gpu(machine: Machine) -> None:
    machine.told["double"] += ["--delay", "5"]
    with ended(machine.start("-m", "h200")) as session:
        deadline = time.monotonic() + 60
        while not list(machine.folder.glob("runs/*/answers.jsonl")):
            assert time.monotonic() < deadline
            assert session.poll() is None
            time.sleep(0.05)
        session.kill()
        session.wait()
        deadline = time.monotonic() + 15
        while machine.left():
            assert time.monotonic() < deadline, machine.left()
            time.sleep(0.1)
