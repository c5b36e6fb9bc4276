"""The creation of a study: the sample, the raters' places and links, stored in one transaction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from ..core.errors import UsageError
from ..core.evaluator import CONTROL_PREFIX, row_name
from ..core.exam import Question
from ..core.marks import values
from ..core.redaction import new_token, token_hash
from ..exams import Kind, kind, stored_name
from ..scoring.entries import load_groups
from ..scoring.numbers import criteria_of
from ..store import Store
from ..store.records import Drawing, kind_of, load_drawings, load_questions
from .design import SampleDesign, StudyDesign, find_design
from .records import (
    OPEN,
    Study,
    StudyItem,
    StudyRater,
    has_study,
    load_items,
    load_rater,
    load_study,
    save_person,
    save_rater,
    save_study,
)
from .sampling import plan_places, sample

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
CONSENT = (
    "You will look at pictures and answer questions about them. Your answers are stored under the name in your link, "
    "with the time each took, and are used for research. You can stop at any time; your answers until then are kept "
    "unless you ask for them to be deleted."
)


@dataclass(frozen=True)
class NewStudy:
    """A new study with its secrets, which are not stored.

    Attributes:
        links: Rater -> the token of the personal link.
        admin: The token of the admin page.
        join: The token of the link for panels such as Prolific, which gives each visitor a free place.
        notes: Differences from the design.
    """

    study: Study
    items: int
    places: int
    links: Mapping[str, str]
    admin: str
    join: str
    notes: tuple[str, ...] = ()


def create_study(
    store: Store,
    name: str,
    exam: str,
    design: str,
    *,
    painters: Sequence[str] = (),
    raters: Sequence[str] = (),
    people: int | None = None,
    changes: Mapping[str, Any] | None = None,
    consent: str | None = None,
    completion: str | None = None,
) -> NewStudy:
    """Create a study from drawings in the store.

    Args:
        store: The store with the drawings.
        name: The study's name.
        exam: The exam, as on the command line.
        design: The name of a shipped design, or a .toml file.
        painters: Painters whose drawings are used; by default all except controls.
        raters: The raters' names.
        people: The number of unnamed raters; by default, the number who rate each item.
        changes: Settings that replace the design's: ``raters``, ``size``, ``each``, ``by``, ``seed``.
        consent: The text that raters agree to, instead of the design's.
        completion: The address to which raters are sent at the end, such as Prolific's completion link.

    Raises:
        UsageError: The name is taken, or the store lacks drawings for the design; nothing is stored then.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"the study's name {name!r} may have only letters, digits, dots, dashes and underscores")
    if has_study(store, name):
        raise UsageError(
            f"{store.url} already has a study {name!r}; choose another name, or see `limner study status {name}`"
        )
    if completion is not None and not re.match(r"https?://[^\s]+$", completion):
        raise UsageError(f"--completion needs a link that begins with https://, not {completion!r}")
    exam = stored_name(exam)
    exam_kind = kind(kind_of(store, exam))
    study_design = _changed(find_design(design, exam_kind), changes or {})
    if consent is not None:
        study_design = study_design.model_copy(update={"consent": consent})
    population = find_population(store, exam, exam_kind, study_design.sample, painters)
    items, drawings, notes = _items(store, exam, name, study_design, population)
    names = rater_names(raters, people, study_design.raters)
    each = study_design.raters
    if len(names) < each:
        who = "1 rater" if len(names) == 1 else f"{len(names)} raters"
        notes.append(f"{who}, but the design has {each} for each item")
    rows = {drawing.id: row for row, inside in population.rows.items() for drawing in inside.values()}
    places = plan_places(items, rows, names, each, study_design.quality, study_design.sample.seed)
    links = {rater: new_token() for rater in names}
    admin, join = new_token(), new_token()
    study = Study(
        name, exam, OPEN,
        {"design": study_design.model_dump(mode="json"), "design_name": design, "painters": sorted(population.rows),
         "images": {id: drawings[id].image for item in items for id in item.drawings}, "notes": notes,
         "completion": completion, "admin": token_hash(admin), "join": token_hash(join)},
    )  # fmt: skip
    invited = [
        StudyRater(name, rater, token_hash(links[rater]), save_person(store, rater, name),
                   {"places": [place.to_json() for place in places[rater]], "named": rater in raters})
        for rater in names
    ]  # fmt: skip
    save_study(store, study, items, invited)
    return NewStudy(study, len(items), sum(map(len, places.values())), links, admin, join, tuple(notes))


def study_drawings(store: Store, exam: str, name: str, painters: Sequence[str] = ()) -> frozenset[str]:
    """Return the ids of a study's drawings; without such a study, those that the exam's design of this name samples.

    Args:
        store: The store with the drawings.
        exam: The exam, as on the command line.
        name: The study's name, or the design's.
        painters: Painters whose drawings the design samples; by default all except controls.

    Raises:
        UsageError: There is no such study or design, or the store lacks drawings for the design.
    """
    exam = stored_name(exam)
    if has_study(store, name):
        items = load_items(store, name)
    else:
        exam_kind = kind(kind_of(store, exam))
        design = find_design(name, exam_kind)
        # References are sampled for all painters together.
        chosen = painters if design.sample.of == "drawings" else ()
        population = find_population(store, exam, exam_kind, design.sample, chosen)
        items = _items(store, exam, name, design, population)[0]
    return frozenset(id for item in items for id in item.drawings)


