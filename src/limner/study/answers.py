"""Answers of raters: each click is stored, and a finished form becomes a marking, ratings or a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..core.marks import Mark
from ..exams import kind
from ..running.plan import marking_id
from ..scoring import Group
from ..scoring.corrected import StudyFrame
from ..scoring.groups import find_groups, stored_exam
from ..store import Store, now
from ..store.markings import Marking, PairChoice, Rating, marking_setups
from ..store.records import evaluator_kinds, kind_of, load_drawings, load_questions, load_setups
from ..store.schema import comparisons, markings, ratings, study_answers
from .design import CHECK, CHOICE, FIRST, MAX_TEXT, SECOND, SKIP, AnswerField
from .open import OpenStudy
from .records import (
    PERSON,
    Study,
    StudyAnswer,
    StudyRater,
    inclusion,
    load_answers,
    load_items,
    load_raters,
    load_rows,
    load_study,
)
from .sampling import StudyPlace, cell_name

LEFT_OUT = "left_out"
"""The entry of a rater's body that says that the rater failed attention checks, so that no result counts."""
RANK = "rank"
"""The scale on which ranks are stored."""


@dataclass(frozen=True)
class Click:
    """One answer as a rater gives it, with drawings numbered as on the page; a value of None withdraws it."""

    field: str
    value: Any
    reason: str | None = None
    seconds: float | None = None
    at: float = dataclasses.field(default_factory=now)


@dataclass(frozen=True)
class Results:
    """The finished results of a place's answers so far."""

    marking: Marking | None = None
    ratings: tuple[Rating, ...] = ()
    comparison: PairChoice | None = None


def stored_click(place: StudyPlace, form: Sequence[AnswerField], click: Click) -> Click:
    """Check a click, and return it as stored, with drawings numbered as in the item.

    Raises:
        ValueError: There is no such field, or the answer is not valid.
    """
    reason = (click.reason or "").strip()[:MAX_TEXT] or None
    if click.field == SKIP:
        if click.value is not None and reason is None:
            raise ValueError("a skip needs a reason")
        return Click(SKIP, None if click.value is None else 1, reason, click.seconds, click.at)
    field_found = next((field for field in form if field.name == click.field), None)
    if field_found is None:
        raise ValueError(f"no field {click.field[:40]!r} in this form")
    value = None if click.value is None else field_found.checked(click.value)
    name = click.field
    if field_found.kind == "rank":
        name = f"rank/{place.order[int(click.field.partition('/')[2]) - 1] + 1}"
    if field_found.kind == "choice" and value in (FIRST, SECOND):
        value = _flip_choice(value, place)
    return Click(name, value, reason, click.seconds, click.at)


def shown_value(place: StudyPlace, name: str, value: Any) -> tuple[str, Any]:
    """Return a stored answer's field and value with drawings numbered as on the page."""
    if name.startswith("rank/"):
        return f"rank/{place.order.index(int(name.partition('/')[2]) - 1) + 1}", value
    return name, _flip_choice(value, place) if name == CHOICE and value in (FIRST, SECOND) else value


def _flip_choice(value: str, place: StudyPlace) -> str:
    if place.order[0] == 0:
        return value
    return SECOND if value == FIRST else FIRST


def is_done(form: Sequence[AnswerField], answers: Mapping[str, StudyAnswer]) -> bool:
    """Return whether a place is done: it was skipped, or every field is answered and each rank given once."""
    if (skipped := answers.get(SKIP)) is not None and skipped.value is not None:
        return True
    if not all((answer := answers.get(field.name)) is not None and field.answered(answer.value) for field in form):
        return False
    ranks = [answers[field.name].value for field in form if field.kind == "rank"]
    return len(set(ranks)) == len(ranks)


