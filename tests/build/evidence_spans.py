"""Evidence for the sample's atoms, right and wrong: the halves are those of `prompt_pairs`."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from limner.build.wording import stems
from limner.exams.fepbench.recipe.atoms import MODALITIES
from tests.build.prompt_pairs import SAMPLE, TUNING, rows


@dataclass(frozen=True)
class Claim:
    """An atom with words of the prompt that are said to be its evidence."""

    modality: str
    atom: Mapping[str, Any]
    span: str
    prompt: str


def _words(modality: str, atom: Mapping[str, Any]) -> set[str]:
    skipped = {"id", "role", "direction", "count", "location", "attached_to"}
    return stems(" ".join(str(value) for name, value in atom.items() if name not in skipped), frozenset())


def _clauses(prompt: str) -> list[str]:
    return [part.strip() for part in re.split(r"[.;:]\s", prompt) if len(part.split()) > 3]


def claims(half: str) -> dict[str, list[Claim]]:
    """By what they are: ``right``, ``altered`` by a word, from ``elsewhere`` in the prompt, of a ``reasoning`` atom."""
    chance = random.Random(11)
    found: dict[str, list[Claim]] = {"right": [], "altered": [], "elsewhere": [], "reasoning": []}
    for row in rows(SAMPLE):
        if (row["id"] in TUNING) != (half == "tuned on"):
            continue
        prompt, atoms = row["prompts"]["free"], row["atoms"]  # type: ignore[index]
        clauses = _clauses(prompt)
        for modality in MODALITIES:
            for atom in atoms[modality]:  # type: ignore[index]
                words = _words(modality, atom)
                order = sorted(clauses, key=lambda clause: len(words & stems(clause, frozenset())))
                if atom["role"] == "reasoning":
                    found["reasoning"].append(Claim(modality, atom, order[-1], prompt))
                    continue
                found["right"].append(Claim(modality, atom, order[-1], prompt))
                found["elsewhere"].append(Claim(modality, atom, order[0], prompt))
                found["altered"].append(Claim(modality, atom, _altered(order[-1], chance), prompt))
    return found


def _altered(span: str, chance: random.Random) -> str:
    """With one word left out, doubled or put in the place of another."""
    words = span.split()
    n = chance.randrange(1, len(words) - 1)
    way = chance.choice(
        (words[:n] + words[n + 1 :], [*words[:n], "also", *words[n:]], [*words[:n], "some", *words[n + 1 :]])
    )
    return " ".join(way)
