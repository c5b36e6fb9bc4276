"""Whether a judge may replace a person of a study, by the alternative-annotator test on their marks. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..stats.alternative_annotator import AlternativeTest, alternative_annotator
from ..stats.types import Plain
from .opinions import Opinion, Seen

Marks = Mapping[str, float]
"""Criterion -> share of its best value."""


@dataclass(frozen=True)
class Replacement(Plain):
    """The test of one judge against the people of one study."""

    judge: str
    study: str
    test: AlternativeTest

    @property
    def sentence(self) -> str | None:
        """The outcome in words; None where the test could not be made."""
        if self.test.win_rate is None:
            return None
        may = "may" if self.test.passes else "may not"
        return (
            f"By the alternative-annotator test {self.judge} {may} replace a person of the study {self.study} "
            f"(win rate {self.test.win_rate:.2f} of {len(self.test.people)} people)."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the sentence and the numbers of the test; ``test`` is None where there is only a reason."""
        numbers = self.test.to_json()
        reason = numbers.pop("reason")
        about = {"judge": self.judge, "study": self.study, "sentence": self.sentence}
        return {**about, "test": None if self.test.win_rate is None else numbers, "reason": reason}


def replacement(judge: Opinion, study: str, people: Sequence[Opinion], seen: Mapping[str, Seen]) -> Replacement:
    """Test a judge's marks against those of a study's people."""
    clusters = {id: each.cluster for id, each in seen.items()}
    answers = {person.name: person.marks for person in people}
    return Replacement(judge.name, study, alternative_annotator(judge.marks, answers, _alike, clusters=clusters))


def _alike(one: Marks, others: Sequence[Marks]) -> float:
    """Return the share of equal marks, of the criteria that both decide, averaged over the others."""
    shares = []
    for other in others:
        both = one.keys() & other.keys()
        shares.append(sum(one[name] == other[name] for name in both) / len(both) if both else 0.0)
    return sum(shares) / len(shares)
