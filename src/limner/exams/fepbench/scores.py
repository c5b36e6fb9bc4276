"""The paper's equations and the scores of a drawing, which are None if the marks do not determine them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...core.asks import Reply, Unreadable, list_schema, object_schema, only_reply, text_in
from ...core.json_text import loads
from ...core.marks import Mark, values
from .data import MODALITIES, ROLES, Atoms, Modality

BETA = 0.5
PARTS_OF = {
    **{f"if_{m}": f"mean match of {m} atoms that the prompt asks for" for m in MODALITIES},
    "if_layout": "share of the three layout atoms met",
    **{f"re_{m}": f"mean match of {m} atoms of the reference alone" for m in MODALITIES},
    **{f"sp_{m}": f"share of the {m} content drawn that is supported" for m in MODALITIES},
}
"""The parts of the three scores -> their descriptions."""
TITLES = {"if": "IF", "re": "RE", "sp": "SP"}
TITLES |= {name: f"{TITLES[name[:2]]} {name[3:]}" for name in PARTS_OF}
"""The scores and their parts as the paper writes them: IF, IF visual, …"""


def atom_match(gate: int | None, first: int | None, second: int | None) -> float | None:
    """Return how well an atom is drawn: 0 if its gate is 0, otherwise half for each of the two flags.

    Flags may be unknown; the result is None unless it is the same for all their possible values.

    >>> atom_match(1, 1, 0), atom_match(0, 1, 1), atom_match(1, 0, 0)
    (0.5, 0.0, 0.0)
    >>> atom_match(0, None, 1), atom_match(None, 0, 0), atom_match(None, 1, 0), atom_match(1, None, 1)
    (0.0, 0.0, None, None)
    """
    if gate == 0 or (first == 0 and second == 0):
        return 0.0
    if gate is None or first is None or second is None:
        return None
    return BETA * first + BETA * second


def mean_if_known(values: Iterable[float | None]) -> float | None:
    """Return the mean, or None if a value is unknown.

    >>> mean_if_known([1.0, 0.5]), mean_if_known([1.0, None])
    (0.75, None)
    """
    items = list(values)
    numbers = [value for value in items if value is not None]
    return sum(numbers) / len(items) if items and len(numbers) == len(items) else None


def precision(supported: int, unexpected: int) -> float | None:
    """Return the share of drawn content that prompt or reference supports; None if nothing was drawn.

    >>> precision(3, 1), precision(0, 2), precision(0, 0)
    (0.75, 0.0, None)
    """
    drawn = supported + unexpected
    return 1 - unexpected / drawn if drawn else None


def overall_precision(parts: Sequence[float | None]) -> float | None:
    """Return the mean of the defined parts; None if there are none.

    >>> overall_precision([1.0, 0.5, None]), overall_precision([None, None, None])
    (0.75, None)
    """
    return mean_if_known(part for part in parts if part is not None)


def score_atoms(atoms: Atoms, marks: Sequence[Mark]) -> dict[str, float | None]:
    """Return the scores of one drawing; ``sp`` is omitted unless the marks determine all its parts."""
    answers = values(marks)
    scores: dict[str, float | None] = {}
    for role, name in zip(ROLES, ("if", "re"), strict=True):
        for modality in MODALITIES:
            matches = [
                atom_match(*(answers.get(f"{modality}/{atom.id}/{part}") for part in PARTS[modality]))
                for atom in atoms.of(modality)
                if atom.role == role
            ]
            scores[f"{name}_{modality}"] = mean_if_known(matches)
    scores["if_layout"] = mean_if_known(answers.get(f"layout/{part}") for part in LAYOUT)
    for name in ("if", "re"):
        scores[name] = mean_if_known(value for key, value in scores.items() if key.startswith(f"{name}_"))
    counts = {modality: drawn(atoms, marks, modality) for modality in MODALITIES}
    for modality, count in counts.items():
        scores[f"sp_{modality}"] = None if count is None else precision(*count)
    if None not in counts.values():
        scores["sp"] = overall_precision([scores[f"sp_{modality}"] for modality in MODALITIES])
    return scores


def drawn(atoms: Atoms, marks: Sequence[Mark], modality: Modality) -> tuple[int, int] | None:
    """Return the numbers of drawn gold atoms (gate 1) and of unexpected items; None if the marks leave them open."""
    answers = values(marks)
    gates = [answers.get(f"{modality}/{atom.id}/{PARTS[modality][0]}") for atom in atoms.of(modality)]
    items = sum(mark.criterion.startswith(f"unexpected/{modality}/") for mark in marks)
    nothing = answers.get(f"unexpected/{modality}")
    if None in gates or nothing is None or bool(nothing) == bool(items):
        return None
    return gates.count(1), items


PARTS: Mapping[Modality, tuple[str, str, str]] = {
    "visual": ("present", "count", "location"),
    "text": ("exact", "readable", "attached"),
    "relation": ("satisfied", "type", "direction"),
}
"""Modality -> its gate and its two other flags."""
LAYOUT = ("panel_structure", "panel_count", "global_layout")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def normalize_text(text: str) -> str:
    """Return a text with normalised case, blanks and look-alike characters, without punctuation at the ends.

    >>> normalize_text(" “Golgi\\n APPARATUS”. ") == normalize_text("golgi apparatus")
    True
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _EDGES.sub("", plain) or plain


