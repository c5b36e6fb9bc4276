"""Lints of an exam question and its weighted yes/no points. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from ....build.criterion_words import Lint, lint_prompt, plain, why_compound, why_general, why_not_yes
from ....build.lint import WordingRules
from ....build.wording import WORD, stems
from ....core.schema import StrictModel

ERRORS = frozenset({"empty", "length", "language", "count", "weight", "sum", "not-yes-no", "polarity", "repeated"})
WARNINGS = frozenset({"compound", "general", "whole-description", "not-in-prompt", "basic-weight", "negated"})


class PointLimits(StrictModel):
    """The limits of the rules: the paper's if it gives one, otherwise ours.

    Attributes:
        words: A prompt must have fewer words than this.
        points: The most points.
        basic: The most weight of a point that only asks whether something is present.
        described: A prompt that already has this share of the points' words describes the whole picture.
        specific: A point with words of praise must have more specific words than this.
    """

    words: int = Field(default=200, ge=10)
    points: int = Field(default=20, ge=1)
    basic: float = Field(default=0.2, gt=0, le=1)
    described: float = Field(default=0.97, gt=0, le=1)
    specific: int = Field(default=4, ge=0)


def lint_question(prompt: str, points: Sequence[Mapping[str, Any]], limits: PointLimits | None = None) -> list[Lint]:
    """Return every lint of a question and its points."""
    limits = limits or PointLimits()
    lints = [*lint_prompt(prompt, limits.words), *_weights(points, limits)]
    prompt_stems = stems(prompt)
    anchored = _anchored(prompt_stems, [stems(str(point["question"])) for point in points])
    seen: dict[str, int] = {}
    for n, point in enumerate(points, 1):
        words = str(point["question"])
        if plain(words) in seen:
            lints.append(Lint("repeated", n, f"the same as point {seen[plain(words)]}"))
        seen.setdefault(plain(words), n)
        lints += [Lint(kind, n, detail) for kind, detail in _point(words, limits)]
        strange = stems(words) - prompt_stems
        if len(strange) >= 4 and len(strange) >= 0.8 * len(stems(words)) and not stems(words) & anchored:
            lints.append(Lint("not-in-prompt", n, f"the prompt has no {', '.join(sorted(strange)[:5])}"))
        if _is_basic(words) and point["score"] > limits.basic:
            lints.append(Lint("basic-weight", n, f"{point['score']:g} for whether something is there"))
    asked = set().union(*(stems(str(point["question"])) for point in points)) if points else set()
    if len(asked) >= 8 and len(asked & prompt_stems) >= limits.described * len(asked):
        lints.append(Lint("whole-description", 0, "the prompt already says all that the points ask"))
    return lints


def _anchored(prompt: set[str], points: Sequence[set[str]]) -> set[str]:
    """Return the words of the prompt and of all points that share a word with it, directly or through other points.

    A point that asks for knowledge has words that the prompt does not have: that is what it is for.
    """
    known, apart = set(prompt), list(points)
    while near := [words for words in apart if words & known]:
        known = known.union(*near)
        apart = [words for words in apart if not words & known]
    return known


def _weights(points: Sequence[Mapping[str, Any]], limits: PointLimits) -> list[Lint]:
    if not points:
        return [Lint("count", 0, "there is no point")]
    lints = []
    if len(points) > limits.points:
        lints.append(Lint("count", 0, f"{len(points)} points; at most {limits.points} are allowed"))
    for n, point in enumerate(points, 1):
        if not 0 < point["score"] <= 1:
            lints.append(Lint("weight", n, f"{point['score']:g}; it must be above 0 and at most 1"))
    if (total := round(sum(point["score"] for point in points), 4)) != 1:
        lints.append(Lint("sum", 0, f"the weights sum to {total:g}, not 1"))
    return lints


def _point(words: str, limits: PointLimits) -> list[tuple[str, str]]:
    reasons = why_not_yes(words)
    if why := why_compound(words):
        reasons.append(("compound", why))
    if why := why_general(words, limits.specific):
        reasons.append(("general", why))
    return reasons


def _is_basic(words: str) -> bool:
    """Return whether a point only asks if something is present."""
    start = re.match(
        r"\s*(?:does|is|do|are)\s+(?:the\s+)?(?:image|diagram|picture|figure|illustration|there)\b[^?]*", words, re.I
    )
    return start is not None and len(WORD.findall(words)) <= 9 and not any(ch.isdigit() for ch in words)


RULES = WordingRules(PointLimits, ERRORS, "scoring_points", lint_question)
"""The rules of wording as recipes declare them."""
