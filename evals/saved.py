"""A run as it lies on disk: read whole, and labelled with what keeps it from being complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evals.errors import UsageError
from evals.prompts import PROTOCOLS
from evals.questions import known_set
from evals.records import Record, parsed, read_records, read_run
from evals.verdict import Outcome

KINDS = {"model": str, "questions": dict, "protocol": str, "shots": int, "sampling": dict}
TORN = "the last line of its records is unfinished"


@dataclass(frozen=True, slots=True)
class SavedRun:
    """`about` is run.json's content. `labels`, one line each, say how the run is not complete.

    `partial`: fewer questions were asked for than the protocol has. `sound` is False where its own
    verdict was none, so that no fail may be read from it either; but for one that is none because
    its gate is about other shots, which says nothing of the answers.
    """

    folder: Path
    about: Mapping[str, Any]
    records: tuple[Record, ...]
    labels: tuple[str, ...]
    partial: bool
    sound: bool

    @property
    def name(self) -> str:
        return str(self.about.get("name", self.folder.name))

    @property
    def configuration(self) -> Mapping[str, Any]:
        configuration: Mapping[str, Any] = self.about["configuration"]
        return configuration

    @property
    def asked(self) -> int:
        return int(self.configuration["questions"]["asked"])

    @property
    def started(self) -> str:
        """When it began, as it recorded it; empty where it did not."""
        attempts = self.about["attempts"] or [{}]
        return str(self.about.get("started") or attempts[0].get("started") or "")

    @property
    def origin(self) -> tuple[str, float] | None:
        """When it began, and the seconds of its first attempt, both to the millisecond.

        A copy has the same, also one that was gone on with, and so has a baseline that keeps the
        run. None where it does not say when it began.
        """
        attempts = self.about["attempts"] or [{}]
        return (self.started, float(attempts[0].get("seconds", 0.0))) if self.started else None

    @property
    def seconds(self) -> float:
        """What asking took, over all attempts."""
        return float(sum(attempt.get("seconds", 0.0) for attempt in self.about["attempts"]))

    @property
    def stopped(self) -> bool:
        """Whether its gate was lost, so that it ended early."""
        attempts = self.about["attempts"]
        return bool(attempts and attempts[-1].get("stopped"))

    @property
    def answered(self) -> dict[str, Record]:
        """The records that hold an answer, by question."""
        return {record.id: record for record in self.records if record.error is None}


def load_run(folder: Path, *, damaged: bool = False) -> SavedRun:
    """Reads a run folder. `damaged`: one whose records were cut short is read too, and labelled.

    Raises:
        UsageError: no run folder, a newer format, a damaged or truncated file, a record twice.
    """
    about = read_run(folder)
    check_configuration(about, folder)
    file = folder / "answers.jsonl"
    torn = damaged and _is_torn(file)
    records = read_records(folder, torn_end=damaged)
    answered = sum(record.error is None for record in records)
    attempts = about["attempts"]
    asked = int(about["configuration"]["questions"]["asked"])
    told = _told(attempts, asked)
    if answered < told and not damaged:
        raise UsageError(
            f"{file} holds {answered} answers, run.json tells of {told}: the file was truncated"
        )
    lost = [f"{told - answered} of its {told} answers are lost"] if answered < told else []
    verdict = read_verdict(folder)
    partial = _partial(about, verdict)
    labels = [
        *([TORN] if torn else []),
        *lost,
        *labels_of(about, partial, answered, failed=len(records) - answered),
    ]
    judged = verdict.get("outcome") != Outcome.NO_VERDICT
    sound = judged or verdict.get("reasons") == [about.get("otherwise")]
    sound = sound and not about.get("void")
    if not sound and not labels:
        labels = [f"its own verdict is none: {'; '.join(verdict.get('reasons', ()))}"]
    return SavedRun(folder, about, tuple(records), tuple(labels), partial, sound)


def labels_of(about: Mapping[str, Any], partial: bool, answered: int, failed: int) -> list[str]:
    """How a run is not complete, one line each, as far as its counts and run.json tell."""
    asked = int(about["configuration"]["questions"]["asked"])
    attempts = about["attempts"]
    return [
        *([f"a partial run: only {asked} questions were asked for"] if partial else []),
        *_end(attempts[-1] if attempts else {}),
        *_unanswered(asked, answered, failed),
        *(f"not what was asked for: {line}" for line in about.get("void") or ()),
    ]


def check_configuration(about: Mapping[str, Any], folder: Path) -> None:
    """Raises UsageError for a run.json that does not tell what was asked."""
    configuration = about["configuration"]
    lacks = [key for key, kind in KINDS.items() if type(configuration.get(key)) is not kind]
    if "questions" not in lacks:
        hashes, asked = (configuration["questions"].get(key) for key in ("sha256", "asked"))
        if type(hashes) is not dict or type(asked) is not int or asked < 1:
            lacks.append("questions")
    if not isinstance(about.get("otherwise"), str | None):
        lacks.append("otherwise")
    if lacks:
        raise UsageError(f"{folder / 'run.json'} does not tell {', '.join(lacks)}: it is damaged")


def _told(attempts: list[dict[str, Any]], asked: int) -> int:
    """How many answers the last attempt that says so left: what it found, and what it added."""
    told = 0
    for attempt in attempts:
        if attempt.get("answered") is not None and attempt.get("asked"):
            told = asked - int(attempt["asked"]) + int(attempt["answered"])
    return told


def _is_torn(file: Path) -> bool:
    try:
        content = file.read_bytes()
    except OSError:
        return False  # the reader of records tells
    return bool(content) and not content.endswith(b"\n")


def read_verdict(folder: Path) -> Mapping[str, Any]:
    """verdict.json's content; empty where there is none. Raises UsageError for a damaged one."""
    file = folder / "verdict.json"
    try:
        content = parsed(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    reasons = content.get("reasons", []) if isinstance(content, dict) else None
    if not isinstance(reasons, list) or not all(isinstance(each, str) for each in reasons):
        raise UsageError(f"{file} is damaged")
    return cast("dict[str, Any]", content)


def _partial(about: Mapping[str, Any], verdict: Mapping[str, Any]) -> bool:
    """As the run says, or its verdict; where neither does, as is known of a published set."""
    for told in (about, verdict):
        if "partial" in told:
            return bool(told["partial"])
    configuration = about["configuration"]
    known = known_set(str(configuration["questions"].get("set"))).get("test")
    protocol = PROTOCOLS.get(str(configuration["protocol"]))
    if known is None or protocol is None:
        return False
    whole = min(known.rows, protocol.questions or known.rows)
    return int(configuration["questions"]["asked"]) < whole


def _end(attempt: Mapping[str, Any]) -> list[str]:
    """How the last attempt did not end as it should."""
    if attempt.get("ended") is None:
        return ["its last attempt has no end: interrupted, or still going on"]
    labels = [f"trouble: {line}" for line in attempt.get("trouble") or ()]
    if attempt.get("stopped"):
        labels.append(f"stopped early: {attempt['stopped']}")
    return labels


def _unanswered(asked: int, answered: int, failed: int) -> list[str]:
    missing = asked - answered - failed
    labels = [f"{failed} of {asked} requests failed for good"] if failed else []
    if missing > 0:
        labels.append(f"{missing} of {asked} questions were not answered")
    return labels
