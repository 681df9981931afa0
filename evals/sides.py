"""One side of a comparison: runs of the same system, and how they differ among themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from evals.records import Record
from evals.repeats import Disagreement, disagreement
from evals.saved import SavedRun
from evals.scoring import count
from evals.statistics import clustered_interval
from evals.verdict import Counts

Answers = tuple[Record, ...]  # to one question, one a run


@dataclass(frozen=True, slots=True)
class Side:
    """Runs of one system, over the questions compared; `counts` are of each run.

    `interval` is of the accuracy, 95%, clustered by question. `right` and `texts` tell where runs
    differ in what is right, and in text; None of a single run.
    """

    runs: tuple[SavedRun, ...]
    counts: tuple[Counts, ...]
    interval: tuple[float, float]
    right: Disagreement | None
    texts: Disagreement | None

    @property
    def name(self) -> str:
        return self.runs[0].name

    @property
    def pooled(self) -> Counts:
        return sum(self.counts, Counts())

    @property
    def accuracies(self) -> tuple[float, ...]:
        return tuple(counts.right / counts.answered for counts in self.counts)

    @property
    def accuracy(self) -> float:
        """The mean over the runs."""
        return fmean(self.accuracies)

    @property
    def spread(self) -> float | None:
        """The standard deviation of the runs' accuracies; None of a single run."""
        return stdev(self.accuracies) if len(self.runs) > 1 else None


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that one side has right more often than the other; the answers of all runs."""

    id: str
    answers: tuple[Answers, Answers]

    @property
    def right(self) -> tuple[int, int]:
        """How many of either side's answers are right."""
        return rights(self.answers[0]), rights(self.answers[1])

    @property
    def drop(self) -> float:
        """The share of right answers that the candidate loses; negative: gains."""
        ours, theirs = (rights(answers) / len(answers) for answers in self.answers)
        return ours - theirs

    @property
    def lost(self) -> bool:
        return self.drop > 0

    @property
    def baseline(self) -> Record:
        """The baseline's first answer that is right, of a question lost; not right, of another."""
        return next(one for one in self.answers[0] if (one.right is True) is self.lost)

    @property
    def candidate(self) -> Record:
        """The candidate's first answer of the other kind."""
        return next(one for one in self.answers[1] if (one.right is True) is not self.lost)


def side(runs: Sequence[SavedRun], answers: Mapping[str, Answers]) -> Side:
    """`answers` are those to the questions compared. ValueError where there are none."""
    return Side(
        runs=tuple(runs),
        counts=tuple(
            sum((count(one) for one in of_run), Counts())
            for of_run in zip(*answers.values(), strict=True)
        ),
        interval=clustered_interval(
            [rights(of_question) for of_question in answers.values()], [len(runs)] * len(answers)
        ),
        right=disagreement({k: [one.right is True for one in v] for k, v in answers.items()}),
        texts=disagreement({k: [plain_text(one) for one in v] for k, v in answers.items()}),
    )


def rights(answers: Answers) -> int:
    return sum(one.right is True for one in answers)


def plain_text(record: Record) -> str:
    """Without trailing blanks: engines differ in whether those before a stop text belong to it."""
    return (record.text or "").rstrip()
