"""Entries: each drawing of an exam under each evaluator, with its marks, evidence and scores read from the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any

from pydantic_core import from_json, to_json

from ..core.asks import Reply
from ..core.errors import UsageError
from ..core.evaluator import CONTROL_PREFIX, Evaluated, Evaluator, EvaluatorFilter, label, label_evaluators, row_name
from ..core.evidence import OCR
from ..core.exam import Question
from ..core.marks import Mark
from ..core.protocol import Protocol, Reading, Row
from ..evidence.probe import BackendChoice
from ..exams import Kind, kind, marks_reader_id, preset_painter_args
from ..exams.released import wording_names
from ..judges.screening import Flags, screen_drawings
from ..painters.diffusers.options import ALIASES
from ..store import Store
from ..store.markings import (
    MIN_MARKINGS_KEPT,
    BriefMarking,
    Marking,
    MarksReader,
    ReadMarks,
    marking_setups,
    newest_certificates,
    rating_setups,
    save_read_marks,
    stream_markings,
)
from ..store.records import (
    Drawing,
    evaluator_kinds,
    kind_of,
    load_drawings,
    load_evidence,
    load_questions,
    load_replies,
    load_setups,
    marking_texts,
)
from ..store.store import parse_json_column

NOT_APPLICABLE = "not_applicable"
UNMARKED = "unmarked"
"""The status of drawings that nobody has tried to mark: neither a failure nor a score."""
EVERYONE = EvaluatorFilter()
NOBODY = Evaluator("", {"judge": ""})
"""The placeholder evaluator of drawings that have none."""
FLAGGED = "flagged"
"""The status of drawings left out because they contain text addressed to the examiner."""


@dataclass(slots=True)  # Not frozen: hundreds of thousands are created, which takes three times as long if frozen.
class Entry:
    """One drawing under one evaluator, with its marks or the reason for having none. Treat it as immutable.

    Attributes:
        flags: Text in the drawing that is addressed to the examiner; None if its text was never read.
    """

    question: Question[Any]
    drawing: Drawing
    marking: Marking | None
    marks: tuple[Mark, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
    status: str = UNMARKED
    detail: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    flags: Flags | None = None

    @property
    def row(self) -> Row:
        """The entry in the form that protocols take."""
        return Row(self.question, self.marks, self.scores, self.evidence)

    @property
    def scored(self) -> bool:
        """Whether the drawing has marks that count."""
        return self.status == "done"


@dataclass(frozen=True)
class Group(Evaluated):
    """All drawings of one painter under one evaluator.

    Attributes:
        painter: The painter's name with its options.
        absent: The questions of the exam, or of the selection, that the painter has not tried.
        shown: The painter's name in tables, if it is shorter; see `shown_painters`.
    """

    painter: str
    strategy: str
    evaluator: Evaluator
    entries: tuple[Entry, ...]
    absent: tuple[Question[Any], ...] = ()
    shown: str = ""

    @property
    def name(self) -> str:
        """The painter's row in tables."""
        return row_name(self.shown or self.painter, self.strategy)

    @property
    def spec(self) -> str:
        """The painter's specification as the user gave it; empty without drawings."""
        return self.entries[0].drawing.spec if self.entries else ""

    @property
    def control(self) -> bool:
        """Whether the painter is a control, which is shown but not ranked."""
        return self.spec.startswith(CONTROL_PREFIX)

    @cached_property
    def scored(self) -> tuple[Entry, ...]:
        """The entries whose marks count, sorted; see `sorted_entries`."""
        return sorted_entries(entry for entry in self.entries if entry.scored)

    @cached_property
    def expected(self) -> frozenset[str]:
        """The ids of the questions the painter should draw: those of the exam that apply to it."""
        tried = {entry.question.id for entry in self.entries if entry.status != NOT_APPLICABLE}
        return frozenset(tried | {question.id for question in self.absent})

    @cached_property
    def drawings(self) -> dict[str, Drawing]:
        """The painter's drawings by id, each once."""
        return {entry.drawing.id: entry.drawing for entry in self.entries}

    @property
    def coverage(self) -> float:
        """The share of expected questions that have a score."""
        return len({entry.question.id for entry in self.scored}) / len(self.expected) if self.expected else 0.0

    @property
    def failures(self) -> dict[str, int]:
        """The number of entries without a score, by kind of failure; those not marked yet are a kind too."""
        tried = (entry for entry in self.entries if entry.status != NOT_APPLICABLE)
        return dict(Counter(entry.status for entry in tried if not entry.scored))

    def select(self, ids: Container[str]) -> Group:
        """Return the group restricted to these questions."""
        entries = tuple(entry for entry in self.entries if entry.question.id in ids)
        return replace(self, entries=entries, absent=tuple(q for q in self.absent if q.id in ids))


