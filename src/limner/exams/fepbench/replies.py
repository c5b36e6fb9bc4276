"""What the two verifiers reply: the shape they are asked for, and strict readers from text to marks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.asks import Reply, Unreadable, list_schema, object_schema, text_in
from ...core.json_text import loads
from ...core.marks import Mark
from .data import MODALITIES, Atoms, Modality

PARTS: Mapping[Modality, tuple[str, str, str]] = {
    "visual": ("present", "count", "location"),
    "text": ("exact", "readable", "attached"),
    "relation": ("satisfied", "type", "direction"),
}
"""The gate of each modality, then its two parts."""
LAYOUT = ("panel_structure", "panel_count", "global_layout")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def normal(text: str) -> str:
    """One form for texts that differ in case, blanks, look-alike forms or punctuation at their ends.

    >>> normal(" “Golgi\\n APPARATUS”. ") == normal("golgi apparatus")
    True
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _EDGES.sub("", plain) or plain


def verified(atoms: Atoms, text: str) -> list[Mark]:
    """A verification as marks: every gold atom answered once, by its id.

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


def listed(text: str) -> list[Mark]:
    """A list of unexpected content as marks: for each modality whether there is none, then every item once.

    Items are told apart by modality, text and place; the same item named again is counted once.

    Raises:
        Unreadable: There is no list, or an item lacks its modality, its text or its place.
    """
    items = loads(text).get("unexpected")
    if not isinstance(items, list):
        raise Unreadable('"unexpected" must be a list; an empty one where there is nothing')
    found: dict[str, dict[tuple[str, str], str]] = {modality: {} for modality in MODALITIES}
    for number, entry in enumerate(items, 1):
        item = _mapping(entry, f"item {number}")
        modality, what, place = (item.get(name) for name in ("modality", "item", "place"))
        if modality not in MODALITIES:
            raise Unreadable(f'item {number}: "modality" must be one of {", ".join(MODALITIES)}')
        if not isinstance(what, str) or not isinstance(place, str) or not what.strip() or not place.strip():
            raise Unreadable(f'item {number} needs an "item" and a "place" in words')
        found[modality].setdefault((normal(what), normal(place)), f"{what.strip()} ({place.strip()})")
    marks = [Mark(f"unexpected/{modality}", int(not found[modality])) for modality in MODALITIES]
    for modality in MODALITIES:
        told = enumerate(found[modality].values(), 1)
        marks += [Mark(f"unexpected/{modality}/{number}", 1, words) for number, words in told]
    return marks


def read_marks(ask: str, replies: Sequence[Reply], parse: Callable[[str], list[Mark]]) -> list[Mark] | str:
    """The marks in the one reply to an ask, or why there are none."""
    texts = [reply.text for reply in replies if reply.ask == ask]
    if len(texts) != 1:
        return f'{len(texts)} replies to "{ask}" where one is wanted'
    try:
        return parse(texts[0])
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
