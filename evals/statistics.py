"""What a number of right answers says, and how surely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache


@cache  # asked after each answer
def count_needed(accuracy: float, questions: int) -> int:
    """The least number of right answers that reaches `accuracy`: 1227 of 1319 at 0.93.

    Exact: the accuracy is taken as the decimal that was written, not as the nearest double.
    """
    return math.ceil(Fraction(str(accuracy)) * questions)


def wilson_interval(
    right: float, questions: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Wilson's score interval of a proportion, without continuity correction.

    Source: Wilson, JASA 22 (1927) 209. Neither number need be whole: where a question was asked
    several times, `questions` is their effective number. Raises ValueError for no questions.
    """
    from scipy.stats import norm  # a tenth of a second and 60 MB: not while measuring

    if questions <= 0:
        raise ValueError("no questions have no interval")
    z = float(norm.isf((1 - confidence) / 2))
    share, pull = right / questions, z**2 / questions
    half = z * math.sqrt(share * (1 - share) / questions + pull / (4 * questions))
    low, high = ((share + pull / 2 + side * half) / (1 + pull) for side in (-1, 1))
    return (low if right else 0.0), (high if right < questions else 1.0)


def clustered_interval(
    right: Sequence[int], answers: Sequence[int], confidence: float = 0.95
) -> tuple[float, float]:
    """Wilson's interval of the share of right answers where questions were asked several times.

    `right` of a question's `answers` are so, one entry a question. Answers to one question are no
    independent ones: the interval rests on the effective number of questions, which is what the
    variance between questions leaves of the answers, and never fewer than the questions. Where all
    have one answer it is `wilson_interval`. Source: Korn and Graubard, Survey Methodology 24 (1998)
    193; the variance of a share of clusters is Cochran's, Sampling Techniques (1977), 3.12. Raises
    ValueError for no answers.
    """
    total = sum(answers)
    if total == 0:
        raise ValueError("no answers have no interval")
    share, effective = sum(right) / total, float(len(answers))
    if 0 < share < 1:
        between = math.fsum((r - share * n) ** 2 for r, n in zip(right, answers, strict=True))
        spread = share * (1 - share) * total**2
        effective = max(effective, min(total, spread / between)) if between else float(total)
    return wilson_interval(share * effective, effective, confidence)


def chance_to_fail(accuracy: float, questions: int, needed: int) -> float:
    """P(fewer than `needed` right) of a system whose true accuracy is `accuracy`.

    Questions count as drawn anew: Binomial(questions, accuracy). Computed by scipy.
    """
    from scipy.stats import binom

    return float(binom.cdf(needed - 1, questions, accuracy))
