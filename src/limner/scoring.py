"""From stored replies and marks to scores. Reads the store alone; computes everything anew each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .calls import canonical, digest
from .errors import UsageError
from .evidence.choice import Choice
from .evidence.names import EVIDENCE, OCR, backends
from .exam import Question
from .exams import Kind, kind
from .marks import Mark, fill
from .protocol import Protocol, Reading, Reply, Row
from .screening import Flags, screened
from .stats import Interval, Parts, bootstrap, ratios
from .store import Store
from .store.records import (
    Drawing,
    Marking,
    kind_of,
    load_drawings,
    load_evidence,
    load_markings,
    load_questions,
    load_replies,
    load_setups,
)

FLAGGED = "flagged"
"""The status of drawings left out because they speak to the examiner."""


@dataclass(frozen=True)
class Entry:
    """One drawing as one judge sees it: marked, or why not."""

    question: Question[Any]
    drawing: Drawing
    marking: Marking | None
    marks: tuple[Mark, ...] = ()
    scores: Mapping[str, float | None] = field(default_factory=dict)
    status: str = "unmarked"
    detail: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    flags: Flags | None = None
    """Words in it that are addressed to the examiner; None where nobody has read its text."""

    @property
    def row(self) -> Row:
        """The entry as a protocol sees it."""
        drawing = self.drawing
        size = (drawing.width, drawing.height) if drawing.width and drawing.height else None
        return Row(self.question, self.marks, self.scores, self.evidence, size)

    @property
    def scored(self) -> bool:
        """Whether its marks count."""
        return self.status == "done"


@dataclass(frozen=True)
class Group:
    """All drawings of one painter under one judge, asked in one way."""

    painter: str
    strategy: str
    judge: str
    setup: Mapping[str, Any]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Standing:
    """A painter's numbers under one judge.

    Attributes:
        n: Questions with a score.
        expected: Questions drawn or tried; what does not apply to a control is left out.
        coverage: n of expected.
        failures: What went wrong, by kind.
        bounds: Where the judge abstained: the least and the most each score could be.
        decided: Share of criteria decided, and share of those that are met.
        pessimistic: Scores with everything that is missing counted as nothing.
        by: Breakdowns, by tag and value.
        cost: Dollars for drawing and marking, failures included; None where a price is not known.
        analyses: What the exam's paper reports beyond its scores.
        evidence: What measured the drawings: name of the evidence -> backend -> drawings.
        remarks: What a reader must know to take these scores right.
        common: The same scores on the questions that all painters have whom this judge marked, asked alike.
        flagged: Drawings that carry words addressed to the examiner.
        flagged_ids: Their questions.
        screened: Drawings whose text was read for such words.
        unscreened: Drawings whose text nobody has read, so that nobody knows.
    """

    exam: str
    reading: Reading
    painter: str
    strategy: str
    judge: str
    setup: Mapping[str, Any]
    n: int
    expected: int
    coverage: float
    failures: Mapping[str, int]
    scores: Mapping[str, Interval]
    bounds: Mapping[str, tuple[float, float]]
    decided: Mapping[str, float]
    pessimistic: Mapping[str, float]
    by: Mapping[str, Mapping[str, Any]]
    cost: float | None
    common: Mapping[str, Any] | None = None
    analyses: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    evidence: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    flagged: int = 0
    flagged_ids: tuple[str, ...] = ()
    screened: int = 0
    unscreened: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; every number with its interval."""
        plain = dict(self.__dict__)
        plain["scores"] = {name: interval.to_json() for name, interval in self.scores.items()}
        plain["bounds"] = _ends_json(self.bounds)
        return plain


def _ends_json(ends: Mapping[str, tuple[float, float]]) -> dict[str, dict[str, float]]:
    return {name: {"low": low, "high": high} for name, (low, high) in ends.items()}


