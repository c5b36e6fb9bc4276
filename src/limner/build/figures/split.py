"""Whether a set of atoms is split alike by both prompts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .drafts import MODALITIES
from .spans import labels, missing, plain


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
