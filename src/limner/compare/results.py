"""What comparing painters gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.evaluator import Evaluator
from ..protocol import Score
from ..scoring import Comparable
from ..stats import Interval, Measure, RankInterval
from ..store.records import row_name


@dataclass(frozen=True)
class Place:
    """Where one painter stands.

    Attributes:
        score: On the common questions, with its interval.
        rank: The places that resampling leaves open; None where there is no score or nobody to compare with.
        coverage: Questions with a score of those of the exam or selection.
        pessimistic: The score over all of these, with everything that is missing counted as nothing.
        bounds: Where the judge abstained: the least and the most the score could be on the common questions.
        wilson: For a score of all or nothing, its Wilson interval as a share of the best value.
        reason: Why there is no score.
    """

    painter: str
    strategy: str
    score: Interval
    rank: RankInterval | None
    coverage: float
    n: int
    expected: int
    failures: Mapping[str, int]
    pessimistic: float | None
    bounds: Mapping[str, float] | None
    wilson: Interval | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """The painter's row in tables."""
        return row_name(self.painter, self.strategy)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        plain = dict(self.__dict__)
        for name in ("score", "rank", "wilson"):
            plain[name] = None if plain[name] is None else plain[name].to_json()
        return plain


@dataclass(frozen=True)
class Pair:
    """Two painters, the better one first.

    Attributes:
        p_holm: The sign-flip p after Holm's correction over all pairs shown together.
        effect: Cohen's d_z, the difference in standard deviations of the per-question differences.
        differing: Questions (clusters) on which the two differ.
        gap: The gap that `needed` is for: the difference seen, or the one asked about.
        needed: About how many questions tell the two apart at that gap, with power 0.8 at alpha 0.05.
        better: Whether the first is told to be better; None where that cannot be said.
    """

    first: str
    second: str
    difference: Interval
    p: Measure
    p_holm: float | None
    effect: Measure
    differing: int
    gap: float | None
    needed: Measure
    better: bool | None
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        plain = dict(self.__dict__)
        for name in ("difference", "p", "effect", "needed"):
            plain[name] = plain[name].to_json()
        return plain


@dataclass(frozen=True)
class Comparison:
    """Painters under one evaluator; for one value of a tag, or for all questions.

    Attributes:
        compared: Whom, on which questions, and who is left out.
    """

    exam: str
    reading: str
    evaluator: Evaluator
    compared: Comparable
    score: Score
    by: str | None
    category: str | None
    questions: int
    places: tuple[Place, ...]
    pairs: tuple[Pair, ...]
    tests: int
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; every number with its interval or its reason."""
        evaluator = self.evaluator
        plain = {**self.__dict__, "judge": evaluator.judge, "evaluator": evaluator.name, "setup": dict(evaluator.setup)}
        plain["compared"] = self.compared.to_json()
        plain["score"] = {"name": self.score.name, "top": self.score.top, "about": self.score.about}
        plain["places"] = [place.to_json() for place in self.places]
        plain["pairs"] = [pair.to_json() for pair in self.pairs]
        return plain
