"""The right answers about a picture, from what was drawn in it: a rule for the criteria of each exam."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from limner.core.exam import Question
from limner.core.marks import Criterion
from limner.exams import kind

Faults = dict[str, tuple[int, str]]
"""Criterion -> its value and the reason, for every criterion that is not at its best."""
BLANK = "nothing is drawn"
OTHER = "the picture shows something else"
_QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True)
class Drawn:
    """What a picture shows.

    Attributes:
        name: The drawing's name; empty for a blank sheet.
        places: Each label and the text in its place; see `tools.samples.genexam.canvas.Canvas`.
        parts: The names of its parts.
        missing: The part that was left out.
        regions: The number of closed shapes and texts.
    """

    name: str
    places: tuple[tuple[str, str | None], ...] = ()
    parts: frozenset[str] = frozenset()
    missing: str | None = None
    regions: int = 0

    @property
    def texts(self) -> set[str]:
        """The texts that can be read in it."""
        return {text for _, text in self.places if text is not None}


@dataclass(frozen=True)
class Plan:
    """How the variants of a drawing differ from it, and what its criteria need.

    Attributes:
        needs: Criterion -> labels that must be in their own places (``at``) and parts.
        recognised: Things that are recognised without a label.
    """

    wrong: tuple[str, str]
    swapped: tuple[str, str]
    missing: str
    needs: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    recognised: frozenset[str] = frozenset()

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Plan:
        """Return the plan from a table of ``variants.toml``."""
        own = {name: value for name, value in body.items() if name not in ("wrong", "swapped", "recognised")}
        return cls(
            tuple(body["wrong"]), tuple(body["swapped"]), recognised=frozenset(body.get("recognised", ())), **own
        )


@dataclass(frozen=True)
class Look:
    """One picture looked at for one question."""

    question: Question[Any]
    plan: Plan
    reference: Drawn
    drawn: Drawn

    @property
    def own(self) -> bool:
        """Whether the picture was drawn for this question."""
        return self.drawn.name == self.reference.name

    @property
    def foreign(self) -> str:
        """Why a picture that was not drawn for this question does not meet a criterion."""
        return OTHER if self.drawn.name else BLANK

    def unwritten(self, labels: Iterable[str]) -> str | None:
        """Return which of these labels is written nowhere; None if all are."""
        for label in labels:
            if label not in self.drawn.texts:
                return self.misplaced([label]) or f"{label!r} is not written"
        return None

    def misplaced(self, labels: Iterable[str]) -> str | None:
        """Return which of these labels is not in its own place; None if all are."""
        for label in labels:
            if label not in {wanted for wanted, _ in self.reference.places}:
                raise ValueError(f"{self.reference.name} has no label {label!r}")
            for wanted, text in self.drawn.places:
                if wanted == label != text:
                    return f"{label!r} is not written" if text is None else f"{text!r} is written in place of {label!r}"
        return None

    def left_out(self, parts: Iterable[str]) -> str | None:
        """Return which of these parts is missing; None if none is."""
        for part in parts:
            if part not in self.reference.parts:
                raise ValueError(f"{self.reference.name} has no part {part!r}")
            if part == self.drawn.missing:
                return f"missing: {part}"
        return None

    def unmet(self, criterion: str, words: Iterable[str] = (), at: Iterable[str] = ()) -> str | None:
        """Return why a criterion is not met: its words, its labels in their places, or its parts; None if it is."""
        words, needs = tuple(words), self.plan.needs.get(criterion, {})
        if not self.own:
            only_words = words and not needs and not at
            return None if only_words and self.unwritten(words) is None else self.foreign
        at = (*at, *needs.get("at", ()))
        return self.unwritten(words) or self.misplaced(at) or self.left_out(needs.get("parts", ()))


def genexam(look: Look, criteria: list[Criterion]) -> Faults:
    """Require the labels that a point quotes in their places, as a label alone proves nothing; then rate the whole."""
    points = {each.id: _QUOTED.findall(each.text) for each in criteria if each.kind == "point"}
    faults = _zeros({id: look.unmet(id, at=labels) for id, labels in points.items()})
    if not look.drawn.name:
        return faults | dict.fromkeys(("spelling", "readability", "logic"), (0, BLANK))
    if not look.drawn.texts:
        faults["readability"] = 0, "nothing is labelled"
    elif wrong := look.misplaced(label for label, text in look.drawn.places if text is not None) if look.own else None:
        faults["logic"] = 1, wrong
    return faults


def worldgenbench(look: Look, criteria: list[Criterion]) -> Faults:
    """Require the words that an item quotes."""
    return _zeros({each.id: look.unmet(each.id, _QUOTED.findall(each.text)) for each in criteria})


def _zeros(reasons: Mapping[str, str | None]) -> Faults:
    return {criterion: (0, reason) for criterion, reason in reasons.items() if reason}


def mmmg(look: Look, criteria: list[Criterion]) -> Faults:
    """Require the name of an entity in its place; of a dependency, both entities and the arrow between them."""
    labels = {label.casefold(): label for label, _ in look.reference.places}
    faults: Faults = {}
    absent: dict[str, str] = {}
    for each in (criterion for criterion in criteria if criterion.kind == "entity"):
        label = labels[each.text.casefold()]
        named = look.own or label in look.drawn.texts
        reason = look.unmet(each.id, at=[label]) if look.own else None if named else look.foreign
        unlabelled = look.own and any(wanted == label and text is None for wanted, text in look.drawn.places)
        if unlabelled and each.text in look.plan.recognised:
            reason = None
        if reason:
            faults[each.id], absent[each.text.casefold()] = (0, reason), reason
    for each in (criterion for criterion in criteria if criterion.kind == "dependency"):
        ends = [end.strip().casefold() for end in re.sub(r"change\(|\)", "", each.text.partition("(")[2]).split(",")]
        links = [f"{labels[a]} → {labels[b]}" for a, b in (ends, ends[::-1])]
        reason = next((absent[end] for end in ends if end in absent), None) or look.unmet(each.id)
        reason = reason or look.left_out(link for link in links if link in look.reference.parts)
        if reason:
            faults[each.id] = 0, reason
    return faults


def fepbench(look: Look, criteria: list[Criterion]) -> Faults:
    """Require atoms of the drawing; list the texts that belong to no atom, and all of another figure."""
    atoms, faults = look.question.rubric, dict[str, tuple[int, str]]()
    labels = {atom.text.casefold(): atom.text for atom in atoms.text}
    for atom in atoms.visual:
        faults |= _flags(f"visual/{atom.id}", ("present", "count", "location"), look.unmet(f"visual/{atom.id}"))
    for atom in atoms.text:
        written = look.unwritten([atom.text])
        faults |= _flags(f"text/{atom.id}", ("exact", "readable"), written)
        place = look.misplaced([atom.text]) if look.own else look.foreign
        faults |= _flags(f"text/{atom.id}", ("attached",), written or place)
    for atom in atoms.relation:
        ends = [labels[end.casefold()] for end in (atom.source, atom.target) if end.casefold() in labels]
        faults |= _flags(
            f"relation/{atom.id}", ("satisfied", "type", "direction"), look.unmet(f"relation/{atom.id}", at=ends)
        )
    return faults | _layout(look) | _unexpected(look)


def _flags(atom: str, flags: Iterable[str], reason: str | None) -> Faults:
    return _zeros({f"{atom}/{flag}": reason for flag in flags})


def _layout(look: Look) -> Faults:
    layout = look.question.rubric.layout
    if look.own:
        marks = re.findall(r"\(\w\)", layout.panel_structure)
        reason = look.unwritten(mark for mark in marks if mark in {label for label, _ in look.reference.places})
        return {"layout/panel_structure": (0, reason)} if reason else {}
    other = _figures().get(look.drawn.name)
    shown = {
        name: other is not None and getattr(other.rubric.layout, name) == getattr(layout, name)
        for name in ("panel_structure", "panel_count", "global_layout")
    }
    return {f"layout/{name}": (0, look.foreign) for name, same in shown.items() if not same}


def _unexpected(look: Look) -> Faults:
    """Return what belongs to no atom of the question."""
    wanted = {label for label, _ in look.reference.places}
    items = {"text": sorted(look.drawn.texts - wanted), "visual": [], "relation": []}
    if not look.own and (other := _figures().get(look.drawn.name)):
        items["visual"] = [atom.name for atom in other.rubric.visual]
        items["relation"] = [f"{atom.source} {atom.type} {atom.target}" for atom in other.rubric.relation]
    faults: Faults = {}
    for modality, found in items.items():
        if found:
            faults[f"unexpected/{modality}"] = 0, f"not asked for: {', '.join(map(repr, found))}"
            faults |= {f"unexpected/{modality}/{n}": (1, item) for n, item in enumerate(found, 1)}
    return faults


def _figures() -> dict[str, Question[Any]]:
    exam = kind("fepbench")
    assert exam.sample is not None
    return {question.tags["sample"]: question for question in exam.read(exam.sample, "sample/fepbench").questions}


def aibench(look: Look, criteria: list[Criterion]) -> Faults:
    """Ask whether the picture leads to the right option: by the parts that it names, and the links between them."""
    faults: Faults = {}
    labels = dict.fromkeys(label for label, _ in look.reference.places)
    for item in look.question.rubric.checklist:
        right = item.options[item.correct_option]
        if item.dimension == "component":
            reason = look.unwritten(_QUOTED.findall(item.question)) if right == "Yes" else None
        else:
            words = f"{item.question} {right}".casefold()
            named = [label for label in labels if re.search(rf"\b{re.escape(label.casefold())}\b", words)]
            links = [f"{a} → {b}" for a in named for b in named]
            reason = look.unmet(item.key, at=named)
            reason = reason or look.left_out(link for link in links if link in look.reference.parts)
            reason = reason or (None if look.drawn.texts else "nothing is labelled")
        if reason:
            faults[item.key] = 0, reason
    return faults


RULES: dict[str, Callable[[Look, list[Criterion]], Faults]] = {
    "genexam": genexam,
    "mmmg": mmmg,
    "worldgenbench": worldgenbench,
    "fepbench": fepbench,
    "aibench": aibench,
}