def new_link(store: Store, study: str, rater: str) -> str:
    """Make a new link for a rater; the old one stops working.

    Raises:
        StoreError: There is no such study or rater.
    """
    load_study(store, study)
    token, stored = new_token(), load_rater(store, study, rater)
    body = {key: value for key, value in stored.body.items() if key != "tokens"}
    save_rater(store, replace(stored, token=token_hash(token), body=body))
    return token


def _changed(design: StudyDesign, changes: Mapping[str, Any]) -> StudyDesign:
    """Return the design with some settings changed; it must still be valid."""
    body = design.model_dump(mode="json")
    for key, value in changes.items():
        if value is None:
            continue
        if key == "raters":
            body["raters"] = value
        elif key in SampleDesign.model_fields:
            body["sample"][key] = value
        elif key in ("repeats", "attention"):
            body["quality"][key] = value
        else:
            raise UsageError(f"{key}: a design has no such setting")
    if changes.get("size") is not None and body["sample"]["each"] is not None:
        raise UsageError(f"this design samples each {' x '.join(design.sample.cross)}: give --each, not --size")
    if changes.get("each") is not None and not body["sample"]["cross"]:
        raise UsageError("this design does not cross tags: give --size, not --each")
    try:
        return StudyDesign.model_validate(body)
    except ValueError as error:
        raise UsageError(f"the design is not valid with these changes: {error}") from error


def rater_names(raters: Sequence[str], people: int | None, usual: int) -> list[str]:
    """Return the names of raters, checked; numbered ones if only their count is given."""
    if raters:
        if people is not None and people != len(raters):
            raise UsageError(f"--people {people} contradicts {len(raters)} names of raters; give only one of them")
        for name in raters:
            if not NAME.fullmatch(name):
                raise UsageError(f"a rater's name has only letters, digits, dots, dashes and underscores, not {name!r}")
        if len(set(raters)) < len(raters):
            raise UsageError("two raters have the same name")
        return list(raters)
    count = usual if people is None else people
    width = len(str(count))
    return [f"r{n:0{width}}" for n in range(1, count + 1)]


def _items(
    store: Store, exam: str, name: str, design: StudyDesign, population: Population
) -> tuple[list[StudyItem], dict[str, Drawing], list[str]]:
    notes = list(population.notes)
    spread = disagreements(store, exam) if design.sample.by == "disagreement" else None
    items: list[StudyItem] = []
    tags_known = {tag for question in population.questions.values() for tag in question.tags}
    if unknown := [tag for tag in (*design.sample.cross, *design.sample.strata) if tag not in tags_known]:
        raise UsageError(f"no tag {unknown[0]!r} in this exam; it has: {', '.join(sorted(tags_known)) or 'none'}")

    by_id = {drawing.id: drawing for drawings in population.rows.values() for drawing in drawings.values()}
    for drawn, who, what in _candidates(population, design.sample, exam):
        sizes = None
        if spread is not None:
            gaps = {each: [spread[id] for id in ids if id in spread] for each, ids in drawn.items()}
            sizes = {each: sum(some) / len(some) for each, some in gaps.items() if some}
            drawn = {each: ids for each, ids in drawn.items() if each in sizes}
            if not drawn:
                problem = f"nothing that {who} was marked by two judges"
                raise UsageError(f"{problem}: mark it with another judge, or use --by random")
        tags = {each: population.questions[by_id[ids[0]].question_id].tags for each, ids in drawn.items()}
        for taken in sample(tags, design.sample, sizes):
            shown = drawn[taken.name]
            groups = {
                "drawing": [[drawing] for drawing in shown],
                "rank": [shown],
                "pair": [*map(list, combinations(shown, 2))],
            }
            for group in groups[design.unit]:
                question, where = by_id[shown[0]].question_id, (taken.stratum, taken.probability)
                items.append(StudyItem(name, len(items) + 1, design.unit, question, group, *where))
        notes += _short(design.sample, len(drawn), what, [*tags.values()])
    return items, by_id, notes


def _candidates(
    population: Population, design: SampleDesign, exam: str
) -> Iterator[tuple[dict[str, list[str]], str, str]]:
    """Yield what is sampled together, each with its drawings, who drew it, and what it is."""
    if design.of == "drawings":
        for row, drawings in sorted(population.rows.items()):
            yield {drawing.id: [drawing.id] for drawing in drawings.values()}, f"{row} drew", f"drawings of {row}"
        return
    ids = population.common()
    if not ids:
        raise UsageError(f"no question of {exam} was drawn by all of {', '.join(sorted(population.rows))}")
    drawn = {id: [drawings[id].id for drawings in population.rows.values()] for id in ids}
    yield drawn, "all painters drew", "references that all painters drew"


