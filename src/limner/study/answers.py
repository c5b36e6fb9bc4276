"""From clicks to results: each click is kept, and a finished form becomes a marking, ratings or a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..core.marks import Mark
from ..exams import kind
from ..running.plan import marking_id
from ..scoring import Group
from ..scoring.corrected import Frame
from ..scoring.groups import find_groups, stored_exam
from ..store import Store, now
from ..store.markings import Marking, marking_setups
from ..store.ratings import PairChoice, Rating
from ..store.records import evaluator_kinds, kind_of, load_drawings, load_questions, load_setups
from ..store.schema import comparisons, markings, ratings, study_answers
from .forms import CHECK, CHOICE, FIRST, LONGEST, SECOND, SKIP, AnswerField
from .open import OpenStudy
from .places import StudyPlace
from .records import PERSON, Study, StudyAnswer, StudyRater, inclusion, load_items, load_study, rows_of_answers
from .sampling import cell_name

RANK = "rank"
"""The scale on which a rank is kept."""


@dataclass(frozen=True)
class Click:
    """One answer as a rater gives it, by the positions on the page; a value of None takes it back."""

    field: str
    value: Any
    reason: str | None = None
    seconds: float | None = None
    at: float = dataclasses.field(default_factory=now)


@dataclass(frozen=True)
class Results:
    """What a place's answers come to so far; nothing unfinished is in it."""

    marking: Marking | None = None
    ratings: tuple[Rating, ...] = ()
    comparison: PairChoice | None = None


def stored_click(place: StudyPlace, form: Sequence[AnswerField], click: Click) -> Click:
    """Return the click as it is stored: checked, and named by the item's own order of drawings, not by the page's.

    Raises:
        ValueError: There is no such field, or it cannot be answered so.
    """
    reason = (click.reason or "").strip()[:LONGEST] or None
    if click.field == SKIP:
        if click.value is not None and reason is None:
            raise ValueError("a skip needs its reason")
        return Click(SKIP, None if click.value is None else 1, reason, click.seconds, click.at)
    found = next((one for one in form if one.name == click.field), None)
    if found is None:
        raise ValueError(f"there is no field {click.field[:40]!r}")
    value = None if click.value is None else found.checked(click.value)
    name = click.field
    if found.kind == "rank":
        name = f"rank/{place.order[int(click.field.partition('/')[2]) - 1] + 1}"
    if found.kind == "choice" and value in (FIRST, SECOND):
        value = _turned(value, place)
    return Click(name, value, reason, click.seconds, click.at)


def shown_value(place: StudyPlace, name: str, value: Any) -> tuple[str, Any]:
    """Return a stored answer by the positions on the page: its field and its value."""
    if name.startswith("rank/"):
        return f"rank/{place.order.index(int(name.partition('/')[2]) - 1) + 1}", value
    return name, _turned(value, place) if name == CHOICE and value in (FIRST, SECOND) else value


def _turned(value: str, place: StudyPlace) -> str:
    if place.order[0] == 0:
        return value
    return SECOND if value == FIRST else FIRST


def is_done(form: Sequence[AnswerField], answers: Mapping[str, StudyAnswer]) -> bool:
    """Whether nothing is left to answer at a place: it was skipped, or every field is settled, each rank given once."""
    if (skipped := answers.get(SKIP)) is not None and skipped.value is not None:
        return True
    if not all((found := answers.get(one.name)) is not None and one.answered(found.value) for one in form):
        return False
    ranks = [answers[one.name].value for one in form if one.kind == "rank"]
    return len(set(ranks)) == len(ranks)


def results_of(study: OpenStudy, setup: str, place: StudyPlace, answers: Mapping[str, StudyAnswer]) -> Results:
    """Return what the answers of one place come to: criteria count once all are answered, ranks once all are given."""
    if place.check is not None:
        return Results()
    form, item = study.form(place), study.items[place.item]
    kept = {name: answer for name, answer in answers.items() if answer.value is not None}
    skip = kept.get(SKIP)
    at = max((answer.at for answer in answers.values()), default=0.0)
    if study.design.unit == "pair":
        return Results(comparison=_comparison(study, setup, place, kept.get(CHOICE), skip))
    if study.design.unit == "rank":
        ranks = {n: kept.get(f"rank/{n}") for n in range(1, len(item.drawings) + 1)}
        whole = sorted(one.value for one in ranks.values() if one) == list(ranks)
        found = []
        for n, drawing in enumerate(item.drawings, 1):
            answer = ranks[n] if whole else None
            if answer or skip:
                found.append(_rating(study, setup, place, drawing, RANK, answer, skip))
        return Results(ratings=tuple(found))
    (drawing,) = item.drawings
    scales = [one.name for one in form if one.kind == "scale" and (one.name in kept or skip)]
    found = [_rating(study, setup, place, drawing, name, kept.get(name), skip) for name in scales]
    asked = [one for one in form if one.kind in ("criterion", "listing")]
    marking = None
    if asked and not skip and all(one.name in kept and one.answered(kept[one.name].value) for one in asked):
        marking = _marking(study, setup, place, drawing, asked, kept, at)
    return Results(marking, tuple(found))


