"""Stands for a Python that has SGLang: says its version, and serves `tests.double` instead.

usage: interpreter.py -c PROBE | -m sglang.launch_server ARGUMENTS …

The variable SGLANG_DOUBLE names a JSON file with what it is told: `version`, `default_backend`,
`server_info` (changes to what it reports), `log` (lines), `late_log` (one that comes while it
serves), `refuses` (backend → the last words of a server that is asked for it), `double` (arguments
of the double), `besides` (backend → more of them), `served` (a folder where each GPU in use is a
file, and every start a line of `starts`). A second server on a GPU is written there as `clash`.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    told = json.loads(Path(os.environ["SGLANG_DOUBLE"]).read_text("utf-8"))
    if sys.argv[1] == "-c":
        build = {"location": "/sglang", "python": "3.12.3", "version": told["version"]}
        print("sglang-build: " + json.dumps({**build, "launch_server": True, "packages": {}}))
        return 0
    return serve(told, flags(sys.argv[3:]))


def flags(words: list[str]) -> dict[str, str]:
    """`--name value` pairs; a flag without a value is true."""
    pairs = zip(words, [*words[1:], "--"], strict=True)
    return {
        word[2:]: "true" if value.startswith("--") else value
        for word, value in pairs
        if word.startswith("--")
    }


def serve(told: dict, said: dict[str, str]) -> int:
    backend = said.get("attention-backend", told.get("default_backend", "fa3"))
    for line in told.get("log", ()):
        print(f"[2026-12-01 10:00:00 TP0] {line}", flush=True)
    if backend in told.get("refuses", {}):
        print(f"Traceback (most recent call last):\n{told['refuses'][backend]}", flush=True)
        return 1
    folder = Path(told["served"])
    taken = [folder / f"gpu-{gpu}" for gpu in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
    with (folder / "starts").open("a") as starts:
        starts.write(f"{said['served-model-name']} {os.environ['CUDA_VISIBLE_DEVICES']}\n")
    for gpu in taken:
        try:
            gpu.touch(exist_ok=False)
        except FileExistsError:
            (folder / "clash").write_text(gpu.name)
    # A server that is killed leaves its files, as one that is killed leaves nothing to clean up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        return answer(told, said, backend)
    finally:
        for gpu in taken:
            gpu.unlink(missing_ok=True)


def answer(told: dict, said: dict[str, str], backend: str) -> int:
    info = Path(told["served"]) / f"info-{said['port']}.json"
    info.write_text(
        json.dumps(
            {
                "version": told["version"],
                "model_path": said["model-path"],
                "revision": said.get("revision"),
                "attention_backend": backend,
                "tp_size": int(said["tp"]),
                "api_key": "s3cret",
                "internal_states": [],
                **told.get("server_info", {}),
            }
        )
    )
    key = json.loads(Path(said["config"]).read_text("utf-8"))["api-key"]
    known = ["--port", said["port"], "--api-key", key, "--model", said["served-model-name"]]
    command = [sys.executable, "-m", "tests.double", *known, "--server-info", str(info)]
    besides = told.get("besides", {}).get(backend, [])
    double = subprocess.Popen([*command, *told["double"], *besides], cwd=ROOT)
    if "late_log" in told:
        threading.Timer(1.5, print, [told["late_log"]], {"flush": True}).start()
    try:
        return double.wait()
    finally:
        double.terminate()
        double.wait()


if __name__ == "__main__":
    sys.exit(main())
