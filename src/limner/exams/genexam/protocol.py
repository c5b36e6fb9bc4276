"""GenExam's protocol: one ask per drawing, weighted points and three ratings, a strict and a relaxed score."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from ...core.asks import Ask, Contract, Part, Picture, Reply, Text, Unreadable, Variant, only_reply, text_in
from ...core.errors import Lacking
from ...core.exam import Question
from ...core.json_text import TooComplex, check_depth, check_length, loads
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Score
from .data import ScoringPointsRubric

MAX_SIDE = 768
RATINGS = {
    "spelling": ("Spelling",),
    "readability": ("Clarity and Readability", "Readability"),
    "logic": ("Logical Consistency",),
}
"""Our names of the ratings -> their names in replies."""
BEST = dict.fromkeys(RATINGS, 2)
"""The best value of each rating."""


class GenExam(Protocol[ScoringPointsRubric]):
    """GenExam's protocol: weighted points and three ratings, a strict and a relaxed score."""

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
        """Return the scoring points and the three ratings."""
        points = question.rubric.scoring_points
        points_criteria = [Criterion(f"point/{n}", p.question, "point", 1, p.score) for n, p in enumerate(points, 1)]
        return points_criteria + [Criterion(name, RATINGS[name][-1], "rating", 2) for name in RATINGS]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the templates of the instructions, the reference, the shape and any caption, or the release's."""
        if variant.released:
            return variant.released
        how = variant.options.get("reference", "image")
        names = (f"mark-{variant.name}", f"reference-{how}", "shape")
        return (*names, "caption") if how in ("caption", "both") else names

    def before(self, question: Question[ScoringPointsRubric], variant: Variant) -> list[Ask]:
        """Return the ask for a caption of the reference, if the variant shows one to the judge."""
        if variant.options.get("reference") not in ("caption", "both"):
            return []
        text = variant.prompts.fill("caption", prompt=question.prompt)
        return [Ask("caption", (Text(text), _reference(question)), (), Contract(_require_text))]

    def asks(
        self, question: Question[ScoringPointsRubric], image: str, evidence: Evidence, variant: Variant
    ) -> list[Ask]:
        """Return one ask, with the text, the drawing and, depending on an option, the reference."""
        how = variant.options.get("reference", "image")
        text = (
            _release_instructions(question, variant)
            if variant.released
            else _own_instructions(question, evidence, variant, how)
        )
        shown: list[Part] = [Text(text), Picture(image, MAX_SIDE, "high")]
        if how in ("image", "both"):
            shown.append(_reference(question))
        count, released = len(question.rubric.scoring_points), bool(variant.released)
        contract = Contract(lambda reply: check_reply(count, reply, released=released))
        return [Ask("mark", tuple(shown), tuple(self.criteria(question)), contract)]

    def marks(self, question: Question[ScoringPointsRubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return the marks from the reply's answers and ratings, interpreted according to `reading`."""
        parse = loads if reading == "careful" else release_loads
        try:
            text = only_reply(replies, {"mark"}).text
            return read_marks(len(question.rubric.scoring_points), text, parse, released=reading == "release")
        except ValueError as error:
            return [Mark.unread(criterion.id, str(error)) for criterion in self.criteria(question)]

    def scores(
        self, question: Question[ScoringPointsRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Return the scores, rounded as in the release: points to 4 decimals, relaxed to 3 before the percentage."""
        # Plain loops are used for speed, because hundreds of thousands of drawings are scored.
        answers = values(marks)
        scores: dict[str, float | None] = {"strict": None, "relaxed": None, "semantic": None}
        missed, met, settled = False, 0.0, True
        for name, best in BEST.items():
            value = scores[name] = answers.get(name)
            missed = missed or (value is not None and value != best)
        for criterion, weight in question.rubric.weights.items():
            point = answers.get(criterion)
            if point is None:
                settled = False
            elif point:
                met += weight
            else:
                missed = True
        rated = BEST.keys() <= answers.keys()
        if missed or (settled and rated):
            scores["strict"] = 0.0 if missed else 100.0
        if settled:
            semantic = scores["semantic"] = round(met, 4)
            if rated:
                parts = self.weights["relaxed"]
                relaxed = semantic * parts["semantic"]
                for name in BEST:  # The release's order of addition matters, because the last bits affect rounding.
                    relaxed += answers[name] * parts[name] / 2
                scores["relaxed"] = round(round(relaxed, 3) * 100, 1)
        return scores


def _own_instructions(question: Question[ScoringPointsRubric], evidence: Evidence, variant: Variant, how: str) -> str:
    """Return the judge's instructions in our wording."""
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


def _release_instructions(question: Question[ScoringPointsRubric], variant: Variant) -> str:
    """Return the judge's instructions as the release's script writes them, with the points as a Python list."""
    points = [point.question for point in question.rubric.scoring_points]
    return variant.prompts.fill("released", prompt=question.prompt, scoring_points=str(points))


def _reference(question: Question[ScoringPointsRubric]) -> Picture:
    name = question.reference.name if question.reference else ""
    if question.reference is None or question.reference.sha256 is None:
        raise Lacking(f"{question.id}: the reference image {name} is absent; add it, or use --reference none")
    return Picture(question.reference.sha256, MAX_SIDE, "high")


def _require_text(reply: str) -> str:
    if not reply.strip():
        raise Unreadable("the reply is empty")
    return reply


def release_loads(text: str) -> object:
    """Parse a reply as the release does: JSON or a Python literal, bare or in the last ``json`` fence."""
    body = text.split("```json")[-1].split("```")[0].strip()
    check_length(body)
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
            raise Unreadable("neither JSON nor a Python literal") from error
    try:
        check_depth(value)
    except TooComplex as error:
        raise Unreadable(str(error)) from error
    return value


def read_marks(count: int, text: str, parse: Callable[[str], object], *, released: bool) -> list[Mark]:
    """Return the marks in a reply on `count` scoring points.

    If `released`, readability has only the release's name, a rating may be any number, which the release scores as it
    is, and an answer that is not 1 counts as 0.

    Raises:
        Unreadable: The reply breaks the contract; the message says how.
    """
    body = parse(text)
    if not isinstance(body, Mapping):
        raise Unreadable("the reply must be one JSON object")
    answers, ratings = body.get("answers"), body.get("global_evaluation")
    if not isinstance(answers, list | tuple):
        raise Unreadable('"answers" must be a list')
    if len(answers) != count:
        raise Unreadable(f'"answers" has {len(answers)} entries; there are {count} scoring points')
    if not isinstance(ratings, Mapping):
        raise Unreadable('"global_evaluation" must be an object with the three ratings')
    marks = [
        _mark(f"point/{n}", f"answer {n}", answer, "answer", 1, released=released)
        for n, answer in enumerate(answers, 1)
    ]
    for name, called in RATINGS.items():
        spoken = next((word for word in (called[:1] if released else called) if word in ratings), None)
        if spoken is None:
            raise Unreadable(f'the rating "{called[0]}" is missing')
        marks.append(_mark(name, f'the rating "{spoken}"', ratings[spoken], "score", 2, released=released))
    return marks


def check_reply(count: int, text: str, *, released: bool) -> list[Mark]:
    """Return the marks of a valid reply; with the release's wording, replies that its own parser reads are valid too.

    Raises:
        Unreadable: The reply breaks the contract; the message says how.
    """
    try:
        return read_marks(count, text, loads, released=False)
    except Unreadable:
        if not released:
            raise
        return read_marks(count, text, release_loads, released=True)


def _mark(criterion: str, place: str, entry: Any, key: str, top: int, *, released: bool) -> Mark:
    """Return a mark from 0 to `top`, or as the release reads it."""
    if not isinstance(entry, dict) or key not in entry:
        raise Unreadable(f'{place} must be an object with "{key}"')
    value = entry[key]
    if released and top == 1:
        return Mark(criterion, int(value == 1), text_in(entry, "reasoning"))
    if released:
        if not isinstance(value, int | float) or not isfinite(value):
            raise Unreadable(f"{place} must be a number, not {value!r}"[:200])
        number: Any = int(value) if value == int(value) else value
        return Mark(criterion, number, text_in(entry, "reasoning"))
    if isinstance(value, bool) and top == 1:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(top + 1):
        allowed = " or ".join(str(n) for n in range(top + 1))
        raise Unreadable(f"{place} must be {allowed}, not {value!r}"[:200])
    return Mark(criterion, int(value), text_in(entry, "reasoning"))
