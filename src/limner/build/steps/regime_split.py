"""A check that both prompts ask for the same atoms: a model quotes evidence from each, which is verified."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from ...core.asks import Contract, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..figures import MODALITIES, why_no_evidence
from ..replies import read_object

REGIMES = ("free", "structured")


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


STEP = BuildStep(
    "regime-split", "do both prompts ask for the same atoms?", RegimeSplitSettings, ("checker",), ("regime-split",),
    ("free_prompt", "structured_prompt", "visual", "text", "relation", "evidence"), each=regime_split,
    use=(Use("checker", 2000, 1200, calls=2),),
)  # fmt: skip
