"""GenExam's protocol: one ask per drawing, weighted points, three ratings, a strict and a relaxed score."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import Lacking
from ...exam import Question
from ...marks import Criterion, Mark, values
from ...models.tolerant import loads
from ...protocol import (
    Ask,
    Contract,
    Evidence,
    Part,
    Picture,
    Protocol,
    Reading,
    Reply,
    Score,
    Text,
    Unreadable,
    Variant,
)
from .data import Rubric

MAX_SIDE = 768
RATINGS = {
    "spelling": ("Spelling",),
    "readability": ("Clarity and Readability", "Readability"),
    "logic": ("Logical Consistency",),
}
"""Our names of the ratings, and the names replies give them."""


class GenExam(Protocol[Rubric]):
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
    label_kinds = frozenset({"point"})
    orders: Mapping[str, tuple[str, ...]] = {"difficulty": ("easy", "medium", "hard")}
    reply_tokens: Mapping[str, int] = {"mark": 3000, "caption": 600}
    breakdowns = ("subject", "difficulty", "img_type", "taxonomy2")
    dimensions = ("semantic", "spelling", "readability", "logic")

    def criteria(self, question: Question[Rubric]) -> list[Criterion]:
        """The scoring points and the three ratings."""
        points = question.rubric.scoring_points
        found = [Criterion(f"point/{n}", p.question, "point", 1, p.score) for n, p in enumerate(points, 1)]
        return found + [Criterion(name, RATINGS[name][-1], "rating", 2) for name in RATINGS]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """The main template, the piece on the reference, and the captioner's where one is asked for."""
        how = variant.options.get("reference", "image")
        names = (f"mark-{variant.name}", f"reference-{how}", "shape")
        return (*names, "caption") if how in ("caption", "both") else names

    def before(self, question: Question[Rubric], variant: Variant) -> list[Ask]:
        """A caption of the reference, where the variant shows one to the judge."""
        if variant.options.get("reference") not in ("caption", "both"):
            return []
        text = variant.prompts.fill("caption", prompt=question.prompt)
        return [Ask("caption", (Text(text), _reference(question)), (), Contract(_some_words))]

    def asks(self, question: Question[Rubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """One ask: the text, then the drawing, then (by option) the reference."""
        how = variant.options.get("reference", "image")
        weighted = variant.name == "paper"
        readability = RATINGS["readability"][1 if variant.name == "paper" else 0]
        points = [
            f"{n}. {p.question}" + (f" (weight {p.score:g})" if weighted else "")
            for n, p in enumerate(question.rubric.scoring_points, 1)
        ]
        fields = {"caption": evidence["caption"]} if how in ("caption", "both") else {}
        text = variant.prompts.fill(
            f"mark-{variant.name}",
            reference=variant.prompts.fill(f"reference-{how}", **fields).strip(),
            prompt=question.prompt,
            points="\n".join(points),
            shape=variant.prompts.fill("shape", count=str(len(points)), readability=readability).strip(),
        )
        shown: list[Part] = [Text(text), Picture(image, MAX_SIDE, "high")]
        if how in ("image", "both"):
            shown.append(_reference(question))
        contract = Contract(lambda reply: _read(question, reply, loads, both_names=True))
        return [Ask("mark", tuple(shown), tuple(self.criteria(question)), contract)]

    def marks(self, question: Question[Rubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """The reply's answers and ratings, read as `reading` says."""
        parse = loads if reading == "careful" else _release_loads
        try:
            found = [reply.text for reply in replies if reply.ask == "mark"]
            if len(found) != 1:
                raise Unreadable(f"{len(found)} replies where one is wanted")
            return _read(question, found[0], parse, both_names=reading != "release")
        except ValueError as error:
            return [Mark.unread(criterion.id, str(error)) for criterion in self.criteria(question)]

    def scores(self, question: Question[Rubric], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Rounded as the release rounds: points to 4 decimals, the relaxed score to 3 before it is a percentage."""
        known = values(marks)
        weights = {f"point/{n}": p.score for n, p in enumerate(question.rubric.scoring_points, 1)}
        ratings = {name: known.get(name) for name in RATINGS}
        found: dict[str, float | None] = {"strict": None, "relaxed": None, "semantic": None, **ratings}
        top = {**dict.fromkeys(weights, 1), **dict.fromkeys(RATINGS, 2)}
        if any(value < top[criterion] for criterion, value in known.items()):
            found["strict"] = 0.0
        elif len(known) == len(top):
            found["strict"] = 100.0
        if weights.keys() <= known.keys():
            semantic = round(sum(weight for criterion, weight in weights.items() if known[criterion]), 4)
            found["semantic"] = semantic
            if ratings.keys() <= known.keys():
                spelling, readability, logic = (known[name] for name in RATINGS)
                relaxed = semantic * 0.7 + spelling * 0.1 / 2 + readability * 0.1 / 2 + logic * 0.1 / 2
                found["relaxed"] = round(round(relaxed, 3) * 100, 1)
        return found


def _reference(question: Question[Rubric]) -> Picture:
    name = question.reference.name if question.reference else ""
    if question.reference is None or question.reference.sha256 is None:
        raise Lacking(f"{question.id}: the reference image {name} is absent; add it, or use --reference none")
    return Picture(question.reference.sha256, MAX_SIDE, "high")


def _some_words(reply: str) -> str:
    if not reply.strip():
        raise Unreadable("the reply is empty")
    return reply


def _release_loads(text: str) -> object:
    """A reply as the release takes it: JSON or a Python literal, bare or in the last ``json`` fence."""
    body = text.split("```json")[-1].split("```")[0].strip()
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        try:
            return ast.literal_eval(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
            raise Unreadable("neither JSON nor a Python literal") from error


def _read(question: Question[Rubric], text: str, parse: Callable[[str], object], both_names: bool) -> list[Mark]:
    body = parse(text)
    if not isinstance(body, Mapping):
        raise Unreadable("the reply must be one JSON object")
    answers, ratings = body.get("answers"), body.get("global_evaluation")
    count = len(question.rubric.scoring_points)
    if not isinstance(answers, list | tuple):
        raise Unreadable('"answers" must be a list')
    if len(answers) != count:
        raise Unreadable(f'"answers" has {len(answers)} entries; there are {count} scoring points')
    if not isinstance(ratings, Mapping):
        raise Unreadable('"global_evaluation" must be an object with the three ratings')
    marks = [_mark(f"point/{n}", f"answer {n}", answer, "answer", 1) for n, answer in enumerate(answers, 1)]
    for name, called in RATINGS.items():
        spoken = next((word for word in (called if both_names else called[:1]) if word in ratings), None)
        if spoken is None:
            raise Unreadable(f'the rating "{called[0]}" is missing')
        marks.append(_mark(name, f'the rating "{spoken}"', ratings[spoken], "score", 2))
    return marks


def _mark(criterion: str, place: str, entry: Any, key: str, top: int) -> Mark:
    if not isinstance(entry, Mapping) or key not in entry:
        raise Unreadable(f'{place} must be an object with "{key}"')
    value = entry[key]
    if isinstance(value, bool) and top == 1:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(top + 1):
        allowed = " or ".join(str(n) for n in range(top + 1))
        raise Unreadable(f"{place} must be {allowed}, not {value!r}"[:200])
    reason = entry.get("reasoning")
    return Mark(criterion, int(value), reason if isinstance(reason, str) else "")
