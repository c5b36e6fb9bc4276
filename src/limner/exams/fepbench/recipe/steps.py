"""The own steps and readers of FEPBench's recipe: atoms, structured prompts, and the split that both prompts give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ....build.base import BuildItem, BuildStep, Dropped, StepContext, Use
from ....core.asks import Contract, Text, Unreadable
from ....core.json_text import loads
from ....core.schema import StrictModel, first_error
from ....core.vocabulary import read_choice, read_object, read_text_field
from ..data import Atoms
from .atoms import (
    MODALITIES,
    doubts,
    moved_atoms,
    read_draft,
    rewordings,
    split_faults,
    sure_rewordings,
    why_no_evidence,
)
from .layout import LAYOUT

SECTIONS = ("Layout", "Objects", "Text", "Relations")
KINDS = ("added", "dropped", "changed")
REGIMES = ("free", "structured")


def read_atoms(reply: str, item: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the atoms in a reply, their evidence, and what reviewers should check."""
    prompt = item["free_prompt"]
    draft = read_draft(loads(reply), prompt, item["panel_type"])
    return {**draft, "warnings": doubts(draft, prompt, item["layout_lines"])}


def check_atoms(item: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Check a reviewed set of atoms: it fits the rubric, both prompts give the same split, and no atom is invented.

    An atom that the checker does not see in the figure waits for people; what they accept is right.
    """
    try:
        Atoms.model_validate({name: item[name] for name in Atoms.model_fields})
    except ValidationError as error:
        raise Unreadable(first_error(error)) from error
    unseen = [name for modality in MODALITIES for name in item.get(f"unseen_{modality}") or ()]
    if unseen and not item.get("reviewers"):
        raise Unreadable(f"nobody has confirmed what the checker does not see in the figure: {', '.join(unseen[:6])}")
    if faults := split_faults(item):
        raise Unreadable("; ".join(faults[:6]))
    return {"checked": True}


class StructuredSettings(StrictModel):
    """The settings of structured prompts.

    Attributes:
        tries: The number of rewrites after the checker finds a difference; then the figure is dropped.
    """

    tries: int = Field(default=2, ge=0, le=10)


async def structured(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write the structured form of a prompt, and a checker compare the two."""
    free = item.body["free_prompt"]

    def read(reply: str) -> str:
        sections = read_object(loads(reply), "prompt")
        if unknown := sorted(map(str, sections.keys() - set(SECTIONS))):
            raise Unreadable(f'"prompt" has {unknown[0]!r}; its parts are {", ".join(SECTIONS)}')
        answer = "\n".join(f"{name}: {read_text_field(sections, name)}" for name in SECTIONS if sections.get(name))
        if not answer:
            raise Unreadable(f'"prompt" must have {", ".join(SECTIONS)}')
        if wrong := sure_rewordings(free, answer):
            raise Unreadable("; ".join(map(str, wrong[:6])))
        return answer

    objections = ""
    for attempt in range(context.settings.tries + 1):
        words = context.prompts.fill("structured-prompt", prompt=free, objections=objections or "- (none)")
        written = await context.ask("annotator", item, [Text(words)], Contract(read), name=f"write{attempt}")
        seen = [*rewordings(free, written), *moved_atoms(item.body, free, written)]
        differences = await _differences(item, context, written, [str(reworded) for reworded in seen], attempt)
        if not differences:
            return item.having(structured_prompt=written, looked_at=[str(reworded) for reworded in seen])
        objections = "\n".join(f"- {reworded}" for reworded in differences)
    raise Dropped("structured prompt says something else", "; ".join(differences[:4]))


async def _differences(item: BuildItem, context: StepContext, written: str, seen: list[str], attempt: int) -> list[str]:
    """Return the differences that the checker confirms; it is shown those that rules have found."""

    def read(reply: str) -> list[str]:
        answer = loads(reply).get("differences")
        if not isinstance(answer, list) or not all(isinstance(each, dict) for each in answer):
            raise Unreadable('"differences" must be a list of objects; an empty one where there is none')
        return [f"{read_choice(each, 'kind', KINDS)}: {read_text_field(each, 'what')}" for each in answer]

    words = context.prompts.fill(
        "same-content", free=item.body["free_prompt"], structured=written,
        seen="\n".join(f"- {each}" for each in seen) or "- (nothing)",
    )  # fmt: skip
    return await context.ask("checker", item, [Text(words)], Contract(read), name=f"check{attempt}")


class RegimeSplitSettings(StrictModel):
    """The settings of the check.

    Attributes:
        most: The share of atoms that one prompt alone may ask for before the figure is dropped; fewer go to
            reviewers. Our choice.
    """

    most: float = Field(default=0.1, ge=0, le=1)


async def regime_split(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model find the atoms that each prompt asks for; drop the figure if they differ too much."""
    atoms = [atom for modality in MODALITIES for atom in item.body[modality]]
    spans = {regime: await _asked(item, context, regime, atoms) for regime in REGIMES}
    differing = sorted(spans["free"].keys() ^ spans["structured"].keys())
    if len(differing) > context.settings.most * len(atoms):
        raise Dropped("the prompts ask for different atoms", ", ".join(differing[:10]))
    drafted = {row["atom"]: row["free"] for row in item.body["evidence"]}
    disagreements = [
        f"{id}: only the {'free' if id in spans['free'] else 'structured'} prompt asks for it" for id in differing
    ]
    for atom in atoms:
        both = all(atom["id"] in regime_spans for regime_spans in spans.values())
        if atom["id"] not in differing and both != (atom["role"] == "instruction"):
            disagreements.append(
                f"{atom['id']}: {atom['role']}, but the checker says {'' if both else 'not '}asked for"
            )
    evidence = [
        {"atom": id, "free": span, "structured": spans["structured"].get(id, "")} for id, span in drafted.items()
    ]
    return item.having(evidence=evidence, split=disagreements)


async def _asked(item: BuildItem, context: StepContext, regime: str, atoms: list[dict[str, Any]]) -> dict[str, str]:
    """Return the atoms that a prompt asks for, each with the words that ask for it."""
    prompt = item.body[f"{regime}_prompt"]
    ids = {atom["id"] for atom in atoms}

    def read(reply: str) -> dict[str, str]:
        answer = read_object(loads(reply), "asked")
        if unknown := sorted(map(str, answer.keys() - ids)):
            raise Unreadable(f"there is no atom {unknown[0]!r}")
        wrong = [
            f"{id}: {why}" for id, span in answer.items()
            if (why := why_no_evidence(span, prompt) if isinstance(span, str) else "its words must be a text")
        ]  # fmt: skip
        if wrong:
            raise Unreadable("; ".join(wrong[:8]))
        return {id: " ".join(span.split()) for id, span in answer.items()}

    lines = (json.dumps({k: v for k, v in atom.items() if k != "role"}, ensure_ascii=False) for atom in atoms)
    words = context.prompts.fill("regime-split", prompt=prompt, atoms="\n".join(lines))
    return await context.ask("checker", item, [Text(words)], Contract(read), name=regime)


STEPS = {
    "layout": LAYOUT,
    "structured": BuildStep(
        "structured", "orders the expert's prompt, and checks that it says the same", StructuredSettings,
        ("annotator", "checker"), ("structured-prompt", "same-content"), ("free_prompt", "visual", "text", "relation"),
        each=structured, use=(Use("annotator", "structured-prompt", 400), Use("checker", "same-content", 150)),
    ),
    "regime-split": BuildStep(
        "regime-split", "do both prompts ask for the same atoms?", RegimeSplitSettings, ("checker",),
        ("regime-split",), ("free_prompt", "structured_prompt", "visual", "text", "relation", "evidence"),
        each=regime_split, use=(Use("checker", "regime-split", 1200, calls=2),),
    ),
}  # fmt: skip
"""The recipe's own steps, by name."""