def load_groups(
    store: Store,
    exam: str,
    *,
    reading: Reading = "careful",
    painters: Iterable[str] = (),
    judges: Iterable[str] = (),
    variant: str | None = None,
    constants: Mapping[str, float] | None = None,
    options: Mapping[str, str] | None = None,
    every: bool = False,
) -> list[Group]:
    """Everything marked in this exam, grouped; ways of asking never mix.

    Of several ways one judge was asked for one painter, the newest complete one is taken, or the one `variant` names;
    with `every` each of them is a group of its own. Scores are computed with the exam's own numbers, or with
    `constants` in their place.

    Raises:
        UsageError: The store knows no such judge or variant.
    """
    found = kind(kind_of(store, exam))
    found = replace(found, protocol=found.protocol.tuned(constants or {}))
    questions = load_questions(store, exam, found.rubric)
    wanted, by = frozenset(painters), frozenset(judges)
    slots: dict[tuple[str, str], dict[tuple[str, int], Drawing]] = {}
    for drawing in load_drawings(store, exam):
        if (not wanted or {drawing.painter, drawing.label} & wanted) and drawing.question_hash in questions:
            # A later version of a question takes the place of an earlier one.
            slots.setdefault((drawing.label, drawing.strategy), {})[drawing.question_id, drawing.seed] = drawing
    asked = {name: value for name, value in (options or {}).items() if name not in EVIDENCE}
    setups = {
        id: setup
        for id, setup in _wanted(load_setups(store), by, variant).items()
        if asked.items() <= dict(setup.get("options") or {}).items()
    }
    marked: dict[tuple[str, str], list[Marking]] = {}
    for marking in load_markings(store, exam):
        if marking.setup in setups:
            marked.setdefault((marking.setup, marking.drawing), []).append(marking)
    done = [drawing for row in slots.values() for drawing in row.values() if drawing.status == "done"]
    named = {name: value for name, value in (options or {}).items() if name in EVIDENCE}
    choice = _choice(store, done, named, found.protocol)
    flags = screened(store, done, questions, found.protocol)
    groups = []
    for (painter, strategy), found_slots in slots.items():
        # In the order of their ids, not of their making: resampling must not depend on who was first.
        drawings = dict(sorted(found_slots.items()))
        ids = [drawing.id for drawing in drawings.values()]
        for id in _asked(setups, marked, ids) if every else _chosen(setups, marked, ids).values():
            picked: list[tuple[Drawing, Marking | None]] = []
            for drawing in drawings.values():
                repeats = sorted(marked.get((id, drawing.id), []), key=lambda marking: marking.repeat)
                picked += [(drawing, marking) for marking in repeats] or [(drawing, None)]
            entries = _entries(store, found, questions, picked, reading, choice)
            entries = [replace(entry, flags=flags.get(entry.drawing.id)) for entry in entries]
            groups.append(Group(painter, strategy, setups[id]["judge"], setups[id], tuple(entries)))
    return sorted(groups, key=lambda group: (group.judge, group.painter, group.strategy, canonical(group.setup)))


def _choice(store: Store, drawings: Sequence[Drawing], wanted: Mapping[str, str], protocol: Protocol[Any]) -> Choice:
    subjects = [subject for drawing in drawings for subject in (drawing.image, drawing.id) if subject]
    # Lines of text are many, and few exams score them.
    skip = {OCR} - protocol.needs - protocol.uses - wanted.keys()
    found = load_evidence(store, subjects, skip)
    return Choice(found, [(drawing.image, drawing.id) for drawing in drawings], wanted)


def _wanted(setups: Mapping[str, Any], judges: frozenset[str], variant: str | None) -> dict[str, Any]:
    asked = {"judge": judges, "variant": frozenset() if variant is None else frozenset({variant})}
    for what, words in asked.items():
        there = {setup[what] for setup in setups.values() if what in setup}
        if unknown := sorted(words - there):
            listed = ", ".join(sorted(there)) or "none"
            raise UsageError(f"no {what} {unknown[0]!r} in this store; there is: {listed}")
    return {
        id: setup
        for id, setup in setups.items()
        if (not judges or setup["judge"] in judges) and (variant is None or setup.get("variant") == variant)
    }