def _short(design: SampleDesign, available: int, what: str, tags: Sequence[Mapping[str, str]]) -> list[str]:
    if design.size is not None:
        return [f"{available} {what}, but the design has {design.size}"] if available < design.size else []
    if design.of == "drawings":
        return []
    cells = Counter(tuple(own.get(tag, "") for tag in design.cross) for own in tags)
    few = sum(count < (design.each or 0) for count in cells.values())
    return [f"{few} of {len(cells)} cells have fewer than {design.each} {what}"] if few else []


ORIGINAL = f"{CONTROL_PREFIX}reference"
"""The painter that shows the original figure."""


@dataclass(frozen=True)
class Population:
    """The drawings to sample from: one for each painter's row and question.

    Attributes:
        rows: Row -> question id -> drawing; the original, if it is shown, is the last row.
        questions: Question id -> the question as drawn.
        notes: Differences from the design.
    """

    rows: Mapping[str, Mapping[str, Drawing]]
    questions: Mapping[str, Question[Any]]
    notes: tuple[str, ...] = ()

    def common(self) -> list[str]:
        """Return the questions that every row has, in order."""
        return [id for id in self.questions if all(id in drawings for drawings in self.rows.values())]


def find_population(
    store: Store,
    exam: str,
    kind: Kind[Any],
    design: SampleDesign,
    painters: Sequence[str] = (),
) -> Population:
    """Return the drawings for a design, by the named painters or by all except controls.

    Raises:
        UsageError: A painter has no drawing, there are more painters than in the design, or the original is missing.
    """
    versions = load_questions(store, exam, kind.rubric)
    newest = {question.id: question for question in versions.values()}
    rows: dict[str, dict[str, Drawing]] = {}
    names: dict[str, set[str]] = {}
    original: dict[str, Drawing] = {}
    for drawing in sorted(
        load_drawings(store, exam), key=lambda painter: (painter.question_id, painter.seed, painter.id)
    ):
        question = newest.get(drawing.question_id)
        if drawing.status != "done" or drawing.image is None or question is None:
            continue
        if drawing.question_hash != question.hash:
            continue
        name = row_name(drawing.label, drawing.strategy)
        if drawing.spec == ORIGINAL:
            original.setdefault(drawing.question_id, drawing)
        names.setdefault(name, set()).update((name, drawing.painter, drawing.label))
        if drawing.spec.startswith(CONTROL_PREFIX) and not names[name] & {*painters}:
            continue
        if not painters or names[name] & {*painters}:
            # Of several seeds, only the first is used.
            rows.setdefault(name, {}).setdefault(drawing.question_id, drawing)
    if unknown := [painter for painter in painters if not any(painter in names[row] for row in rows)]:
        available = ", ".join(sorted(names)) or "none"
        raise UsageError(f"{store.url} has no finished drawing of {exam} by {unknown[0]!r}; it has: {available}")
    notes = _against_design(rows, design, exam)
    if design.original:
        if not original:
            raise UsageError(
                f"the design shows the original figures: draw them with `limner draw {exam} --painter {ORIGINAL}`"
            )
        rows = {name: drawings for name, drawings in rows.items() if name != ORIGINAL} | {ORIGINAL: original}
    order = {id: place for place, id in enumerate(newest)}
    ids = sorted({id for drawings in rows.values() for id in drawings}, key=order.__getitem__)
    return Population(rows, {id: newest[id] for id in ids}, tuple(notes))


def _against_design(rows: Mapping[str, Any], design: SampleDesign, exam: str) -> list[str]:
    if not rows:
        raise UsageError(f"no finished drawing of {exam}; draw some with `limner draw {exam} --painter …`")
    if design.painters is None or len(rows) == design.painters:
        return []
    if len(rows) > design.painters:
        raise UsageError(
            f"the design has {design.painters} painter(s): choose with --painter from {', '.join(sorted(rows))}"
        )
    return [f"{len(rows)} {'painter' if len(rows) == 1 else 'painters'}, but the design has {design.painters}"]


def disagreements(store: Store, exam: str) -> dict[str, float]:
    """Return drawing -> how much judges disagree on it: the mean difference over criteria that both judges decided.

    Differences are shares of the best value, from 0 to 1. Drawings with fewer than two judges are left out.
    """
    marks: dict[str, dict[str, dict[str, float]]] = {}
    protocol = kind(kind_of(store, exam)).protocol
    for group in load_groups(store, exam):
        for entry in group.scored if group.evaluator.kind == "judge" else ():
            if entry.marking is None or entry.marking.repeat:
                continue
            tops = {criterion.id: criterion.top for criterion in criteria_of(entry.question, protocol)}
            given = {name: value / tops[name] for name, value in values(entry.marks).items() if name in tops}
            marks.setdefault(entry.drawing.id, {})[group.evaluator.id] = given
    spread = {}
    for drawing, judges in marks.items():
        pairs = combinations(judges.values(), 2)
        gaps = [abs(first[name] - second[name]) for first, second in pairs for name in first.keys() & second.keys()]
        if gaps:
            spread[drawing] = sum(gaps) / len(gaps)
    return spread
