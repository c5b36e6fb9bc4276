"""Checklists of the sample and those that the paper prints, labelled by hand, and items planted among them.

Tuning and testing use different prompts and different wordings: `TUNED` is for setting the rules, `HELD_OUT` is not.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from limner import exams
from tests.needs import shared

COMPOUND = {"japan_blossom": (3,), "egypt_nile": (2, 7), "mexico_altar": (8,), "astronomy_eclipse": (5,),
            "biology_bean": (10,), "printed/3": (7,), "printed/4": (6,), "printed/5": (1,)}  # fmt: skip
"""Items that state several facts, by prompt; labelled before the rules were tried on them."""
STATED = {"japan_blossom": (1,), "mexico_altar": (2,), "astronomy_eclipse": (1, 7, 10), "biology_bean": (1,),
          "chemistry_water": (3, 8)}  # fmt: skip
"""Items that their prompt already states."""
TUNING = ("japan_blossom", "egypt_nile", "astronomy_eclipse", "chemistry_water", "printed/1", "printed/2")
"""The prompts that rules were set on."""
TUNED = {
    "compound": ("{a}, and {b}", "{a} and {b}", "{a}. {B}"),
    "stated": ("{c}", "The picture shows that {c}"),
}
HELD_OUT = {
    "compound": ("{a}; {b}", "{a}, while {b}", "{a}, but {b}", "{a} and also {b}", "{a}; moreover, {b}"),
    "stated": ("It should be visible that {c}", "{c}, as described", "One sees how {c}"),
}


@dataclass(frozen=True)
class Checklist:
    """A prompt and its items."""

    id: str
    prompt: str
    entries: tuple[Mapping[str, str], ...]


def sampled() -> list[Checklist]:
    """Those of Limner's sample that were labelled by hand."""
    exam = exams.read(exams.resolve("sample/worldgenbench"))
    return [
        Checklist(one.id, one.prompt, tuple(entry.model_dump() for entry in one.rubric.checklist))
        for one in exam.questions
        if one.id in {*COMPOUND, *STATED, "netherlands_polder", "physics_prism"}
    ]


def printed() -> list[Checklist]:
    """Those that the paper prints: Figure 4, sections 8.1 and 8.2, Figure 7."""
    text = Path(shared("papers", "worldgenbench.txt")).read_text("utf-8")
    prompts = [" ".join(one.split()) for one in re.findall(r"Prompt: (.*?)(?:</p>|\n\n)", text, re.DOTALL)]
    tables = re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)
    lists = [_entries(table) for table in tables]
    for head, end in (("8.1. Checklist", "8.2. Checklist"), ("8.2. Checklist", "Prompt: In the late summer")):
        part = text[text.index(head) : text.index(end)]
        pairs = re.findall(r"Item: (.*?)\n\nExplanation: (.*?)(?=\n\nItem:|\Z)", part, re.DOTALL)
        lists.append([{"item": " ".join(a.split()), "explanation": " ".join(b.split())} for a, b in pairs])
    lists.append(_entries(text[text.index("Part of the checklist") :]))
    return [
        Checklist(f"printed/{n}", prompt, tuple(entries))
        for n, (prompt, entries) in enumerate(zip(prompts, lists, strict=True), 1)
    ]


def _entries(text: str) -> list[dict[str, str]]:
    return [json.loads(one) for one in re.findall(r"\{[^{}]*\}", text)]


def halves() -> dict[str, list[Checklist]]:
    """All checklists, in those that rules were set on and the others."""
    every = [*sampled(), *printed()]
    return {
        "tuned on": [one for one in every if one.id in TUNING],
        "held out": [one for one in every if one.id not in TUNING],
    }


def _bare(item: str) -> str:
    return item.strip().rstrip(".")


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def planted_compounds(lists: list[Checklist], forms: Mapping[str, tuple[str, ...]], seed: int) -> list[str]:
    """Pairs of a checklist's own items that state one fact each, joined into one."""
    chance, found = random.Random(seed), []
    for one in lists:
        plain = [entry["item"] for n, entry in enumerate(one.entries, 1) if n not in COMPOUND.get(one.id, ())]
        for _ in range(8):
            a, b = (_bare(item) for item in chance.sample(plain, 2))
            found.append(chance.choice(forms["compound"]).format(a=a, b=_lower(b), B=b))
    return found


def planted_stated(lists: list[Checklist], forms: Mapping[str, tuple[str, ...]], seed: int) -> list[tuple[str, str]]:
    """Clauses of the prompt itself as items; each with its prompt."""
    chance, found = random.Random(seed), []
    for one in lists:
        clauses = [part.strip() for part in re.split(r"[.;:!?]\s|,\s(?=and |but |which )", one.prompt)]
        for clause in clauses:
            if len(clause.split()) >= 5:
                found.append((chance.choice(forms["stated"]).format(c=_lower(_bare(clause))), one.prompt))
    return found
