"""What comparing judges gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..protocol import Score
from ..stats import MarkAgreement, Measure
from .raters import Rater

Alphas = Mapping[str, Mapping[str, Measure]]
"""Sort of criterion -> ``nominal`` and ``interval`` -> Krippendorff's alpha."""


@dataclass(frozen=True)
class Order:
    """How alike two judges order the painters both have, on the questions all of these have.

    Attributes:
        scores: Painter -> the score under the first and under the second judge.
        low: The lower end of Spearman's interval from resampling questions.
        shift: The mean of the second judge's scores less the first's.
    """

    questions: int
    scores: Mapping[str, tuple[float, float]]
    spearman: Measure
    low: float | None
    high: float | None
    kendall: Measure
    shift: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        spearman = {**self.spearman.to_json(), "low": self.low, "high": self.high}
        body: dict[str, Any] = {"questions": self.questions, "scores": dict(self.scores), "spearman": spearman}
        return body | {"kendall": self.kendall.to_json(), "shift": self.shift}


@dataclass(frozen=True)
class Twosome:
    """Two raters on the same drawings.

    Attributes:
        marks: Sort of criterion (and ``all``) -> agreement mark by mark.
        alone: The same: marks that only the first, and that only the second decided.
        alphas: The same with Krippendorff's alpha.
        icc: Form -> intraclass correlation of the drawings' scores.
        order: How alike they order the painters.
    """

    first: str
    second: str
    marks: Mapping[str, MarkAgreement]
    alone: Mapping[str, tuple[int, int]]
    alphas: Alphas
    icc: Mapping[str, Measure]
    order: Order

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        body: dict[str, Any] = {"first": self.first, "second": self.second}
        for sort, found in self.marks.items():
            one, other = self.alone.get(sort, (0, 0))
            body.setdefault("marks", {})[sort] = {**found.to_json(), "first_only": one, "second_only": other}
        return body | {"alpha": _alphas_json(self.alphas), "icc": _json(self.icc), "order": self.order.to_json()}


@dataclass(frozen=True)
class Agreement:
    """All raters of an exam; `alphas` and `icc` are over all of them together."""

    exam: str
    reading: str
    score: Score
    raters: tuple[Rater, ...]
    pairs: tuple[Twosome, ...]
    alphas: Alphas
    icc: Mapping[str, Measure]
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; every number with its interval or its reason."""
        body: dict[str, Any] = {"exam": self.exam, "reading": self.reading, "score": self.score.name}
        body |= {"judges": [rater.to_json() for rater in self.raters], "pairs": [pair.to_json() for pair in self.pairs]}
        return body | {"alpha": _alphas_json(self.alphas), "icc": _json(self.icc), "reason": self.reason}


def _json(measures: Mapping[str, Measure]) -> dict[str, Any]:
    return {name: measure.to_json() for name, measure in measures.items()}


def _alphas_json(alphas: Alphas) -> dict[str, Any]:
    return {sort: _json(found) for sort, found in alphas.items()}
