"""Lint of an item's question, declared in a recipe, and of the criteria of a whole exam."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from ..calls import Calls
from ..core.asks import Contract, Text, Unreadable
from ..core.exam import Exam, Question
from ..core.json_text import loads
from ..core.loops import process_all
from ..core.marks import Criterion
from ..core.protocol import Protocol
from ..core.schema import StrictModel, first_error
from ..core.vocabulary import ReplyField, read_reply
from ..models import Context, complete
from ..models.base import Model
from ..running.steps import outcome
from .criterion_words import Lint, plain, why_not_yes
from .embedding import embed, is_installed
from .wording import QUOTED, WORD, same_words, stem, stems


@dataclass(frozen=True)
class WordingRules:
    """The rules of wording for one kind of question, which its exam's recipe has as ``WORDING``.

    Attributes:
        limits: The model of their limits.
        errors: The kinds of lints that no exam may have; the others are warnings.
        entries: The field that has the criteria, if a recipe names no other.
        lint: Returns the lints of a question and its criteria, within the limits.
    """

    limits: type[StrictModel]
    errors: frozenset[str]
    entries: str
    lint: Callable[[str, Sequence[Mapping[str, Any]], Any], list[Lint]]


@cache
def _wordings() -> Mapping[str, WordingRules]:
    """Return the rules of wording of all installed recipes."""
    from .recipe import recipes

    return {kind: rules for recipe in recipes() for kind, rules in recipe.code.get("WORDING", {}).items()}


class LintSettings(StrictModel):
    """The wording of a question and its criteria.

    Attributes:
        kind: ``points``: weighted yes/no questions; ``checklist``: statements with explanations.
        prompt: The field with the question.
        entries: The field with the criteria, if not ``scoring_points`` or ``checklist``.
        limits: The limits of the rules.
        refuse: Kinds of warnings that count as errors.
    """

    kind: str
    prompt: str = "prompt"
    entries: str = ""
    limits: dict[str, float] = Field(default_factory=dict)
    refuse: tuple[str, ...] = ()

    @field_validator("kind")
    @classmethod
    def _exists(cls, kind: str) -> str:
        if kind not in _wordings():
            raise ValueError(f"must be one of {', '.join(_wordings())}")
        return kind

    @model_validator(mode="after")
    def _limits_exist(self) -> Self:
        try:
            _wordings()[self.kind].limits.model_validate(self.limits)
        except ValidationError as error:
            names = ", ".join(_wordings()[self.kind].limits.model_fields)
            raise ValueError(f"limits.{first_error(error)}; the limits are: {names}") from error
        return self

    def fields(self) -> tuple[str, str]:
        """Return the fields with the question and its criteria."""
        return self.prompt, self.entries or _wordings()[self.kind].entries


def lint_entries(how: LintSettings, body: Mapping[str, Any]) -> tuple[list[Lint], list[Lint]]:
    """Return the errors and the warnings of an item's question."""
    rules, (prompt, entries) = _wordings()[how.kind], how.fields()
    lints = rules.lint(body[prompt], body[entries], rules.limits.model_validate(how.limits))
    refused = rules.errors | frozenset(how.refuse)
    return [lint for lint in lints if lint.kind in refused], [lint for lint in lints if lint.kind not in refused]


YES_NO = 0.8
"""The share of yes/no questions from which all criteria of a kind must be such questions."""
ALIKE, SHAPE = 0.84, 0.6
"""The similarity of embeddings from which two criteria may ask the same, and that of their words in order from which
they rather are one sentence about two things."""
_CONTRASTS = frozenset(Path(__file__).with_name("contrast_words.txt").read_text(encoding="utf-8").split())
"""Words that tell one part of a drawing from another, such as first and second; embeddings hardly distinguish them."""
_SENTENCE = re.compile(r"[.?!][\"”'’)]?\s*$")
_NAMES = QUOTED, re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"(?<![^\s(])(?<!^)(?:[A-Z]+|(?!a\b)[a-z])\b")
"""The names in a criterion: labels, numbers, capital and single letters."""
_POSSESSIVE = re.compile(r"['’]s\b")
_DENIED = re.compile(r"\b(?:no|not|none|neither|nothing|never|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_DIRECTED = re.compile(
    r"\b(?:from|to|into|above|below|over|under|left|right|before|after|than|inside)\b", re.IGNORECASE
)


Lints = dict[tuple[str, str], list[tuple[str, str]]]
"""The kinds and details of faults, by the ids of question and criterion."""


def lint_exam(exam: Exam[Any], protocol: Protocol[Any]) -> Lints:
    """Return the faults between an exam's criteria.

    Criteria of one question that ask the same are faults, also in other words if sentence embeddings are installed, and
    questions that yes or no does not answer or rightly answers with no, if most criteria of their kind are yes/no
    questions.
    """
    criteria = {question.id: _own(question, protocol) for question in exam.questions}
    vectors = _embed_sentences({each.text for own in criteria.values() if len(own) > 1 for each in own})
    lints = {(question, each.id): why_not_yes(each.text) for question, own in criteria.items() for each in own}
    kinds, asking = Counter[str](), Counter[str]()
    for question, own in criteria.items():
        for each in own:
            kinds[each.kind] += 1
            asking[each.kind] += all(kind != "not-yes-no" for kind, _ in lints[question, each.id])
    for question, own in criteria.items():
        for n, each in enumerate(own):
            reasons = lints[question, each.id] if asking[each.kind] > YES_NO * kinds[each.kind] else []
            lints[question, each.id] = [*reasons, *_repeats(each.text, own[:n], vectors)]
    return {place: reasons for place, reasons in lints.items() if reasons}


