"""Verdicts as one HTML page that needs nothing beside it (extra `report`)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.errors import RecordsNotWritten, UsageError
from evals.records import Record, now, read_records, read_run
from evals.report import pairs as pairs_report
from evals.report.text import HEADER, cells, message
from evals.summary import Summary
from evals.verdict import Outcome

TITLE = "Accuracy of Llama 4 servers"
STYLES = {
    Outcome.PASS: "pass",
    Outcome.FAIL: "fail",
    Outcome.NO_VERDICT: "no",
    Outcome.REPORT: "report",
}


def write_page(
    summaries: Sequence[Summary],
    pairs: Sequence[Mapping[str, Any]],
    lines: Sequence[str],
    file: Path,
    asked: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """Writes the page of these rows and pairs (see `pairs`) and returns where it lies.

    `lines` tell of what no table holds; `asked` has questions by set and id, as far as known.

    Raises:
        UsageError: the extra `report` is not installed.
        RecordsNotWritten: `file` cannot be written.
    """
    try:
        import jinja2
        from markupsafe import Markup
    except ModuleNotFoundError as error:
        raise UsageError(
            f"no report page: {error.name} is missing; pip install -e '.[report]'"
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    rows = [
        {
            "summary": summary,
            "cells": cells(summary),
            "style": STYLES[summary.outcome],
            "message": message(summary),
            "wrong": [pair for run in summary.runs for pair in _wrong(Path(run), asked or {})],
        }
        for summary in summaries
    ]
    page = environment.get_template("page.html.jinja").render(
        title=TITLE,
        written=now(),
        header=HEADER,
        rows=rows,
        figure=Markup(_figure(summaries)),
        pair_header=pairs_report.HEADER,
        pairs=[pairs_report.pair_cells(pair) for pair in pairs],
        lines=lines,
    )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise RecordsNotWritten(f"report {file} cannot be written: {error}") from error
    return file


def _wrong(
    run: Path, asked: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[Record, str | None]]:
    """The answers of a run that are not right, each with its question where that is known."""
    questions: Mapping[str, str] = {}
    if asked:
        questions = asked.get(read_run(run)["configuration"]["questions"]["set"], {})
    for record in read_records(run, torn_end=True):
        if record.right is False:
            yield record, questions.get(record.id)


def _figure(summaries: Sequence[Summary]) -> str:
    """Accuracy of each row with its interval and its gate, as inline SVG; empty without any."""
    shown = [s for s in summaries if s.accuracy is not None and s.interval is not None]
    if not shown:
        return ""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise UsageError(
            f"no report page: {error.name} is missing; pip install -e '.[report]'"
        ) from None
    figure = Figure(figsize=(9, 0.9 + 0.4 * len(shown)), layout="constrained")
    axes = figure.subplots()
    for height, summary in enumerate(reversed(shown)):
        assert summary.accuracy is not None
        assert summary.interval is not None
        low, high = summary.interval
        axes.plot([low, high], [height, height], color="#1f5fa8")
        axes.plot([summary.accuracy], [height], "o", color="#1f5fa8")
        if summary.gate is not None and summary.needed is not None:
            axes.plot([summary.gate.accuracy] * 2, [height - 0.4, height + 0.4], color="#b3141d")
    axes.set_yticks(range(len(shown)), [summary.name for summary in reversed(shown)])
    axes.set_xlabel("accuracy with 95% interval; red: required")
    axes.grid(axis="x", alpha=0.3)
    svg = io.StringIO()
    figure.savefig(svg, format="svg")
    return svg.getvalue().partition("<svg")[1] + svg.getvalue().partition("<svg")[2]