def _asked(setups: Mapping[str, Any], marked: Mapping[tuple[str, str], list[Marking]], ids: list[str]) -> list[str]:
    """Every way of asking that some of the drawings were marked in."""
    return [id for id in setups if any((id, drawing) in marked for drawing in ids)]


def _chosen(
    setups: Mapping[str, Any], marked: Mapping[tuple[str, str], list[Marking]], ids: list[str]
) -> dict[str, str]:
    """Judge -> the way of asking that covers most of the drawings; the newest of equals."""
    ranked: dict[str, list[tuple[int, float, str]]] = {}
    for id, setup in setups.items():
        found = [marking for drawing in ids for marking in marked.get((id, drawing), [])]
        if found:
            covered = len({marking.drawing for marking in found if marking.status == "done"})
            newest = max(marking.created for marking in found)
            ranked.setdefault(setup["judge"], []).append((covered, newest, id))
    return {judge: max(choices)[2] for judge, choices in ranked.items()}


def _entries(
    store: Store,
    found: Kind[Any],
    questions: Mapping[str, Question[Any]],
    picked: Sequence[tuple[Drawing, Marking | None]],
    reading: Reading,
    choice: Choice,
) -> list[Entry]:
    keys = [key for _, marking in picked if _to_read(marking) for _, key in marking.replies]  # type: ignore[union-attr]
    texts = load_replies(store, keys)
    row = {drawing.id: (drawing.image, drawing.id) for drawing, _ in picked if drawing.status == "done"}
    measured = dict(zip(row, choice.of(list(row.values())), strict=True))
    entries = []
    for drawing, marking in picked:
        question = questions[drawing.question_hash]
        if drawing.status != "done" or marking is None or marking.status != "done":
            status = drawing.fault or (marking.fault if marking else None) or "unmarked"
            if drawing.status == "not_applicable":
                status = drawing.status
            detail = drawing.detail or (marking.detail if marking else None)
            entries.append(Entry(question, drawing, marking, status=status, detail=detail))
            continue
        if marking.marks is not None:
            marks = [Mark.from_json(mark) for mark in marking.marks]
        else:
            replies = [Reply(ask, texts[key], key) for ask, key in marking.replies if key in texts]
            marks = found.protocol.marks(question, replies, reading)
        unread = [mark for mark in marks if mark.verdict == "unread"]
        if unread and len(unread) == len(marks):
            entries.append(Entry(question, drawing, marking, status="unreadable", detail=unread[0].reason))
            continue
        evidence = measured[drawing.id]
        scores = found.protocol.scores(question, marks, evidence)
        entries.append(Entry(question, drawing, marking, tuple(marks), scores, "done", evidence=evidence))
    return entries


def _to_read(marking: Marking | None) -> bool:
    return marking is not None and marking.status == "done" and marking.marks is None


def standings(
    exam: str, groups: Sequence[Group], protocol: Protocol[Any], reading: Reading, by: Sequence[str] = ()
) -> list[Standing]:
    """Every group's numbers; where a judge was asked alike for several painters, those on common questions too."""
    common: dict[str, set[str]] = {}
    ways = [digest(group.setup) for group in groups]
    painters = Counter(ways)
    for way, group in zip(ways, groups, strict=True):
        ids = {entry.question.id for entry in group.entries if entry.scored}
        common[way] = common[way] & ids if way in common else ids
    return [
        _standing(exam, group, protocol, reading, by, common[way] if painters[way] > 1 else None)
        for way, group in zip(ways, groups, strict=True)
    ]


