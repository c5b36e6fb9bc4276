"""Prompts in both regimes, and changes planted into the structured ones.

Rules were set on `TUNING` alone. The pairs of ``prompt_pairs.jsonl`` are held out with the other half of the sample.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TUNING = ("Sample_Physics_1", "Sample_Physics_3", "Sample_Geography_2", "Sample_Biology_1")
SAMPLE = Path(__file__).parents[2] / "src/limner/exams/fepbench/sample/samples.jsonl"


@dataclass(frozen=True)
class PromptPair:
    """One figure's two prompts."""

    id: str
    free: str
    structured: str


def rows(file: Path) -> list[dict[str, object]]:
    """The objects of a file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def pairs() -> dict[str, list[PromptPair]]:
    """All pairs, in those that rules were set on and the others."""
    sample = [PromptPair(row["id"], **row["prompts"]) for row in rows(SAMPLE)]  # type: ignore[arg-type]
    own = [PromptPair(**row) for row in rows(Path(__file__).with_suffix(".jsonl"))]  # type: ignore[arg-type]
    return {
        "tuned on": [one for one in sample if one.id in TUNING],
        "held out": [one for one in sample if one.id not in TUNING] + own,
    }


def _clauses(text: str) -> list[str]:
    """The things that a structured prompt lists."""
    return [part for part in re.split(r"(?<=[;.])\s", text) if len(re.findall(r"\w+", part)) >= 5]


def drop(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """Without one of its objects or relations, as far as the rest does not tell it again."""
    parts = [part for part in _clauses(one.structured) if "Layout" not in part and "Text" not in part]
    return one.structured.replace(chance.choice(parts), "")


def drop_label(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """Without one label, wherever it stands."""
    return one.structured.replace(chance.choice(re.findall(r"'[^']+'", one.structured)), "")


def add(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """With something out of another figure's prompt."""
    other = chance.choice([pair for pair in others if pair.id != one.id])
    return f"{one.structured} {chance.choice(_clauses(other.structured)[1:])}"


def count(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """With another number, wherever it stands."""
    words = ("two", "three", "four", "five", "six")
    there = [word for word in words if re.search(rf"\b{word}\b", one.structured)]
    if not there:
        return None
    word = chance.choice(there)
    return re.sub(rf"\b{word}\b", chance.choice([other for other in words if other not in there]), one.structured)


def rename(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """With another word in one label."""
    label = chance.choice([word for word in re.findall(r"'[^']+'", one.structured) if len(word) > 5])
    return one.structured.replace(label, label[:-1] + "s'")


def turn(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """With left and right, or top and bottom, swapped throughout."""
    for a, b in (("left", "right"), ("top", "bottom"), ("upper", "lower"), ("above", "below")):
        if len(re.findall(rf"\b{a}\b", one.structured)) + len(re.findall(rf"\b{b}\b", one.structured)) == 1:
            there = a if re.search(rf"\b{a}\b", one.structured) else b
            return re.sub(rf"\b{there}\b", b if there == a else a, one.structured)
    return None


def reverse(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """With one relation the other way round."""
    found = list(re.finditer(r"from (the \w+|\w+) (to|into) (the \w+|\w+)\b", one.structured))
    if not found:
        return None
    match = chance.choice(found)
    return one.structured[: match.start()] + f"from {match[3]} {match[2]} {match[1]}" + one.structured[match.end() :]


def colour(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """With another colour."""
    there = re.findall(r"\b(?:red|blue|green|yellow|brown|grey|violet|dark)\b", one.structured)
    return re.sub(rf"\b{chance.choice(there)}\b", "orange", one.structured) if there else None


def synonym(one: PromptPair, chance: random.Random, others: list[PromptPair]) -> str | None:
    """With one thing turned into another of nearly the same kind, wherever it stands."""
    kinds = {"arrow": "line", "arrows": "lines", "round": "square", "lamp": "motor", "wire": "rope", "cloud": "column",
             "particles": "bubbles", "stones": "shells", "vessel": "bottle", "chromosomes": "ribosomes"}  # fmt: skip
    there = [word for word in kinds if re.search(rf"\b{word}\b", one.structured)]
    return re.sub(rf"\b{(word := chance.choice(there))}\b", kinds[word], one.structured) if there else None


Change = Callable[[PromptPair, random.Random, list[PromptPair]], str | None]
CHANGES: tuple[Change, ...] = (add, drop, count, drop_label, rename, turn, reverse, colour, synonym)
