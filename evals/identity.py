"""Which build a server was, and how it ran, as its run recorded it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

# What a server says of itself that tells two builds, or two ways to run one, from each other:
# nothing that differs between two starts of the same, and of `model_path` the last part alone.
IDENTITY = (
    *("version", "build_info", "model_path", "revision", "quantization", "tp_size", "page_size"),
    *("attention_backend", "prefill_attention_backend", "decode_attention_backend"),
    *("kv_cache_dtype", "flash_attention", "cache_type_k", "cache_type_v"),
)
BUILD = ("version", "commit", "modified")


def identity(about: Mapping[str, Any]) -> dict[str, Any] | None:
    """Which build the record `about` a run is of, and how it ran; None where it does not say.

    A server that was attached to says so by its pages, any other by its facts.
    """
    facts = _object(_object(about).get("server")).get("facts")
    told: dict[str, Any] = {}
    for page in (
        _object(facts),
        *(_object(_object(facts).get(p)) for p in ("server_info", "props")),
    ):
        told |= {key: page[key] for key in IDENTITY if page.get(key) is not None}
        if build := {
            key: _object(page.get("build")).get(key) for key in BUILD if page.get("build")
        }:
            told["build"] = build
    if "model_path" in told:
        told["model_path"] = PurePath(str(told["model_path"])).name
    return told or None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
