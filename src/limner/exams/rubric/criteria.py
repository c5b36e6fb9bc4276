"""The criteria of a question, from its own lists and from the exam's scales."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from ...core.asks import FIELD
from ...core.exam import Question
from ...core.marks import Criterion
from .definition import Definition, Family
from .layout import find_value, read_list

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class RubricQuestion(BaseModel):
    """The columns of a question that are not its id, prompt or pictures."""

    model_config = ConfigDict(frozen=True, extra="allow")


@dataclass(frozen=True)
class RubricCriterion:
    """A criterion of a question with what the engine needs beside it.

    Attributes:
        listed: The words with which the judge is shown it.
        weight: Its weight within its family.
        worths: The worth of each value, from 0 to 1, the lowest value first; empty for equal steps.
        words: What a judge may answer, the lowest value first; empty for numbers.
        right: The right option of a question with options.
    """

    family: Family
    criterion: Criterion
    listed: str
    weight: float
    worths: tuple[float, ...] = ()
    words: tuple[str, ...] = ()
    right: str = ""

    def worth(self, value: float) -> float:
        """Return what a value is worth, from 0 to 1."""
        if self.worths:
            return self.worths[int(value)]
        return self.criterion.share(value)


@dataclass(frozen=True)
class Sheet:
    """What the engine needs of a question: its criteria, and its columns and tags by name."""

    values: Mapping[str, Any]
    criteria: tuple[RubricCriterion, ...]


def question_sheet(definition: Definition, question: Question[Any]) -> Sheet:
    """Return the criteria of a question with its columns and tags.

    Raises:
        ValueError: A list of the question does not fit its family; the message says how.
    """
    values = {**question.rubric.model_dump(), **question.tags, "id": question.id, "prompt": question.prompt}
    criteria: list[RubricCriterion] = []
    for family in definition.criteria:
        if all(condition.holds(values) for condition in family.when):
            criteria += _own(family, values) if family.column else [_of_exam(family, values)]
    return Sheet(values, tuple(criteria))


def fill_fields(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its ``{{FIELD}}`` fields filled; a field without a value is left empty."""
    return FIELD.sub(lambda match: as_words(find_value(values, match[1])), text)


def as_words(value: Any) -> str:
    """Return a value as shown to a judge: a list as lines."""
    if isinstance(value, list | tuple):
        return "\n".join(f"- {as_words(entry)}" for entry in value)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _of_exam(family: Family, values: Mapping[str, Any]) -> RubricCriterion:
    text = fill_fields(family.text, values).strip()
    weight = family.weight if isinstance(family.weight, int | float) else float(find_value(values, family.weight))
    return _criterion(family, family.name, {"text": text}, text, "", float(weight))


def _own(family: Family, values: Mapping[str, Any]) -> Iterator[RubricCriterion]:
    entries = _entries(family, values)
    for n, entry in enumerate(entries, 1):
        place = f"{family.column} {n}"
        body = entry if isinstance(entry, Mapping) else {family.text or "text": entry}
        key, there = family.text or "text", f"criterion {family.name}; the entry has: {', '.join(body)}"
        text = body.get(key)
        if not (isinstance(text, str) and text.strip()):
            raise ValueError(f"{place}: {key!r} must be a text (text of {there})")
        weight = body.get(family.weight) if isinstance(family.weight, str) else family.weight
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not weight >= 0:
            raise ValueError(f"{place}: {family.weight!r} must be a number from 0 (weight of {there})")
        note = as_words(body.get(family.note)) if family.note else ""
        yield _criterion(family, f"{family.name}/{n}", body, text, note, float(weight), place)


def _entries(family: Family, values: Mapping[str, Any]) -> list[Any]:
    value = find_value(values, family.column)
    try:
        return [] if value in (None, "") else read_list(value)
    except ValueError as error:
        raise ValueError(f"{family.column}: {error}") from error


