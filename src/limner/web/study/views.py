"""What a rater's page is made of; it holds nothing of painters, of other raters, or of how drawings are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.exam import Question
from ...exams.views import view
from ...study.answers import is_done, shown_value
from ...study.forms import SKIP, AnswerField
from ...study.open import OpenStudy, places_of
from ...study.places import StudyPlace
from ...study.records import StudyAnswer, StudyRater, load_answers

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TEN = "t"
"""The key for 10."""


@dataclass(frozen=True)
class FieldView:
    """A field with what was answered, and the key for each answer."""

    field: AnswerField
    label: str
    value: Any
    options: tuple[tuple[int | str, str, str], ...]
    """Value, word, key."""
    head: str = ""


@dataclass(frozen=True)
class Seat:
    """A rater with all places and what was answered at each."""

    rater: StudyRater
    places: tuple[StudyPlace, ...]
    answers: Mapping[tuple[int, int], Mapping[str, StudyAnswer]]
    done: tuple[bool, ...]

    @property
    def first_open(self) -> int | None:
        """The number of the first place that is not done, from 1."""
        return next((n for n, done in enumerate(self.done, 1) if not done), None)


def take_seat(study: OpenStudy, rater: StudyRater) -> Seat:
    """A rater's places with everything answered so far, from the store."""
    answers: dict[tuple[int, int], dict[str, StudyAnswer]] = {}
    for answer in load_answers(study.store, study.name, rater.rater):
        answers.setdefault((answer.item, answer.repeat), {})[answer.field] = answer
    places = tuple(places_of(rater))
    done = tuple(is_done(study.form(place), answers.get((place.item, place.repeat), {})) for place in places)
    return Seat(rater, places, answers, done)


def place_view(study: OpenStudy, seat: Seat, n: int) -> dict[str, Any]:
    """Everything that the template of a place shows."""
    place, design = seat.places[n - 1], study.design
    given = seat.answers.get((place.item, place.repeat), {})
    shown = dict(shown_value(place, name, answer.value) for name, answer in given.items() if answer.value is not None)
    skipped = given.get(SKIP)
    question = None if place.check is not None else study.question(study.items[place.item])
    return {
        "n": n,
        "of": len(seat.places),
        "done": sum(seat.done),
        "unit": "check" if place.check is not None else design.unit,
        "pictures": [
            {"name": name, "label": LETTERS[position] if len(place.names) > 1 else ""}
            for position, name in enumerate(place.names)
        ],
        "prompt": question.prompt if question is not None and design.show.prompt else None,
        "reference": question is not None and reference_of(study, question) is not None,
        "graph": view(study.kind, question)["graph"] if question is not None and design.show.graph else None,
        "fields": _fields(study.form(place), shown),
        "skip_reason": skipped.reason if skipped is not None and skipped.value is not None else None,
        "last": n == len(seat.places),
        "instructions": design.instructions,
    }


def reference_of(study: OpenStudy, question: Question[Any]) -> str | None:
    """The hash of the reference that may be looked at."""
    if not study.design.show.reference or question.reference is None:
        return None
    return question.reference.sha256


def _fields(form: Sequence[AnswerField], shown: Mapping[str, Any]) -> list[FieldView]:
    found, group = [], None
    for place, one in enumerate(form):
        label = f"Figure {LETTERS[place]}" if one.kind == "rank" else one.text
        head = one.lead or (one.text if one.kind in ("choice", "rank") and place == 0 else "")
        # Where many criteria belong together in groups of their own, a line stands between them.
        parted = one.group != group and one.group.count("/") > 0
        group = one.group
        options = tuple((value, _word(one, value, word), key_of(one, value)) for value, word in one.values)
        found.append(FieldView(one, label, shown.get(one.name), options, head or (" " if parted else "")))
    return found


def _word(field: AnswerField, value: int | str, word: str) -> str:
    if field.kind == "choice":
        return {"first": "A is better", "second": "B is better", "tie": "They are equal"}[str(value)]
    return word


def key_of(field: AnswerField, value: int | str) -> str:
    """The key that gives this answer.

    >>> scale = AnswerField("overall", "scale", "", tuple((n, str(n)) for n in range(1, 11)))
    >>> key_of(scale, 1), key_of(scale, 10), key_of(AnswerField("point/1", "criterion", "", ((1, "yes"),)), 1)
    ('1', 't', 'y')
    """
    if field.kind == "choice":
        return {"first": "a", "second": "b", "tie": "e"}[str(value)]
    if dict(field.values).get(1) == "yes":
        return "y" if value else "n"
    return TEN if value == 10 else str(value) if isinstance(value, int) and 0 <= value < 10 else ""