def _own(question: Question[Any], protocol: Protocol[Any]) -> list[Criterion]:
    return [each for each in protocol.criteria(question) if each.top == 1]


def _embed_sentences(texts: Collection[str]) -> Mapping[str, Any]:
    """Return the embeddings of sentences; none if the extra is not installed."""
    sentences = [text for text in sorted(texts) if _SENTENCE.search(text)]
    return dict(zip(sentences, embed(sentences), strict=True)) if sentences and is_installed() else {}


AT_ONCE = 16
"""The number of questions that a model is asked about at the same time."""
PROMPT = Path(__file__).with_name("contradictions.md")
_NUMBER_FIELD = ReplyField(kind="scale", low=1, high=10_000)
_PAIR = {
    "first": _NUMBER_FIELD, "second": _NUMBER_FIELD, "why": ReplyField(kind="text"),
    "kind": ReplyField(kind="choice", among=("contradict", "same")),
}  # fmt: skip
_PAIRS = {"pairs": ReplyField(kind="list", of=ReplyField(kind="group", fields=_PAIR))}


async def ask_about_pairs(exam: Exam[Any], protocol: Protocol[Any], model: Model, calls: Calls) -> Lints:
    """Return the criteria of one question that contradict each other or ask the same, according to a model."""
    template, lints = PROMPT.read_text(encoding="utf-8"), Lints()

    async def look(question: Question[Any]) -> None:
        own = _own(question, protocol)
        listed = "\n".join(f"{n}. {each.text}" for n, each in enumerate(own, 1))
        text = template.replace("{{prompt}}", question.prompt).replace("{{criteria}}", listed)

        def parse(reply: str) -> list[Any]:
            pairs: list[Any] = read_reply(_PAIRS, loads(reply))["pairs"]
            if any(max(pair["first"], pair["second"]) > len(own) or pair["first"] == pair["second"] for pair in pairs):
                raise Unreadable(f"first and second are two different numbers from 1 to {len(own)}")
            return pairs

        context = Context(exam.name, question.id, "", "criteria", 0, 0)
        answer, fault = await outcome(complete(model, (Text(text),), Contract(parse), context, calls))
        if fault is not None:
            lints[question.id, "all"] = [("not checked", f"{fault.kind}: {fault.detail}")]
        for pair in answer.value if answer is not None else ():
            first, second = (own[number - 1].id for number in sorted((pair["first"], pair["second"])))
            lints.setdefault((question.id, second), []).append((pair["kind"], f"{first}: {pair['why']}"))

    asked = [question for question in exam.questions if len(_own(question, protocol)) > 1]
    await process_all(asked, look, AT_ONCE)
    return dict(sorted(lints.items()))


def _repeats(text: str, earlier: Sequence[Criterion], vectors: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not _SENTENCE.search(text):
        return []  # Names and labels may occur twice in one drawing.
    for other in earlier:
        if plain(text) == plain(other.text):
            return [("repeated", f"the same as {other.id}")]
        alike = text in vectors and other.text in vectors and float(vectors[text] @ vectors[other.text])
        near = is_reworded(text, other.text) or (alike >= ALIKE and may_mean_same(text, other.text))
        if near and bool(_DENIED.search(text)) != bool(_DENIED.search(other.text)):
            return [("contradict", f"denies {other.id}: {other.text[:80]!r}")]
        if near:
            return [("reworded", f"asks the same as {other.id}: {other.text[:80]!r}")]
    return []


def is_reworded(first: str, second: str) -> bool:
    """Return whether two criteria ask the same in other words: nearly all words are equal, and all names.

    >>> is_reworded("Is the nucleus drawn in the cell's centre?", "In the centre of the cell, is a nucleus drawn?")
    True
    >>> is_reworded("Does an arrow lead from the sun to the leaf?", "Does an arrow lead from the leaf to the sun?")
    False
    """
    if not _same_names(first, second):
        return False
    if _DIRECTED.search(first) and _ordered(first) != _ordered(second):
        return False
    return same_words(_POSSESSIVE.sub("", first), _POSSESSIVE.sub("", second))


def may_mean_same(first: str, second: str) -> bool:
    """Return whether two criteria with near embeddings may ask the same: no name differs, and the sentences do.

    >>> may_mean_same("Is the sodium shell filled?", "Is the neon shell filled?")
    False
    """
    from rapidfuzz.distance import Indel

    shape = Indel.normalized_similarity(plain(first).split(), plain(second).split())
    return shape < SHAPE and _same_names(first, second)


def _same_names(first: str, second: str) -> bool:
    """Return whether labels, numbers and single letters of two criteria are equal, and no words of contrast differ."""
    if any(rule.findall(first) != rule.findall(second) for rule in _NAMES):
        return False
    one, two = (_CONTRASTS.intersection(re.findall(r"\w+", text.casefold())) for text in (first, second))
    return not (one - two and two - one)


def _ordered(text: str) -> list[str]:
    kept = stems(text)
    return [word for word in map(stem, WORD.findall(text.casefold())) if word in kept]