def _standing(
    exam: str,
    group: Group,
    protocol: Protocol[Any],
    reading: Reading,
    by: Sequence[str],
    common: set[str] | None,
) -> Standing:
    applicable = [entry for entry in group.entries if entry.status != "not_applicable"]
    scored = [entry for entry in applicable if entry.scored]
    expected = len({entry.question.id for entry in applicable})
    n = len({entry.question.id for entry in scored})
    shared = None
    if common is not None:
        inside = [entry for entry in scored if entry.question.id in common]
        numbers = {name: interval.to_json() for name, interval in _intervals(inside, protocol).items()}
        shared = {
            "n": len(common),
            "scores": numbers,
            "bounds": _ends_json(_bounds(inside, protocol)),
            "decided": _decided(inside, protocol),
        }
    return Standing(
        exam=exam,
        reading=reading,
        painter=group.painter,
        strategy=group.strategy,
        judge=group.judge,
        setup=group.setup,
        n=n,
        expected=expected,
        coverage=round(n / expected, 4) if expected else 0.0,
        failures=dict(Counter(entry.status for entry in applicable if not entry.scored)),
        scores=_intervals(scored, protocol),
        bounds=_bounds(scored, protocol),
        decided=_decided(scored, protocol),
        pessimistic=_pessimistic(applicable, protocol),
        by={tag: _breakdown(scored, protocol, tag) for tag in by},
        cost=_cost(group.entries),
        common=shared,
        analyses=protocol.analyses([entry.row for entry in scored]),
        remarks=tuple(protocol.remarks([entry.row for entry in scored])),
        evidence={
            name: dict(counts) for name in EVIDENCE if (counts := backends((entry.evidence for entry in scored), name))
        },
        **_screening(applicable),
    )


def _screening(entries: Sequence[Entry]) -> dict[str, Any]:
    """Which drawings speak to the examiner, and of how many nobody knows."""
    drawn = {entry.drawing.id: entry for entry in entries if entry.drawing.status == "done"}.values()
    flagged = [entry for entry in drawn if entry.flags]
    ids = tuple(dict.fromkeys(entry.question.id for entry in flagged))
    read = sum(entry.flags is not None for entry in drawn)
    return {"flagged": len(flagged), "flagged_ids": ids, "screened": read, "unscreened": len(drawn) - read}


def without_flagged(group: Group) -> Group:
    """The group with drawings that speak to the examiner left out: they have no score, and coverage falls."""
    kept = [
        replace(entry, status=FLAGGED, detail="; ".join(flag.text for flag in entry.flags), marks=(), scores={})
        if entry.flags and entry.status != "not_applicable"
        else entry
        for entry in group.entries
    ]
    return replace(group, entries=tuple(kept))


def _cost(entries: Sequence[Entry]) -> float | None:
    """What the drawings and all their markings cost, failed ones too; None where a price is not known."""
    drawn = {entry.drawing.id: entry.drawing.cost for entry in entries}
    costs = [*drawn.values(), *(entry.marking.cost for entry in entries if entry.marking)]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _intervals(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, Interval]:
    """Summary numbers with intervals; repeats and seeds of a question are averaged within it first."""
    known = bootstrap(summed(entries, protocol), protocol.derive)
    blank = Interval(None, None, None, 0)
    names = [score.name for score in protocol.scored]
    return {name: known.get(name, blank) for name in [*names, *(k for k in known if k not in names)]}


def summed(entries: Sequence[Entry], protocol: Protocol[Any]) -> Parts:
    """What the summary numbers are made of: one place per cluster of questions, in the order of the clusters' names."""
    rows = [entry.row for entry in entries]
    parts, settled = _parts(rows, protocol)
    if any(mark.verdict == "abstain" for row in rows for mark in row.marks):
        # A score settled for some drawings only, by where the judge abstained, has no fair mean: bounds tell instead.
        return {name: part for name, part in parts.items() if settled[name] == len(rows)}
    return parts


