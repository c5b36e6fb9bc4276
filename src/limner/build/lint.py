"""Lint of an item's question, declared in a recipe, and of the criteria of a whole exam."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from ..core.exam import Exam
from ..core.marks import Criterion
from ..core.protocol import Protocol
from ..core.schema import StrictModel
from .checklists import CHECKLIST_ERRORS, ChecklistLimits, lint_checklist
from .criterion_words import ERRORS, Lint, LintLimits, lint_question, plain, why_not_yes
from .wording import QUOTED, WORD, same_words, stem, stems


class LintSettings(StrictModel):
    """The wording of a question and its criteria.

    Attributes:
        kind: ``points``: weighted yes/no questions; ``checklist``: statements with explanations.
        prompt: The field with the question.
        entries: The field with the criteria, if not ``scoring_points`` or ``checklist``.
        limits: The limits of the rules.
        refuse: Kinds of warnings that count as errors.
    """

    kind: Literal["points", "checklist"]
    prompt: str = "prompt"
    entries: str = ""
    limits: dict[str, float] = Field(default_factory=dict)
    refuse: tuple[str, ...] = ()

    def fields(self) -> tuple[str, str]:
        """Return the fields with the question and its criteria."""
        return self.prompt, self.entries or {"points": "scoring_points", "checklist": "checklist"}[self.kind]


def lint_entries(how: LintSettings, body: Mapping[str, Any]) -> tuple[list[Lint], list[Lint]]:
    """Return the errors and the warnings of an item's question."""
    prompt, entries = (body[name] for name in how.fields())
    if how.kind == "points":
        lints, errors = lint_question(prompt, entries, LintLimits.model_validate(how.limits)), ERRORS
    else:
        lints, errors = lint_checklist(prompt, entries, ChecklistLimits.model_validate(how.limits)), CHECKLIST_ERRORS
    refused = errors | frozenset(how.refuse)
    return [lint for lint in lints if lint.kind in refused], [lint for lint in lints if lint.kind not in refused]


YES_NO = 0.8
"""The share of yes/no questions from which all criteria of a kind must be such questions."""
_SENTENCE = re.compile(r"[.?!][\"”'’)]?\s*$")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DIRECTED = re.compile(
    r"\b(?:from|to|into|above|below|over|under|left|right|before|after|than|inside)\b", re.IGNORECASE
)


def lint_exam(exam: Exam[Any], protocol: Protocol[Any]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the kinds and details of faults between an exam's criteria, by the ids of question and criterion.

    Criteria of one question that ask the same are faults, and questions that yes or no does not answer or rightly
    answers with no, if most criteria of their kind are yes/no questions.
    """
    criteria = {
        question.id: [each for each in protocol.criteria(question) if each.top == 1] for question in exam.questions
    }
    lints = {(question, each.id): why_not_yes(each.text) for question, own in criteria.items() for each in own}
    kinds, asking = Counter[str](), Counter[str]()
    for question, own in criteria.items():
        for each in own:
            kinds[each.kind] += 1
            asking[each.kind] += all(kind != "not-yes-no" for kind, _ in lints[question, each.id])
    for question, own in criteria.items():
        for n, each in enumerate(own):
            reasons = lints[question, each.id] if asking[each.kind] > YES_NO * kinds[each.kind] else []
            lints[question, each.id] = [*reasons, *_repeats(each.text, own[:n])]
    return {place: reasons for place, reasons in lints.items() if reasons}


def _repeats(text: str, earlier: Sequence[Criterion]) -> list[tuple[str, str]]:
    if not _SENTENCE.search(text):
        return []  # Names and labels may occur twice in one drawing.
    for other in earlier:
        if plain(text) == plain(other.text):
            return [("repeated", f"the same as {other.id}")]
        if is_reworded(text, other.text):
            return [("reworded", f"asks the same as {other.id}: {other.text[:80]!r}")]
    return []


def is_reworded(first: str, second: str) -> bool:
    """Return whether two criteria ask the same in other words: labels and numbers are equal, and nearly all words.

    >>> is_reworded("Is the nucleus drawn in the cell's centre?", "In the centre of the cell, is a nucleus drawn?")
    True
    >>> is_reworded("Does an arrow lead from the sun to the leaf?", "Does an arrow lead from the leaf to the sun?")
    False
    """
    if any(sorted(rule.findall(first)) != sorted(rule.findall(second)) for rule in (QUOTED, _NUMBER)):
        return False
    if _DIRECTED.search(first) and _ordered(first) != _ordered(second):
        return False
    return same_words(first, second)


def _ordered(text: str) -> list[str]:
    kept = stems(text)
    return [word for word in map(stem, WORD.findall(text.casefold())) if word in kept]
