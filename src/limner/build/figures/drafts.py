"""A draft of a figure's atoms: read strictly, with every instruction atom's evidence held against the prompt. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.asks import Unreadable
from ..replies import a_text, a_whole, a_word, an_object
from ..wording import stems
from .layout_lines import unread
from .rewording import numbers
from .spans import doubtful, labels, missing, plain

MODALITIES = ("visual", "text", "relation")
ROLES = ("instruction", "reasoning")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "visual": ("name", "location"),
    "text": ("text", "attached_to"),
    "relation": ("source", "target", "type"),
}
DIRECTIONS = ("forward", "both", "none")
LAYOUT = ("panel_structure", "global_layout")

AtomLists = dict[str, list[dict[str, Any]]]
"""Modality -> atoms with ``id`` and ``role``."""


def read_draft(found: Mapping[str, Any], prompt: str, panel_type: str) -> dict[str, Any]:
    """The atoms, the layout and the evidence in a reply; ``empty`` says which categories the figure has nothing for.

    An atom with evidence is an instruction atom, one without is a reasoning atom.

    Raises:
        Unreadable: Something is missing or twice, evidence does not stand in the prompt, an atom that the prompt asks
            for has none, or the number of panels is not the label's.
    """
    atoms: AtomLists = {modality: [] for modality in MODALITIES}
    evidence: list[dict[str, str]] = []
    wrong: list[str] = []
    asked = labels(prompt)
    for modality in MODALITIES:
        entries = found.get(modality)
        if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
            raise Unreadable(f'"{modality}" must be a list of objects')
        seen: set[tuple[str, ...]] = set()
        for n, entry in enumerate(entries, 1):
            id = f"{modality[0]}{n}"
            atom = _atom(modality, id, entry)
            key = tuple(plain(str(value)) for name, value in atom.items() if name != "id")
            if key in seen:
                wrong.append(f"{id} stands there twice")
            seen.add(key)
            span = entry.get("evidence")
            if span is not None and not isinstance(span, str):
                raise Unreadable(f'"evidence" of {modality} atom {n} must be words of the prompt, or null')
            if span and (why := missing(span, prompt)):
                wrong.append(f"evidence of {modality} atom {n}: {why}")
            if not span and modality == "text" and plain(atom["text"]) in asked:
                wrong.append(f"text atom {n}: the prompt asks for {atom['text']!r}, so it needs evidence")
            atoms[modality].append({"id": id, "role": ROLES[not span], **atom})
            if span:
                evidence.append({"atom": id, "free": " ".join(span.split()), "structured": ""})
    if wrong:
        raise Unreadable("; ".join(wrong[:8]))
    layout = an_object(found, "layout")
    told = {name: a_text(layout, name) for name in LAYOUT}
    count = a_whole(layout, "panel_count", 1, 100)
    if (count == 1) != (panel_type == "single"):
        raise Unreadable(f'"panel_count" is {count}, but the figure was found to have {panel_type} panel(s)')
    layout = {"panel_structure": told["panel_structure"], "panel_count": count, "global_layout": told["global_layout"]}
    return {**atoms, "layout": layout, "evidence": evidence, "empty": _empty(found, atoms)}


def _atom(modality: str, id: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    try:
        atom: dict[str, Any] = {name: a_text(entry, name) for name in FIELDS[modality]}
        if modality == "visual":
            count = entry.get("count")
            atom["count"] = (
                a_whole(entry, "count", 1, 10_000) if isinstance(count, int | float) else a_text(entry, "count")
            )
        if modality == "relation":
            atom["direction"] = a_word(entry, "direction", DIRECTIONS)
    except Unreadable as error:
        raise Unreadable(f"{modality} atom {id[1:]}: {error}") from error
    return atom


def _empty(found: Mapping[str, Any], atoms: AtomLists) -> list[str]:
    """The categories that have no atom; each must be told with its reason."""
    told = found.get("empty") or {}
    if not isinstance(told, Mapping):
        raise Unreadable('"empty" must be an object')
    none = [
        f"{modality} {role}"
        for modality in MODALITIES
        for role in ROLES
        if not any(atom["role"] == role for atom in atoms[modality])
    ]
    if silent := [name for name in none if not (isinstance(told.get(name), str) and told[name].strip())]:
        raise Unreadable(f'there is no {silent[0]} atom; add one, or say in "empty" why the figure has none')
    return [f"{name}: {told[name]}" for name in none]


def doubts(draft: Mapping[str, Any], prompt: str, lines: Sequence[dict[str, Any]]) -> list[str]:
    """What reviewers should look at: evidence that may be about something else, text that OCR has not read."""
    spans = {row["atom"]: row["free"] for row in draft["evidence"]}
    found = []
    for modality in MODALITIES:
        for atom in draft[modality]:
            span = spans.get(atom["id"])
            if span and (why := doubtful(modality, atom, span, prompt)):
                found.append(f"{atom['id']}: is {span[:60]!r} its evidence? {why}")
            if modality == "text" and unread(atom["text"], lines):
                found.append(f"{atom['id']}: OCR has not read {atom['text']!r}")
    panels = draft["layout"]["panel_count"]
    if panels > 1 and str(panels) not in numbers(prompt):
        found.append(f"layout: the prompt does not say that there are {panels} panels")
    named = stems(" ".join(str(atom.get("name") or atom.get("text")) for m in ("visual", "text") for atom in draft[m]))
    for atom in draft["relation"]:
        for end in ("source", "target"):
            if stems(atom[end]) and not stems(atom[end]) & named:
                found.append(f"{atom['id']}: its {end} {atom[end]!r} is no visual or text atom")
    said = plain(" ".join(atom["text"] for atom in draft["text"]))
    for line in lines:
        if len(line["text"].strip()) > 2 and plain(line["text"]) not in said:
            found.append(f"no text atom has the line {line['text']!r}")
    return found


def split_faults(body: Mapping[str, Any]) -> list[str]:
    """What is wrong with the split of a figure's atoms; an empty list where both prompts give it.

    Every instruction atom has evidence that stands in each prompt; no reasoning atom has any, and no prompt has its
    words in quotation marks; the number of panels is that of the panel type.
    """
    prompts = {regime: body[f"{regime}_prompt"] for regime in ("free", "structured")}
    evidence = {row["atom"]: row for row in body["evidence"]}
    atoms = [(modality, atom) for modality in MODALITIES for atom in body[modality]]
    found = [f"evidence for {id}, which is no atom" for id in evidence.keys() - {atom["id"] for _, atom in atoms}]
    for modality, atom in atoms:
        id, told = atom["id"], evidence.get(atom["id"], {})
        for regime, prompt in prompts.items():
            span = str(told.get(regime) or "")
            if atom["role"] == "instruction":
                why = missing(span, prompt) if span else f"no evidence in the {regime} prompt"
                found += [f"{id}: {why}"] if why else []
            elif span:
                found.append(f"{id}: a reasoning atom has no evidence")
            elif modality == "text" and plain(atom["text"]) in labels(prompt):
                found.append(f"{id}: the {regime} prompt asks for {atom['text']!r}")
    count = body["layout"]["panel_count"]
    if (count == 1) != (body["panel_type"] == "single"):
        found.append(f"panel_type is {body['panel_type']}, but panel_count is {count}")
    return found