def results_of(study: OpenStudy, setup: str, place: StudyPlace, answers: Mapping[str, StudyAnswer]) -> Results:
    """Return the results of one place's answers: criteria count once all are answered, ranks once all are given."""
    if place.check is not None:
        return Results()
    form, item = study.form(place), study.items[place.item]
    kept = {name: answer for name, answer in answers.items() if answer.value is not None}
    if (skip := kept.get(SKIP)) is not None:
        kept = {SKIP: skip}  # What was answered before the form was skipped does not count.
    at = max((answer.at for answer in answers.values()), default=0.0)
    if study.design.unit == "pair":
        return Results(comparison=_comparison(study, setup, place, kept.get(CHOICE), skip))

    def rate(drawing: str, scale: str, answer: StudyAnswer | None) -> list[Rating]:
        """Return the rating of a drawing on a scale; without a value if it was skipped."""
        if (given := answer or skip) is None:
            return []
        value = None if answer is None else float(answer.value)
        how = place.repeat, given.reason, given.seconds, given.at
        return [Rating(drawing, setup, scale, value, study.name, *how)]

    if study.design.unit == "rank":
        ranks = [kept.get(f"rank/{n}") for n in range(1, len(item.drawings) + 1)]
        if sorted(field.value for field in ranks if field) != list(range(1, len(ranks) + 1)):
            ranks = [None] * len(ranks)
        rated = [rate(drawing, RANK, answer) for drawing, answer in zip(item.drawings, ranks, strict=True)]
        return Results(ratings=tuple(chain(*rated)))
    (drawing,) = item.drawings
    rated = [rate(drawing, field.name, kept.get(field.name)) for field in form if field.kind == "scale"]
    asked = [field for field in form if field.kind in ("criterion", "listing")]
    marking = None
    if asked and not skip and all(field.name in kept and field.answered(kept[field.name].value) for field in asked):
        marking = _marking(study, setup, place, drawing, asked, kept, at)
    return Results(marking, tuple(chain(*rated)))


def _comparison(
    study: OpenStudy, setup: str, place: StudyPlace, answer: StudyAnswer | None, skip: StudyAnswer | None
) -> PairChoice | None:
    given = answer or skip
    if given is None:
        return None
    item = study.items[place.item]
    return PairChoice(
        study.study.exam, item.question_id, item.drawings[0], item.drawings[1], setup, study.scale,
        answer.value if answer else None, _flip_choice(FIRST, place) if place.order else None, study.name, place.repeat,
        given.reason, given.seconds, given.at,
    )  # fmt: skip


def _marking(
    study: OpenStudy,
    setup: str,
    place: StudyPlace,
    drawing: str,
    asked: Sequence[AnswerField],
    answers: Mapping[str, StudyAnswer],
    at: float,
) -> Marking:
    marks: list[Mark] = []
    for field in asked:
        answer = answers[field.name]
        if field.kind == "criterion":
            marks.append(Mark(field.name, answer.value, answer.reason or ""))
        else:
            marks += listed_marks(field, answer.value["items"])
    hash, image = study.drawings[drawing].question_hash, study.image(drawing)
    seconds = [answers[field.name].seconds for field in asked]
    known_seconds = [each for each in seconds if each is not None]
    return Marking(
        marking_id(drawing, hash, image, setup, place.repeat), drawing, hash, image, setup, place.repeat, "done",
        marks=[mark.to_json() for mark in marks], cost=None, seconds=sum(known_seconds) if known_seconds else None,
        origin="import" if study.study.status == "imported" else "study", created=at,
    )  # fmt: skip


def listed_marks(listing: AnswerField, things: Sequence[Mapping[str, str]]) -> list[Mark]:
    """Return the marks of a listing: one for each sort, whether nothing of it is listed, then one for each thing."""
    things_by_sort: dict[str, dict[tuple[str, str], str]] = {sort: {} for sort in listing.sorts}
    for thing in things:
        same = tuple(" ".join(thing[name].casefold().split()) for name in ("item", "place"))
        things_by_sort[thing["sort"]].setdefault((same[0], same[1]), f"{thing['item']} ({thing['place']})")
    marks = [Mark(f"{listing.name}/{sort}", int(not things_by_sort[sort])) for sort in listing.sorts]
    for sort, inside in things_by_sort.items():
        marks += [Mark(f"{listing.name}/{sort}/{n}", 1, words) for n, words in enumerate(inside.values(), 1)]
    return marks


def save_clicks(
    connection: sa.Connection, study: OpenStudy, rater: StudyRater, place: StudyPlace, clicks: Sequence[Click]
) -> bool:
    """Store checked clicks and their results; storing them again changes nothing.

    Returns:
        Whether the place is now done.
    """
    store, at = study.store, now()
    where: dict[str, Any] = {"study": study.name, "rater": rater.rater, "item": place.item, "repeat": place.repeat}
    conditions = [study_answers.c[name] == value for name, value in where.items()]
    answers = {answer.field: answer for answer in load_rows(connection, StudyAnswer, *conditions)}
    for click in clicks:
        answer = StudyAnswer(
            **where, field=click.field, value=click.value, reason=click.reason, seconds=click.seconds,
            at=min(click.at, at),
        )  # fmt: skip
        # A click that was queued while offline must not undo a later one.
        if click.field not in answers or answers[click.field].at <= answer.at:
            answers[click.field] = answer
            store.upsert(connection, study_answers, dict(answer.__dict__))
    results = Results() if rater.body.get(LEFT_OUT) else results_of(study, rater.setup, place, answers)
    _replace(connection, study, rater, place, results)
    return is_done(study.form(place), answers)