def _comparison(
    study: OpenStudy, setup: str, place: StudyPlace, answer: StudyAnswer | None, skip: StudyAnswer | None
) -> PairChoice | None:
    found = answer or skip
    if found is None:
        return None
    item = study.items[place.item]
    return PairChoice(
        study.study.exam, item.question_id, item.drawings[0], item.drawings[1], setup, study.scale,
        answer.value if answer else None, _turned(FIRST, place) if place.order else None, study.name, place.repeat,
        found.reason, found.seconds, found.at,
    )  # fmt: skip


def _rating(
    study: OpenStudy,
    setup: str,
    place: StudyPlace,
    drawing: str,
    scale: str,
    answer: StudyAnswer | None,
    skip: StudyAnswer | None,
) -> Rating:
    found = answer or skip
    assert found is not None
    value = None if answer is None else float(answer.value)
    return Rating(
        drawing, setup, scale, value, study.name, place.repeat, found.reason, found.seconds, found.at
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
    for one in asked:
        answer = answers[one.name]
        if one.kind == "criterion":
            marks.append(Mark(one.name, answer.value, answer.reason or ""))
        else:
            marks += listed_marks(one, answer.value["items"])
    hash, image = study.drawings[drawing].question_hash, study.image(drawing)
    seconds = [answers[one.name].seconds for one in asked]
    known = [each for each in seconds if each is not None]
    return Marking(
        marking_id(drawing, hash, image, setup, place.repeat), drawing, hash, image, setup, place.repeat, "done",
        marks=[mark.to_json() for mark in marks], cost=None, seconds=sum(known) if known else None,
        origin="import" if study.study.status == "imported" else "study", created=at,
    )  # fmt: skip


def listed_marks(listing: AnswerField, things: Sequence[Mapping[str, str]]) -> list[Mark]:
    """Return the marks of a listing: for each sort whether there is nothing of it, then every thing once."""
    found: dict[str, dict[tuple[str, str], str]] = {sort: {} for sort in listing.sorts}
    for thing in things:
        same = tuple(" ".join(thing[name].casefold().split()) for name in ("item", "place"))
        found[thing["sort"]].setdefault((same[0], same[1]), f"{thing['item']} ({thing['place']})")
    marks = [Mark(f"{listing.name}/{sort}", int(not found[sort])) for sort in listing.sorts]
    for sort, inside in found.items():
        marks += [Mark(f"{listing.name}/{sort}/{n}", 1, words) for n, words in enumerate(inside.values(), 1)]
    return marks


def save_clicks(
    connection: sa.Connection, study: OpenStudy, rater: StudyRater, place: StudyPlace, clicks: Sequence[Click]
) -> bool:
    """Keep clicks that `stored_click` has checked, and what they come to; done again, it changes nothing.

    Returns:
        Whether the place is now done.
    """
    store, at = study.store, now()
    where: dict[str, Any] = {"study": study.name, "rater": rater.rater, "item": place.item, "repeat": place.repeat}
    conditions = [study_answers.c[name] == value for name, value in where.items()]
    answers = {answer.field: answer for answer in rows_of_answers(connection, *conditions)}
    for click in clicks:
        answer = StudyAnswer(
            **where, field=click.field, value=click.value, reason=click.reason, seconds=click.seconds,
            at=min(click.at, at),
        )  # fmt: skip
        # A click that was queued while the network was away must not undo a later one.
        if click.field not in answers or answers[click.field].at <= answer.at:
            answers[click.field] = answer
            store.upsert(connection, study_answers, dict(answer.__dict__))
    _replace(connection, study, rater, place, results_of(study, rater.setup, place, answers))
    return is_done(study.form(place), answers)


def _replace(
    connection: sa.Connection, study: OpenStudy, rater: StudyRater, place: StudyPlace, results: Results
) -> None:
    """Put a place's results where those of before stood; what no longer holds is taken away."""
    if place.check is not None:
        return
    item, store = study.items[place.item], study.store
    of = {"setup": rater.setup, "repeat": place.repeat}
    if study.design.unit == "pair":
        table, there = comparisons, comparisons.c.first.in_(item.drawings) & comparisons.c.second.in_(item.drawings)
        gone = [comparisons.c.study == study.name, there]
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
    """Whether an attention check was answered as it asks; None where it is not answered."""
    found = answers.get(CHECK)
    return None if found is None or found.value is None else bool(found.value == place.check)


def people_of(
    store: Store,
    exam: str,
    study: str,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
) -> tuple[list[Group], Frame]:
    """Everything people marked of an exam in a study, and how its drawings were chosen.

    Raises:
        StoreError: There is no such study.
        UsageError: The study is of another exam, or nobody has marked anything in it.
    """
    name = stored_exam(exam, store).name
    found = load_study(store, study)
    if found.exam != name:
        raise UsageError(f"--study {study}: this is a study of {found.exam}, not of {name}")
    frame = Frame(study, inclusion(load_items(store, study)), _strata(store, found))
    kinds, setups, there = evaluator_kinds(store), load_setups(store), marking_setups(store, name)
    people = [id for id in sorted(there) if kinds[id] == PERSON and setups[id].get("study") == study]
    if not people:
        raise UsageError(
            f"nobody has marked criteria in the study {study} yet; people's marks are what scores are corrected by"
        )
    _, groups = find_groups(name, store=store, judges=people, reading=reading, constants=constants)
    return groups, frame


def _strata(store: Store, study: Study) -> dict[str, str]:
    """Drawing -> its stratum, chosen or not, where the design spreads the sample over tags of questions."""
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