def read_verification(atoms: Atoms, text: str) -> list[Mark]:
    """Return the marks in a verification, which must answer every gold atom once, by its id.

    Raises:
        Unreadable: An atom is missing, unknown or answered twice, or a flag is neither 0 nor 1.
    """
    body = loads(text)
    marks = [mark for modality in MODALITIES for mark in _atoms(atoms, modality, body.get(modality))]
    layout = _mapping(body.get("layout"), '"layout"')
    return marks + [Mark(f"layout/{part}", _flag(layout, part, "layout"), text_in(layout, "reason")) for part in LAYOUT]


def _atoms(atoms: Atoms, modality: Modality, answers: object) -> list[Mark]:
    if not isinstance(answers, list):
        raise Unreadable(f'"{modality}" must be a list')
    given: dict[str, Mapping[str, Any]] = {}
    for place, answer in enumerate(answers, 1):
        entry = _mapping(answer, f'entry {place} of "{modality}"')
        id = entry.get("id")
        if not isinstance(id, str):
            raise Unreadable(f'entry {place} of "{modality}" has no "id"')
        if id in given:
            raise Unreadable(f"{modality} atom {id[:40]} is answered twice")
        given[id] = entry
    wanted = [atom.id for atom in atoms.of(modality)]
    if missing := [id for id in wanted if id not in given]:
        raise Unreadable(f"{modality} atoms without an answer: {', '.join(missing[:10])}")
    if unknown := [id for id in given if id not in wanted]:
        raise Unreadable(f"there is no {modality} atom {unknown[0][:40]!r}")
    return [
        Mark(f"{modality}/{id}/{part}", _flag(given[id], part, f"{modality} atom {id}"), text_in(given[id], "reason"))
        for id in wanted
        for part in PARTS[modality]
    ]


def read_unexpected(text: str) -> list[Mark]:
    """Return the marks in a list of unexpected content: for each modality whether there is none, then each item.

    Items are identified by modality, text and place; repeated items count once.

    Raises:
        Unreadable: There is no list, or an item lacks its modality, its text or its place.
    """
    items = loads(text).get("unexpected")
    if not isinstance(items, list):
        raise Unreadable('"unexpected" must be a list; an empty one where there is nothing')
    items_by_modality: dict[str, dict[tuple[str, str], str]] = {modality: {} for modality in MODALITIES}
    for number, entry in enumerate(items, 1):
        item = _mapping(entry, f"item {number}")
        modality, what, place = (item.get(name) for name in ("modality", "item", "place"))
        if modality not in MODALITIES:
            raise Unreadable(f'item {number}: "modality" must be one of {", ".join(MODALITIES)}')
        if not isinstance(what, str) or not isinstance(place, str) or not what.strip() or not place.strip():
            raise Unreadable(f'item {number} needs an "item" and a "place" in words')
        key = normalize_text(what), normalize_text(place)
        items_by_modality[modality].setdefault(key, f"{what.strip()} ({place.strip()})")
    marks = [Mark(f"unexpected/{modality}", int(not items_by_modality[modality])) for modality in MODALITIES]
    for modality in MODALITIES:
        texts = enumerate(items_by_modality[modality].values(), 1)
        marks += [Mark(f"unexpected/{modality}/{number}", 1, words) for number, words in texts]
    return marks


def read_marks(ask: str, replies: Sequence[Reply], parse: Callable[[str], list[Mark]]) -> list[Mark] | str:
    """Return the marks in the only reply to an ask, or the reason why there are none."""
    try:
        return parse(only_reply(replies, (ask,)).text)
    except Unreadable as error:
        return f"{ask}: {error}"


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Unreadable(f"{place} must be an object")
    return value


def _flag(entry: Mapping[str, Any], name: str, place: str) -> int:
    value = entry.get(name)
    if not isinstance(value, int | float) or value not in (0, 1):
        raise Unreadable(f'{place}: "{name}" must be 0 or 1, not {value!r}'[:200])
    return int(value)


_WORDS = {"type": "string"}
_FLAG = {"type": "integer", "enum": [0, 1]}
VERIFICATION = object_schema(
    {
        **{m: list_schema({"id": _WORDS, "reason": _WORDS, **dict.fromkeys(PARTS[m], _FLAG)}) for m in MODALITIES},
        "layout": object_schema({"reason": _WORDS, **dict.fromkeys(LAYOUT, _FLAG)}),
    }
)
_ITEM = {"modality": {"type": "string", "enum": list(MODALITIES)}, "item": _WORDS, "place": _WORDS}
UNEXPECTED = object_schema({"unexpected": list_schema(_ITEM)})