def _replace(
    connection: sa.Connection, study: OpenStudy, rater: StudyRater, place: StudyPlace, results: Results
) -> None:
    """Replace a place's results in the store with the new ones, and delete those that no longer hold."""
    if place.check is not None:
        return
    item, store = study.items[place.item], study.store
    of = {"setup": rater.setup, "repeat": place.repeat}
    if study.design.unit == "pair":
        table, same_pair = comparisons, comparisons.c.first.in_(item.drawings) & comparisons.c.second.in_(item.drawings)
        gone = [comparisons.c.study == study.name, same_pair]
    else:
        table, gone = ratings, [ratings.c.study == study.name, ratings.c.drawing.in_(item.drawings)]
    kept: list[Any] = [results.comparison] if results.comparison else list(results.ratings)
    rows = [{"id": row.id, **row.__dict__} for row in kept]
    both = [table.c.setup == of["setup"], table.c.repeat == of["repeat"], *gone]
    connection.execute(table.delete().where(*both, table.c.id.not_in([row["id"] for row in rows])))
    for row in rows:
        store.upsert(connection, table, row)
    if study.design.unit == "drawing":
        same = [markings.c.setup == of["setup"], markings.c.repeat == of["repeat"]]
        if results.marking is None:
            connection.execute(markings.delete().where(*same, markings.c.drawing.in_(item.drawings)))
        else:
            store.upsert(connection, markings, dict(results.marking.__dict__))


def check_passed(place: StudyPlace, answers: Mapping[str, StudyAnswer]) -> bool | None:
    """Return whether an attention check was answered as asked; None if it is not answered."""
    answer = answers.get(CHECK)
    return None if answer is None or answer.value is None else bool(answer.value == place.check)


def counted_answers(store: Store, study: str) -> list[StudyAnswer]:
    """Return the answers of a study that count.

    Withdrawn ones do not, nor those given before the form was skipped, nor those of raters who are left out.
    """
    out = {rater.rater for rater in load_raters(store, study) if rater.body.get(LEFT_OUT)}
    given = [answer for answer in load_answers(store, study) if answer.value is not None and answer.rater not in out]
    skipped = {(answer.rater, answer.item, answer.repeat) for answer in given if answer.field == SKIP}
    return [a for a in given if a.field == SKIP or (a.rater, a.item, a.repeat) not in skipped]


def people_of(
    store: Store,
    exam: str,
    study: str,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
) -> tuple[list[Group], StudyFrame]:
    """Return all marks that people gave in a study of an exam, and how its drawings were sampled.

    Raises:
        StoreError: There is no such study.
        UsageError: The study is of another exam, or has no marks.
    """
    name = stored_exam(exam, store).name
    loaded = load_study(store, study)
    if loaded.exam != name:
        raise UsageError(f"--study {study}: a study of {loaded.exam}, not of {name}")
    frame = StudyFrame(study, inclusion(load_items(store, study)), _strata(store, loaded))
    kinds, setups, marked = evaluator_kinds(store), load_setups(store), marking_setups(store, name)
    people = [id for id in sorted(marked) if kinds[id] == PERSON and setups[id].get("study") == study]
    if not people:
        raise UsageError(f"the study {study} has no marks of criteria yet; scores are corrected with people's marks")
    _, groups = find_groups(name, store=store, judges=people, reading=reading, constants=constants)
    return groups, frame


def _strata(store: Store, study: Study) -> dict[str, str]:
    """Return drawing -> stratum, also for drawings not sampled, if the design stratifies by tags of questions."""
    sample = (study.body.get("design") or {}).get("sample") or {}
    tags = sample.get("strata") or sample.get("cross") or ()
    if not tags:
        return {}
    questions = load_questions(store, study.exam, kind(kind_of(store, study.exam)).rubric)
    return {
        drawing.id: cell_name(questions[drawing.question_hash].tags, tags)
        for drawing in load_drawings(store, study.exam)
        if drawing.question_hash in questions
    }
