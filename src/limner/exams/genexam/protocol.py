"""GenExam's protocol: one ask per drawing, weighted points, three ratings, a strict and a relaxed score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...core.asks import Ask, Contract, Part, Picture, Reply, Text, Unreadable, Variant, only_reply
from ...core.errors import Lacking
from ...core.exam import Question
from ...core.json_text import loads
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Score
from .data import ScoringPointsRubric
from .replies import RATINGS, check, read_marks, release_loads

MAX_SIDE = 768
BEST = dict.fromkeys(RATINGS, 2)
"""The best value of each rating."""


class GenExam(Protocol[ScoringPointsRubric]):
    """See the module."""

    scored = (
        Score("strict", 100, "percent of drawings with every point met and every rating at its best"),
        Score("relaxed", 100, "0.7 of the points' weight plus 0.1 for each rating, in percent"),
        Score("semantic", 1, "weight of the points met", digits=2),
        Score("spelling", 2, "rating", digits=2),
        Score("readability", 2, "rating", digits=2),
        Score("logic", 2, "rating", digits=2),
    )
    variants = ("release", "paper")
    options: Mapping[str, tuple[str, ...]] = {"reference": ("image", "none", "caption", "both")}
    reasons = False
    label_kinds = frozenset({"point"})
    orders: Mapping[str, tuple[str, ...]] = {"difficulty": ("easy", "medium", "hard")}
    reply_tokens: Mapping[str, int] = {"mark": 3000, "caption": 600}
    breakdowns = ("subject", "difficulty", "img_type", "taxonomy2")
    dimensions = ("semantic", "spelling", "readability", "logic")
    weights: Mapping[str, Mapping[str, float]] = {
        "relaxed": {"semantic": 0.7, "spelling": 0.1, "readability": 0.1, "logic": 0.1}
    }

    def criteria(self, question: Question[ScoringPointsRubric]) -> list[Criterion]:
        """The scoring points and the three ratings."""
        points = question.rubric.scoring_points
        found = [Criterion(f"point/{n}", p.question, "point", 1, p.score) for n, p in enumerate(points, 1)]
        return found + [Criterion(name, RATINGS[name][-1], "rating", 2) for name in RATINGS]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """The main template, the piece on the reference, the captioner's where one is asked for; or the release's."""
        if variant.released:
            return variant.released
        how = variant.options.get("reference", "image")
        names = (f"mark-{variant.name}", f"reference-{how}", "shape")
        return (*names, "caption") if how in ("caption", "both") else names

    def before(self, question: Question[ScoringPointsRubric], variant: Variant) -> list[Ask]:
        """A caption of the reference, where the variant shows one to the judge."""
        if variant.options.get("reference") not in ("caption", "both"):
            return []
        text = variant.prompts.fill("caption", prompt=question.prompt)
        return [Ask("caption", (Text(text), _reference(question)), (), Contract(_some_words))]

    def asks(
        self, question: Question[ScoringPointsRubric], image: str, evidence: Evidence, variant: Variant
    ) -> list[Ask]:
        """One ask: the text, then the drawing, then (by option) the reference."""
        how = variant.options.get("reference", "image")
        text = _released(question, variant) if variant.released else _worded(question, evidence, variant, how)
        shown: list[Part] = [Text(text), Picture(image, MAX_SIDE, "high")]
        if how in ("image", "both"):
            shown.append(_reference(question))
        count, released = len(question.rubric.scoring_points), bool(variant.released)
        contract = Contract(lambda reply: check(count, reply, released=released))
        return [Ask("mark", tuple(shown), tuple(self.criteria(question)), contract)]

    def marks(self, question: Question[ScoringPointsRubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """The reply's answers and ratings, read as `reading` says."""
        parse = loads if reading == "careful" else release_loads
        try:
            text = only_reply(replies, {"mark"}).text
            return read_marks(len(question.rubric.scoring_points), text, parse, both_names=reading != "release")
        except ValueError as error:
            return [Mark.unread(criterion.id, str(error)) for criterion in self.criteria(question)]

    def scores(
        self, question: Question[ScoringPointsRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Rounded as the release rounds: points to 4 decimals, the relaxed score to 3 before it is a percentage."""
        # Plain loops: exams are scored by the hundred thousand drawings.
        known = values(marks)
        found: dict[str, float | None] = {"strict": None, "relaxed": None, "semantic": None}
        missed, met, settled = False, 0.0, True
        for name, best in BEST.items():
            value = found[name] = known.get(name)
            missed = missed or (value is not None and value < best)
        for criterion, weight in question.rubric.weights.items():
            point = known.get(criterion)
            if point is None:
                settled = False
            elif point:
                met += weight
            else:
                missed = True
        rated = BEST.keys() <= known.keys()
        if missed or (settled and rated):
            found["strict"] = 0.0 if missed else 100.0
        if settled:
            semantic = found["semantic"] = round(met, 4)
            if rated:
                parts = self.weights["relaxed"]
                relaxed = semantic * parts["semantic"]
                for name in BEST:  # One after another, as the release adds: the last bits decide how it rounds.
                    relaxed += known[name] * parts[name] / 2
                found["relaxed"] = round(round(relaxed, 3) * 100, 1)
        return found


def _worded(question: Question[ScoringPointsRubric], evidence: Evidence, variant: Variant, how: str) -> str:
    """What the judge is told in our wording."""
    paper, fill = variant.name == "paper", variant.prompts.fill
    points = [
        f"{n}. {p.question}" + (f" (weight {p.score:g})" if paper else "")
        for n, p in enumerate(question.rubric.scoring_points, 1)
    ]
    caption = {"caption": evidence["caption"]} if how in ("caption", "both") else {}
    ours = {"count": str(len(points)), "readability": RATINGS["readability"][1 if paper else 0]}
    return fill(
        f"mark-{variant.name}",
        spare=("shape",) if caption else ("reference", "shape"),
        reference=fill(f"reference-{how}", **caption).strip(),
        prompt=question.prompt,
        points="\n".join(points),
        shape=fill("shape", spare=[*ours], **ours).strip(),
    )


def _released(question: Question[ScoringPointsRubric], variant: Variant) -> str:
    """What the release's script tells the judge: the points as Python writes a list."""
    points = [point.question for point in question.rubric.scoring_points]
    return variant.prompts.fill("released", prompt=question.prompt, scoring_points=str(points))


def _reference(question: Question[ScoringPointsRubric]) -> Picture:
    name = question.reference.name if question.reference else ""
    if question.reference is None or question.reference.sha256 is None:
        raise Lacking(f"{question.id}: the reference image {name} is absent; add it, or use --reference none")
    return Picture(question.reference.sha256, MAX_SIDE, "high")


def _some_words(reply: str) -> str:
    if not reply.strip():
        raise Unreadable("the reply is empty")
    return reply
