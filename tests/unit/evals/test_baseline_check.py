"""Runs held against a baseline: as `compare` would have it, and warned of another key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.baseline.check import check
from evals.baseline.store import load_baseline
from evals.compare import compare
from evals.parity import Parity, ParityGate
from evals.report.pair import comparison_text
from evals.saved import load_run
from tests.unit.evals.baselines import (
    FATES,
    NAME,
    Save,
    edited,
    said,
    set_to,
)
from tests.unit.evals.conftest import ROWS
from tests.unit.evals.run_folders import (
    FAILED,
    INVALID,
    MISSING,
    RIGHT,
    WRONG,
    row_of,
)


@pytest.mark.parametrize(
    ("fates", "code", "headline"),
    [
        ([RIGHT] * ROWS, 0, "NO WORSE"),
        (FATES, 0, "CANNOT TELL"),
        (FATES[:180] + [WRONG] * 20, 10, "WORSE"),
        ([FAILED, *FATES[1:]], 11, "NO VERDICT"),
        ([WRONG] * 40 + [MISSING] * 10 + [RIGHT] * 150, 10, "WORSE"),
    ],
)
def test_check_ends_with_the_codes_of_compare(
    capsys: pytest.CaptureFixture[str],
    run: Save,
    saved: Path,
    store: Path,
    fates: list[str],
    code: int,
    headline: str,
) -> None:
    ended, out, err = said(capsys, "check", run("later", fates), f"--dir={store}")
    assert (ended, err) == (code, "")
    assert out.startswith(f"later against accepted: {headline}")


def test_a_check_says_what_comparing_the_runs_says(run: Save, tmp_path: Path, saved: Path) -> None:
    later = load_run(run("later", [RIGHT] * 150 + [INVALID] * 2 + [WRONG] * 18 + [RIGHT] * 30))
    seen = check(load_baseline(saved), saved, [later], ParityGate())
    direct = compare(load_run(tmp_path / "accepted"), later)
    assert seen.verdict == direct.verdict
    assert seen.outcome is Parity.WORSE
    for name in ("changed", "asked", "compared"):
        assert getattr(seen, name) == getattr(direct, name)
    assert (seen.baseline.counts, seen.candidate) == (direct.baseline.counts, direct.candidate)
    assert [(f.id, f.lost, f.candidate) for f in seen.flips] == [
        (f.id, f.lost, f.candidate) for f in direct.flips
    ]


def test_repeats_are_checked_as_they_are_compared(
    capsys: pytest.CaptureFixture[str], run: Save, store: Path
) -> None:
    def wrong(place: int, questions: int) -> list[str]:
        return [RIGHT] * place + [WRONG] * questions + [RIGHT] * (ROWS - place - questions)

    ours = [run(f"ours-{place}", wrong(place, 3), row_name="ours") for place in range(3)]
    theirs = [run(f"theirs-{place}", wrong(place, 12), row_name="theirs") for place in range(2)]
    code, out, _ = said(capsys, "save", *ours, f"--dir={store}")
    assert code == 0
    assert "  3  " in out
    (file,) = store.iterdir()
    candidates = [load_run(folder) for folder in theirs]
    seen = check(load_baseline(file), file, candidates, ParityGate())
    direct = compare([load_run(folder) for folder in ours], candidates)
    assert seen.verdict == direct.verdict
    assert [(f.id, f.right) for f in seen.flips] == [(f.id, f.right) for f in direct.flips]
    for side in ("baseline", "candidate"):
        for name in ("counts", "interval", "right", "texts"):
            assert getattr(getattr(seen, side), name) == getattr(getattr(direct, side), name)
    code, out, _ = said(capsys, "check", *theirs, f"--dir={store}")
    assert code == 10
    assert "baseline: 3 runs, 591 of 600 right" in out
    assert f"{file} (run 3), llama_cpp, fa_on, cpu" in out
    assert "lost, 3 of 3 right → 0 of 2" in out


def test_a_run_is_not_held_against_a_baseline_that_keeps_it(
    capsys: pytest.CaptureFixture[str], run: Save, saved: Path, store: Path, tmp_path: Path
) -> None:
    code, out, err = said(capsys, "check", tmp_path / "accepted", f"--dir={store}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{saved} and {tmp_path / 'accepted'} hold the same run, which began at 2026-" in err
    repeats = run("a", row_name="a"), run("b", row_name="a")
    said(capsys, "save", *repeats, f"--dir={store}", "--replace")
    code, _, err = said(capsys, "check", repeats[1], f"--dir={store}")
    assert (code, f"{saved} (run 2) and {repeats[1]} hold the same run" in err) == (2, True)


def test_runs_of_two_keys_are_no_repeats(
    capsys: pytest.CaptureFixture[str], run: Save, saved: Path
) -> None:
    folders = run("a"), run("b", row=row_of("fa_off"))
    code, out, err = said(capsys, "check", *folders, f"--baseline={saved}")
    assert (code, out) == (11, "")
    assert "are no repeats: they differ in backend fa_on there, fa_off here" in err


def test_flips_show_the_candidates_text_and_say_that_the_other_is_not_kept(
    capsys: pytest.CaptureFixture[str], run: Save, saved: Path, store: Path, tmp_path: Path
) -> None:
    later, file = run("later", [*FATES[:199], WRONG]), tmp_path / "seen.json"
    _, out, _ = said(capsys, "check", later, f"--dir={store}", "--json", file)
    assert "test-0199 lost: gold 400" in out
    assert "baseline  right; its text is not kept" in out
    assert "candidate 401: It is not. / #### 401" in out
    flip = json.loads(file.read_text())["flips"][0]
    assert flip["values"] == [None, "401"]
    assert flip["texts"] == [None, " It is not.\n#### 401"]


def test_a_missing_baseline_is_named_with_those_that_are_there(
    capsys: pytest.CaptureFixture[str], run: Save, saved: Path, store: Path
) -> None:
    code, _, err = said(capsys, "check", run("other", row=row_of("fa_off")), f"--dir={store}")
    assert code == 2
    assert "has no baseline of tiny llama_cpp fa_off cpu train tp1; it has: " in err
    assert "tiny llama_cpp fa_on cpu train tp1" in err


def test_a_named_baseline_of_another_key_is_compared_under_a_warning(
    capsys: pytest.CaptureFixture[str], run: Save, saved: Path
) -> None:
    later = run("later", row=row_of("triton", tensor_parallel=4))
    code, out, _ = said(capsys, "check", later, f"--baseline={saved}")
    assert code == 0
    assert out.splitlines()[0] == (
        "warning: the baseline is of another key: backend fa_on there, triton here; "
        "tensor parallel 1 there, 4 here"
    )


ARGUMENTS = {"kv_cache_dtype": "auto", "page-size": 16, "stream": True}
OTHER = {"kv_cache_dtype": "fp8_e5m2", "page_size": 16, "disable_hybrid_swa_memory": True}


def test_arguments_that_differ_are_told_by_check_and_compare(
    capsys: pytest.CaptureFixture[str], run: Save, store: Path, tmp_path: Path
) -> None:
    accepted = run("accepted", row=row_of(arguments=ARGUMENTS))
    later = run("later", row=row_of(arguments=OTHER))
    said(capsys, "save", accepted, f"--dir={store}")
    told = (
        "  warning: other arguments, baseline and candidate: disable_hybrid_swa_memory (not set "
        'and true), kv_cache_dtype ("auto" and "fp8_e5m2"), stream (true and not set)'
    )
    file = tmp_path / "seen.json"
    code, out, _ = said(capsys, "check", later, f"--dir={store}", "--json", file)
    assert (code, out.splitlines()[1]) == (0, told)
    assert json.loads(file.read_text())["arguments"] == {"baseline": ARGUMENTS, "candidate": OTHER}
    assert comparison_text(compare(load_run(accepted), load_run(later))).splitlines()[1] == told


def test_arguments_that_agree_or_are_not_known_are_not_told(
    capsys: pytest.CaptureFixture[str], run: Save, store: Path
) -> None:
    said(capsys, "save", run("accepted", row=row_of(arguments=ARGUMENTS)), f"--dir={store}")
    later = run("later", row=row_of(arguments=ARGUMENTS)), run("other", row=row_of(arguments=OTHER))
    assert "other arguments" not in said(capsys, "check", later[0], f"--dir={store}")[1]
    assert "other arguments" in said(capsys, "check", later[1], f"--dir={store}")[1]
    edited(store / NAME, lambda content: content.pop("arguments"))  # as before they were kept
    code, out, err = said(capsys, "check", later[1], f"--dir={store}")
    assert (code, "other arguments" in out, err) == (0, False, "")


def test_another_machine_build_or_commit_is_told_and_no_warning(
    capsys: pytest.CaptureFixture[str], run: Save, store: Path
) -> None:
    def about(version: str, cores: int, sha: str) -> dict[str, Any]:
        server = {"facts": {"version": version}}
        return {"server": server, "machine": {"cores": cores}, "commit": {"sha": sha}}

    said(capsys, "save", run("accepted", **about("1.2", 2, "aaa")), f"--dir={store}")
    _, out, _ = said(capsys, "check", run("later", **about("1.3", 4, "bbb")), f"--dir={store}")
    assert out.splitlines()[0] == (
        "also different: build (version 1.2 there, 1.3 here); machine (cores 2 there, 4 here); "
        "commit aaa there, bbb here"
    )
    assert "another key" not in out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (set_to("asked", "shots", value=4), "shots (4 and 2)"),
        (set_to("asked", "sampling", "temperature", value=1.0), "sampling"),
        (set_to("asked", "sha256", "test", value="0"), "questions (small, test 0"),
        (set_to("key", "model", value="other"), 'model ("other" and "tiny")'),
        (set_to("key", "protocol", value="long"), "protocol"),
        (set_to("prompts", 0, value=" ".join(["00000000"] * 10)), "the prompts of 10 questions"),
    ],
)
def test_a_baseline_of_other_questions_is_refused_as_by_compare(
    capsys: pytest.CaptureFixture[str],
    run: Save,
    saved: Path,
    change: Callable[[dict[str, Any]], object],
    told: str,
) -> None:
    edited(saved, change)
    code, out, err = said(capsys, "check", run("later"), f"--baseline={saved}")
    assert (code, out) == (11, "")
    assert told in err