def _criterion(
    family: Family, id: str, body: Mapping[str, Any], text: str, note: str, weight: float, place: str = ""
) -> RubricCriterion:
    listed = fill_fields(family.line, body) if family.line else f"{text}\n{note}" if note else text
    low, top, right, words = 0, 1, "", tuple[str, ...]()
    if family.kind == "scale":
        low, top = family.low, family.high
    elif family.values:
        top, words = len(family.values) - 1, tuple(family.values)
    elif family.kind == "choice":
        options, right = _options(family, body, place)
        words = tuple(LETTERS[: len(options)])
        listed += "".join(f"\n{letter}. {option}" for letter, option in zip(words, options, strict=True))
    weighted = isinstance(family.weight, str)
    criterion = Criterion(
        id, text, family.name, top, weight if weighted else None, low=low, labels=_labels(family, text, note, body)
    )
    return RubricCriterion(family, criterion, listed, weight, tuple(family.values.values()), words, right)


def _options(family: Family, body: Mapping[str, Any], place: str) -> tuple[list[str], str]:
    """Return the options of a question and the letter of the right one."""
    options = [as_words(option) for option in read_list(body.get(family.options))]
    if not 2 <= len(options) <= len(LETTERS):
        raise ValueError(f"{place}: {family.options!r} must be a list of 2 to {len(LETTERS)} options")
    answer = as_words(body.get(family.answer)).strip()
    letters = [LETTERS[n] for n, option in enumerate(options) if answer in (LETTERS[n], option)]
    if len(letters) != 1:
        raise ValueError(
            f"{place}: {family.answer!r} must be the letter or the text of one option, not {answer[:40]!r}"
        )
    return options, letters[0]


def _labels(family: Family, text: str, note: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    if family.labels == "presence":
        return presence_words(text, note)
    words = body.get(family.labels) if family.labels not in ("", "text") else None
    return tuple(as_words(word) for word in read_list(words)) if words else ()


_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_QUOTED = re.compile(r"""(?:'[^']+'|"[^"]+")""")
_LIST = rf"{_QUOTED.pattern}(?:(?:, and |, | and ){_QUOTED.pattern})*"
_WRITING = r"(?:labels?|words?|texts?|names?|inscriptions?)"
_THERE = r"(?:(?:clearly|plainly) )?(?:written|present|visible|shown|legible|readable)"
_PRESENT = re.compile(
    rf"(?:the |an? )?{_WRITING} (?P<words>{_LIST}) (?:is|are|(?:should|must|shall) be) {_THERE}\.?", re.IGNORECASE
)
_DEMANDS = re.compile(
    r"\b(?:should|must|shall|needs?|ha(?:s|ve) to|requires?|required|only|not|never)\b", re.IGNORECASE
)
MIN_LETTERS = 3
"""The minimum number of letters in a label; shorter words occur in pictures by chance."""


def presence_words(item: str, explanation: str) -> tuple[str, ...]:
    """Return the words whose mere presence meets an item; empty if more is required.

    Items about a title, the text of a banner or a labelled thing also ask for a place or a structure, which words alone
    do not prove.

    >>> presence_words("The labels 'Sun' and 'Moon' are present.", "These bodies take part.")
    ('Sun', 'Moon')
    >>> presence_words("An arrow labelled 'Volume' points up.", "The direction is made plain.")
    ()
    """
    match = _PRESENT.fullmatch(" ".join(item.translate(_STRAIGHT).split()))
    if match is None or _DEMANDS.search(explanation):
        return ()
    words = _unquoted(match["words"])
    others = set(_unquoted(explanation.translate(_STRAIGHT))) - set(words)
    return () if others or any(sum(map(str.isalnum, word)) < MIN_LETTERS for word in words) else words


def _unquoted(text: str) -> tuple[str, ...]:
    return tuple(quoted[1:-1].strip() for quoted in _QUOTED.findall(text))
