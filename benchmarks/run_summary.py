"""What the runs of one session showed, as data to be committed: one object a row."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from evals.errors import EvalsError
from evals.records import read_run
from evals.saved import load_run
from fixtures.measuring.reference_texts import FILE, other_prompts, read_texts

T = TypeVar("T")

FACTS = (
    "attention_backend",
    "prefill_attention_backend",
    "decode_attention_backend",
    "tp_size",
    "ep_size",
    "page_size",
    "kv_cache_dtype",
    "disable_hybrid_swa_memory",
    "prefill_cuda_graph",
    "decode_cuda_graph",
)
PARITY = (
    *("outcome", "cells", "difference", "interval", "p", "corrected", "changed_texts"),
    *("effective", "smallest", "repeats"),
)
SCORES = ("accuracy", "accuracies", "interval", "counts", "stopped", "protocol", "known_defect")


class Unreadable(Exception):
    """A run folder is damaged: what is wrong."""


def rows_of(runs: Path) -> list[dict[str, Any]]:
    """Each row that was begun in this folder, by time; repeats are one row.

    One without a verdict (its server did not start, say, or the run is one of those that
    `--repeats auto` adds for a parity gate) has the outcome None. Raises Unreadable.
    """
    return _readable(lambda: _rows(runs))


def circumstances(runs: Path) -> dict[str, Any]:
    """Machine, versions and commit of the newest run; empty where there is none.

    Raises Unreadable.
    """
    files = sorted(runs.glob("*/run.json"))
    return _readable(lambda: _circumstances(read_run(files[-1].parent))) if files else {}


def _readable(read: Callable[[], T]) -> T:
    try:
        return read()
    except (EvalsError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unreadable(repr(error)) from error


def _circumstances(about: Mapping[str, Any]) -> dict[str, Any]:
    build = dict(about.get("server", {}).get("facts", {}).get("build", {}))
    build.pop("location", None)  # a path of that machine
    told: dict[str, Any] = {k: about[k] for k in ("machine", "versions", "commit") if k in about}
    return {**told, "gpus": about.get("server", {}).get("gpus"), "server": build}


def _rows(runs: Path) -> list[dict[str, Any]]:
    verdicts = {file.parent: _read(file) for file in runs.glob("*/verdict.json")}
    judged = {Path(run).name for verdict in verdicts.values() for run in verdict["runs"]}
    others = [folder for folder in runs.glob("*/") if folder.name not in judged]
    return [
        _row(folder, verdicts[folder]) if folder in verdicts else _unjudged(folder)
        for folder in sorted([*verdicts, *others])
    ]


def _unjudged(folder: Path) -> dict[str, Any]:
    _, _, row = folder.name.partition("-")  # after the time
    return {"row": row, "outcome": None, "parity": _parities(folder)}


def _row(folder: Path, verdict: Mapping[str, Any]) -> dict[str, Any]:
    names = [Path(run).name for run in verdict["runs"]]
    runs = [folder.parent / name for name in names]
    abouts = [read_run(run) for run in runs]
    server = abouts[0].get("server", {})
    facts = server.get("facts", {})
    return {
        "row": verdict["name"],
        "outcome": verdict["outcome"],
        "reasons": verdict["reasons"],
        **{key: verdict[key] for key in SCORES if verdict.get(key) is not None},
        "parallel": abouts[0]["configuration"]["parallel"],
        "start_seconds": server.get("start seconds"),
        "warm_up_seconds": server.get("warm-up seconds"),
        "evaluation_seconds": [
            round(sum(each.get("seconds", 0.0) for each in about["attempts"]), 3)
            for about in abouts
        ],
        "tokens_per_second": verdict["tokens_per_second"],
        "latency": verdict["latency"],
        "repeats": _flips(verdict.get("repeats")),
        "texts_of_the_reference": [_identical(run) for run in runs],
        "logprob_change": _drift(runs[0]),  # of the server, measured once
        "parity": _parities(folder),
        "server": {key: facts[key] for key in FACTS if key in facts},
        "log": [line.partition(": ")[0] for line in facts.get("log_told", ())],  # the meanings
    }


def _identical(run: Path) -> int | None:
    """How many texts are those of `reference.jsonl` beside the weights.

    None where there is no such file, or it is of other prompts.
    """
    saved = load_run(run, damaged=True)
    weights = saved.about["row"]["model"].get("path")
    file = Path(weights) / FILE if weights else None
    if file is None or not file.exists():
        return None
    wanted = read_texts(file)
    asked = [(record.id, record.prompt_sha256) for record in saved.records]
    if other_prompts(wanted, asked, file):
        return None
    return sum(
        wanted[question].same(record.text)
        for question, record in saved.answered.items()
        if question in wanted
    )


def _drift(run: Path) -> dict[str, Any] | None:
    file = run / "drift.json"
    if not file.exists():
        return None
    content = _read(file)
    return {"outcome": content["outcome"], "bounds": content["bounds"], **content["drift"]}


def _parities(folder: Path) -> list[dict[str, Any]]:
    return [_parity(_read(file)) for file in sorted(folder.glob("parity-*.json"))]


def _parity(content: Mapping[str, Any]) -> dict[str, Any]:
    """Without the flipped questions' texts: those are in the run."""
    told = {key: content[key] for key in PARITY if content.get(key) is not None}
    between = {
        side: {
            "standard_deviation": found["standard_deviation"],
            "right": _flips(found["right"]),
            "texts": _flips(found["texts"]),
        }
        for side, found in (content.get("repeats_of") or {}).items()
    }
    flips = [flip["id"] for flip in content.get("flips") or ()]
    return {"pair": content["pair"], **told, "flips": flips, "between_repeats": between}


def _flips(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Of repeats: the mean share of questions that two of them answer differently, and how many."""
    if not found:
        return None
    questions: Sequence[str] = found["questions"]
    return {"share": found["share"], "questions": len(questions)}


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content