def _parts(rows: Sequence[Row], protocol: Protocol[Any]) -> tuple[Parts, Counter[str]]:
    """Numerators and denominators, one entry per cluster of questions; and how many rows have each number."""
    questions: dict[str, list[dict[str, tuple[float, float]]]] = {}
    home: dict[str, str] = {}
    for row in rows:
        questions.setdefault(row.question.id, []).append(protocol.parts(row))
        home[row.question.id] = protocol.cluster(row.question)
    clusters = {name: place for place, name in enumerate(sorted(set(home.values())))}
    places = {question: clusters[name] for question, name in home.items()}
    settled = Counter(name for members in questions.values() for member in members for name in member)
    parts = {name: (np.zeros(len(clusters)), np.zeros(len(clusters))) for name in settled}
    for question, members in questions.items():
        place = places[question]
        shares = Counter(name for member in members for name in member)
        for member in members:
            for name, (top, bottom) in member.items():
                parts[name][0][place] += top / shares[name]
                parts[name][1][place] += bottom / shares[name]
    return parts, settled


def _bounds(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, tuple[float, float]]:
    """The ends of what each monotone score could be, where marks are undecided."""
    if not any(mark.value is None for entry in entries for mark in entry.marks):
        return {}
    return _ends(entries, protocol)


def _decided(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, float]:
    """The share of criteria decided, and of those the share met."""
    total = decided = 0
    met = 0.0
    for entry in entries:
        top = {criterion.id: criterion.top for criterion in protocol.criteria(entry.question)}
        total += len(top)
        for mark in entry.marks:
            # Marks beyond the criteria are findings, such as what a drawing has too much: nothing was to be decided.
            if mark.value is not None and mark.criterion in top:
                decided += 1
                met += mark.value / top[mark.criterion]
    found = {"share": round(decided / total, 4) if total else 0.0}
    return found | {"met": round(met / decided, 4)} if decided else found


def _pessimistic(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, float]:
    """Scores with missing drawings and abstentions counted as nothing, so that refusing gains nothing."""
    return {name: low for name, (low, _) in _ends(entries, protocol, (False,)).items()}


def _ends(
    entries: Sequence[Entry], protocol: Protocol[Any], ways: tuple[bool, ...] = (False, True)
) -> dict[str, tuple[float, float]]:
    """Monotone scores with everything undecided filled in the worst and the best way."""
    ends: list[dict[str, float]] = []
    for best in ways:
        rows = []
        for entry in entries:
            marks = fill(entry.marks, protocol.criteria(entry.question), best)
            if entry.scored or best:
                scores = protocol.scores(entry.question, marks, entry.evidence)
            else:
                scores = protocol.nothing(entry.question)
            rows.append(Row(entry.question, tuple(marks), scores, entry.evidence))
        parts, _ = _parts(rows, protocol)
        ends.append(protocol.derive(ratios(parts)))
    names = [score.name for score in protocol.scored if score.monotone and score.name in ends[0]]
    return {name: (ends[0][name], ends[-1][name]) for name in names}


def _breakdown(entries: Sequence[Entry], protocol: Protocol[Any], tag: str) -> dict[str, Any]:
    if tag == "dimension":
        whole = _intervals(entries, protocol)
        return {name: {"n": whole[name].n, "scores": {name: whole[name].to_json()}} for name in protocol.dimensions}
    values: dict[str, list[Entry]] = {}
    for entry in entries:
        values.setdefault(entry.question.tags.get(tag, "(none)"), []).append(entry)
    found = {}
    order = {value: place for place, value in enumerate(protocol.orders.get(tag, ()))}
    for value in sorted(values, key=lambda value: (order.get(value, len(order)), value)):
        numbers = {name: i.to_json() for name, i in _intervals(values[value], protocol).items()}
        n = len({entry.question.id for entry in values[value]})
        bounds = _ends_json(_bounds(values[value], protocol))
        decided = _decided(values[value], protocol)
        found[value] = {"n": n, "scores": numbers, "bounds": bounds, "decided": decided}
    return found