def without_unmarked(failures: Mapping[str, int]) -> dict[str, int]:
    """Return the failures without the drawings that are merely not marked yet."""
    return {what: count for what, count in failures.items() if what != UNMARKED}


def sorted_entries(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries sorted by question, seed and repeat."""
    return tuple(sorted(entries, key=lambda e: (e.question.id, e.drawing.seed, e.marking.repeat if e.marking else 0)))


def shown_painters(kind: Kind[Any], drawings: Iterable[Drawing]) -> dict[tuple[str, str], str]:
    """Return the painters' names in tables, by label and strategy: without options that the paper's presets set.

    Rows that would have the same name show the options that differ, too.
    """
    rows = {(drawing.label, drawing.strategy): drawing for drawing in drawings}
    own = {row: _own_options(kind, drawing) for row, drawing in rows.items()}
    same: dict[tuple[str, str], list[Drawing]] = {}
    for row, drawing in rows.items():
        same.setdefault((label(drawing.painter, own[row]), row[1]), []).append(drawing)
    shown = {}
    for (_, strategy), rivals in same.items():
        for drawing in rivals:
            kept = own[drawing.label, strategy]
            differing = {k: v for k, v in drawing.options.items() if any(r.options.get(k) != v for r in rivals)}
            shown[drawing.label, strategy] = label(drawing.painter, {**differing, **kept})
    counts = Counter((name, strategy) for (_, strategy), name in shown.items())
    return {row: name if counts[name, row[1]] == 1 else row[0] for row, name in shown.items()}


def _own_options(kind: Kind[Any], drawing: Drawing) -> Mapping[str, Any]:
    """Return a drawing's options without those that the nearest of the paper's presets sets."""
    rest = []
    for preset in kind.paper_presets:
        usual = preset_painter_args(preset, drawing.painter, drawing.spec) | preset.get("draw_options", {})
        usual = {ALIASES.get(name, name): value for name, value in usual.items()}
        rest.append({k: v for k, v in drawing.options.items() if (ALIASES.get(k, k), v) not in usual.items()})
    return min(rest, key=len, default=drawing.options)


def evaluators_of(store: Store, exam: str) -> list[Evaluator]:
    """Return all evaluators that marked or rated drawings of this exam, with distinct labels."""
    return _evaluators(store, exam, kind(kind_of(store, exam)), marking_setups(store, exam))


def _evaluators(store: Store, exam: str, exam_kind: Kind[Any], marked: set[str]) -> list[Evaluator]:
    setups_there, kinds = marked | rating_setups(store, exam), evaluator_kinds(store)
    examined = {setup: row.words for setup, row in newest_certificates(store, exam).items()}
    return label_evaluators(
        Evaluator(id, setup, kind=kinds[id], worded=wording_names(exam_kind, setup), examined=examined.get(id))
        for id, setup in sorted(load_setups(store).items())
        if id in setups_there
    )


def open_kind(
    store: Store, exam: str, constants: Mapping[str, float] | None = None, reading: Reading = "careful"
) -> Kind[Any]:
    """Return the kind of a stored exam; its protocol scores by `reading`, with `constants` for its usual numbers.

    Raises:
        StoreError: The store has no such exam.
        UsageError: The protocol has no such constant.
    """
    opened_kind = kind(kind_of(store, exam))
    return replace(opened_kind, protocol=opened_kind.protocol.tuned(constants or {}).read_as(reading))


def load_groups(
    store: Store,
    exam: str,
    *,
    reading: Reading = "careful",
    painters: Iterable[str] = (),
    which: EvaluatorFilter = EVERYONE,
    opened: Kind[Any] | None = None,
    backends: Mapping[str, str] | None = None,
    unmarked: bool = False,
    brief: bool = False,
) -> list[Group]:
    """Return a group of entries for every painter under every evaluator that `which` selects.

    A painter whose drawings all failed has a group under each evaluator. With `unmarked`, a painter without marks has
    a group under `NOBODY`, unless particular evaluators are selected. Scores are computed by the protocol of the
    exam's kind, or of `opened` if given. If several backends measured the same evidence, `backends` chooses among them.

    Markings are read in batches, and replies are not kept. If only numbers are needed, `brief` leaves out the reasons
    of marks (unless the exam's numbers depend on them) and the keys of replies.

    Raises:
        UsageError: The store has no such evaluator.
    """
    exam_kind = opened or open_kind(store, exam, reading=reading)
    questions = load_questions(store, exam, exam_kind.rubric)
    newest = {question.id: question for question in questions.values()}
    wanted = frozenset(painters)
    slots: dict[tuple[str, str], dict[tuple[str, int], Drawing]] = {}
    unsorted = list(load_drawings(store, exam, ordered=False, brief=brief))
    # Of all painters: a name must not depend on which of them are wanted.
    shown = shown_painters(exam_kind, unsorted)
    for drawing in sorted(unsorted, key=attrgetter("created", "id")):
        if (not wanted or {drawing.painter, drawing.label} & wanted) and drawing.question_hash in questions:
            # A later version of a question takes the place of an earlier one.
            slots.setdefault((drawing.label, drawing.strategy), {})[drawing.question_id, drawing.seed] = drawing
    marked_by = marking_setups(store, exam)
    chosen = _marking(which.choose(_evaluators(store, exam, exam_kind, marked_by)), which, marked_by, exam)
    # Sorted by id, not by time of creation: resampling must not depend on which was drawn first.
    rows = {name: [drawing for _, drawing in sorted(row.items())] for name, row in slots.items()}
    done = [drawing for row in rows.values() for drawing in row if drawing.status == "done"]
    choice = _choice(store, done, backends or {}, exam_kind.protocol)
    flags = screen_drawings(store, done, questions, exam_kind.protocol)
    make = _Entries(exam_kind.protocol, questions, reading, brief, flags)
    for row in rows.values():
        make.expect(row, choice)
    make.read(store, exam, chosen)
    groups = []
    everyone = [*chosen, NOBODY] if unmarked and which.everyone else chosen
    for (painter, strategy), row in rows.items():
        alone = True
        drawn = {drawing.question_id for drawing in row}
        absent = tuple(newest[id] for id in sorted(newest) if id not in drawn)
        statuses = {drawing.status for drawing in row}
        for evaluator in everyone:
            marked = make.marked.get(evaluator.id, {})
            met = any(drawing.id in marked for drawing in row)
            if evaluator is NOBODY:
                if not alone:
                    continue
            elif not met and (statuses <= {NOT_APPLICABLE} or "done" in statuses):
                continue
            entries = [entry for drawing in row for entry in marked.get(drawing.id) or [make.unmarked(drawing)]]
            groups.append(Group(painter, strategy, evaluator, tuple(entries), absent, shown[painter, strategy]))
            alone = False
    return sorted(groups, key=lambda group: (group.evaluator.order, group.painter, group.strategy))


def _marking(
    chosen: Sequence[Evaluator], which: EvaluatorFilter, marked_by: Container[str], exam: str
) -> list[Evaluator]:
    """Return the evaluators that marked; those that only rated have no scores of the exam.

    Raises:
        UsageError: All the named evaluators only rated.
    """
    marking = [evaluator for evaluator in chosen if evaluator.id in marked_by]
    if which.judges and chosen and not marking:
        names = ", ".join(evaluator.name for evaluator in chosen)
        raise UsageError(f"{names}: ratings, but no marks of criteria; `limner agree {exam}` compares ratings")
    return marking


def _choice(
    store: Store, drawings: Sequence[Drawing], wanted: Mapping[str, str], protocol: Protocol[Any]
) -> BackendChoice:
    subjects = [subject for drawing in drawings for subject in (drawing.image, drawing.id) if subject]
    # OCR finds many lines of text, and few exams use them for scores.
    skip = {OCR} - protocol.needs - protocol.uses - wanted.keys()
    measured = load_evidence(store, subjects, skip)
    return BackendChoice(measured, [(drawing.image, drawing.id) for drawing in drawings], wanted)


@dataclass
class _Entries:
    """A builder of entries from markings as they are read from the store; nothing else of a marking is kept.

    Attributes:
        marked: Evaluator -> drawing -> entries in the order of repeats.
    """

    protocol: Protocol[Any]
    questions: Mapping[str, Question[Any]]
    reading: Reading
    brief: bool
    flags: Mapping[str, Flags]
    drawings: dict[str, tuple[Drawing, Mapping[str, Any]]] = field(default_factory=dict)
    marked: dict[str, dict[str, list[Entry]]] = field(default_factory=dict)

    @cached_property
    def reader(self) -> MarkReader:
        """The reader of marks; it keeps their reasons only if numbers or readers need them."""
        return MarkReader(reasons=self.protocol.reasons or not self.brief)

    def expect(self, row: Sequence[Drawing], choice: BackendChoice) -> None:
        """Add the drawings of one row of a table, with the evidence chosen for that row."""
        done = [drawing for drawing in row if drawing.status == "done"]
        measured = choice.of([(drawing.image, drawing.id) for drawing in done])
        self.drawings |= {drawing.id: (drawing, {}) for drawing in row}
        self.drawings |= {drawing.id: (drawing, chosen) for drawing, chosen in zip(done, measured, strict=True)}

    def read(self, store: Store, exam: str, chosen: Sequence[Evaluator]) -> None:
        """Read all markings under these evaluators."""
        panels = {evaluator.id for evaluator in chosen if evaluator.kind == "panel"}
        judges = {evaluator.id for evaluator in chosen if evaluator.kind == "judge"}
        self.marked = {evaluator.id: {} for evaluator in chosen}
        reader_id = None if self.reader.reasons else marks_reader_id(type(self.protocol))
        by = None if reader_id is None else MarksReader(self.reading, reader_id + self.protocol.asked)
        fresh: list[ReadMarks] = []
        for some in stream_markings(store, exam, self.marked, self.brief, by):
            mine = [each for each in some if each[0].drawing in self.drawings]
            asked = [unread for unread, text, read in mine if text is None and read is None and unread.status == "done"]
            texts = load_replies(store, [key for marking in asked for _, key in marking.replies])
            for marking, text, read in mine:
                entry = self._entry(marking, text, read, texts, marking.setup in panels)
                self.marked[marking.setup].setdefault(entry.drawing.id, []).append(entry)
                if read is None and by is not None and marking.setup in judges:
                    fresh += _to_keep(marking, entry)
            if by is not None and len(fresh) >= MIN_MARKINGS_KEPT:
                save_read_marks(store, by, fresh)
                fresh = []
        for drawings in self.marked.values():
            for entries in drawings.values():
                if len(entries) > 1:
                    entries.sort(key=lambda entry: entry.marking.repeat if entry.marking else 0)

    def unmarked(self, drawing: Drawing, marking: Marking | None = None) -> Entry:
        """Return the entry of a drawing that has no marks."""
        status = drawing.fault or (marking.fault if marking else None) or UNMARKED
        if drawing.status == NOT_APPLICABLE:
            status = drawing.status
        detail = drawing.detail or (marking.detail if marking else None)
        question, flags = self.questions[drawing.question_hash], self.flags.get(drawing.id)
        return Entry(question, drawing, marking, (), {}, status, detail, {}, flags)

    def _entry(
        self, marking: Marking, text: str | None, read: str | None, texts: Mapping[str, str], panel: bool
    ) -> Entry:
        drawing, evidence = self.drawings[marking.drawing]
        question, flags = self.questions[drawing.question_hash], self.flags.get(drawing.id)
        if self.brief:  # Share one string per drawing id, to save memory.
            object.__setattr__(marking, "drawing", drawing.id)
        if drawing.status != "done" or marking.status != "done":
            return self.unmarked(drawing, marking)
        if read is not None:
            marks = self.reader.brief(read)
        else:
            given: Sequence[Any] = (
                read_replies(question, marking.replies, texts, self.protocol, self.reading)
                if text is None
                else parse_json_column(text)
            )
            marks = self.reader.read(given, reasons=panel)
            if marks and marks[0].verdict == "unread" and all(mark.verdict == "unread" for mark in marks):
                (first,) = MarkReader().read(given[:1])
                return Entry(question, drawing, marking, (), {}, "unreadable", first.reason, {}, flags)
        if self.brief and read is None:
            object.__setattr__(marking, "replies", BriefMarking.replies)
        scores = self.protocol.scores(question, marks, evidence)
        return Entry(question, drawing, marking, marks, scores, "done", None, evidence, flags)


def _to_keep(marking: Marking, entry: Entry) -> list[ReadMarks]:
    """Return the marks to save, so that this marking need not be read again."""
    text = brief_text(entry.marks) if entry.scored else None
    return [] if text is None else [ReadMarks(marking.id, marking.created, text)]


def without_flagged(group: Group) -> Group:
    """Return the group with flagged drawings (text addressed to the examiner) left without a score.

    This lowers the coverage.
    """
    kept = [
        replace(entry, status=FLAGGED, detail="; ".join(flag.text for flag in entry.flags), marks=(), scores={})
        if entry.flags and entry.status != NOT_APPLICABLE
        else entry
        for entry in group.entries
    ]
    return replace(group, entries=tuple(kept))


MARK_FIELDS = ("criterion", "value", "source", "verdict")
"""The fields of a mark other than its reason."""
MAX_SHARED_MARKS = 200_000
"""The maximum number of distinct marks kept in memory."""
_stored, _read = itemgetter(*MARK_FIELDS), attrgetter(*MARK_FIELDS)


def read_replies(
    question: Question[Any],
    keys: Iterable[Sequence[str]],
    texts: Mapping[str, str],
    protocol: Protocol[Any],
    reading: Reading,
) -> list[Mark]:
    """Return the marks in a judge's replies; `keys` pairs each ask with its call's key, `texts` are by key."""
    replies = [Reply(ask, texts[key], key) for ask, key in keys if key in texts]
    return protocol.marks(question, replies, reading)


def brief_text(marks: Sequence[Mark]) -> str | None:
    """Return marks without reasons, as text for `MarkReader.brief`; None if one is unread, as its reason matters."""
    if any(mark.verdict == "unread" for mark in marks):
        return None
    contents = ((mark.criterion, mark.value, mark.source) for mark in marks)
    return to_json([one if one[2] else one[:2] for one in contents]).decode()


class _Shared(dict[tuple[Any, ...], Mark]):
    """Content of a mark -> the one shared mark with this content."""

    def __missing__(self, content: tuple[Any, ...]) -> Mark:
        criterion, value, source, verdict = content
        if len(self) >= MAX_SHARED_MARKS:
            self.clear()
        mark = self[content] = Mark(criterion, value, "", source, verdict)
        return mark


class MarkReader:
    """A reader of the marks of one exam; without reasons, equal marks share one object."""

    def __init__(self, reasons: bool = True) -> None:
        self.reasons, self._shared = reasons, _Shared()
        self._brief: dict[str, tuple[Mark, ...]] = {}

    def read(self, given: Sequence[Mapping[str, Any]] | Sequence[Mark], reasons: bool = False) -> tuple[Mark, ...]:
        """Return marks from JSON or from marks; `reasons` keeps their reasons even if this reader drops them."""
        if self.reasons or reasons or not given:
            return tuple(mark if isinstance(mark, Mark) else Mark.from_json(mark) for mark in given)
        shared: Any = self._shared.__getitem__
        content_of: Any = _read if isinstance(given[0], Mark) else _stored
        try:
            return tuple(map(shared, map(content_of, given)))
        except KeyError:  # Imported marks may lack fields that have a default.
            return tuple(shared(_read(Mark.from_json(mark))) for mark in given if not isinstance(mark, Mark))

    def brief(self, text: str) -> tuple[Mark, ...]:
        """Return the marks in a `brief_text`; equal texts give the same object."""
        if (marks := self._brief.get(text)) is None:
            if len(self._brief) >= MAX_SHARED_MARKS:
                self._brief.clear()
            marks = self._brief[text] = tuple(self._said(*one) for one in from_json(text))
        return marks

    def _said(self, criterion: str, value: int | None, source: str = "") -> Mark:
        return self._shared[criterion, value, source, "abstain" if value is None else "answer"]


_READER = MarkReader()


def with_texts(store: Store, entries: Sequence[Entry], protocol: Protocol[Any], reading: Reading) -> Iterator[Entry]:
    """Yield the entries with all texts of their markings; meant for a few entries, as the texts need much memory.

    A marking that has changed since its numbers were read is left without texts, which would no longer match.
    """
    wanted = {entry.marking.id: entry.marking for entry in entries if entry.marking is not None}
    texts_of = {each.id: each for each in marking_texts(store, wanted) if each.created == wanted[each.id].created}
    asked = [each for each in texts_of.values() if each.marks is None]
    texts = load_replies(store, [key for each in asked for _, key in each.replies])
    for entry in entries:
        whole = texts_of.get(entry.marking.id) if entry.marking is not None else None
        if whole is None or entry.marking is None:
            yield entry
            continue
        marks, given = entry.marks, whole.marks
        if entry.scored:
            if given is None:
                marks = tuple(read_replies(entry.question, whole.replies, texts, protocol, reading))
            else:
                marks = _READER.read(given)
        yield replace(entry, marking=replace(entry.marking, replies=whole.replies), marks=marks)
