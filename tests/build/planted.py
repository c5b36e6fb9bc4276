"""Points that ask several things at once, and points that are too general, planted among real ones.

Tuning and testing use different questions and different wordings: `TUNED` is for setting the rules, `HELD_OUT` is not.
"""

from __future__ import annotations

import random
import re

from tests.build.rows import Row

Planted = tuple[str, str]
"""Kind and words of a point."""

TUNED = {
    "compound": ("{a}, and {b}?", "{a} and also {b}?", "{a}? {b}?", "{a}, while {b}?"),
    "general": (
        "Is the {thing} correct?", "Does the image show the correct {thing}?", "Is the overall structure accurate?",
        "Is the {thing} depicted accurately?", "Does the diagram properly illustrate the {thing}?",
    ),
}  # fmt: skip
HELD_OUT = {
    "compound": ("{a}; {b}?", "{a}, plus {b}?", "{a}, but also {b}?", "{a} and {b}?", "{a}, and in addition {b}?"),
    "general": (
        "Is everything about the {thing} right?", "Are all the required elements present and correct?",
        "Does the drawing represent the {thing} in a scientifically accurate way?", "Is the {thing} well drawn?",
        "Does the figure match the description in the prompt?", "Is the {thing} complete and consistent with theory?",
        "Would an expert consider the {thing} valid?",
    ),
}  # fmt: skip


def _thing(row: Row) -> str:
    last = row["taxonomy"].split("/")[-1].replace("_", " ").lower()
    return re.sub(r"[^a-z ]", "", last) or "structure"


def _bare(point: str) -> str:
    """A point that asks one thing, without its question mark."""
    return point.strip().rstrip("?").strip()


def planted(rows: list[Row], forms: dict[str, tuple[str, ...]], seed: int) -> list[Planted]:
    """One compound and one general point for every question."""
    chance, found = random.Random(seed), []
    for row in rows:
        points = [one["question"] for one in row["scoring_points"] if one["question"].endswith("?")]
        plain = [one for one in points if re.match(r"(?:is|are|does|do)\b", one, re.IGNORECASE)]
        if len(plain) >= 2:
            first, second = chance.sample(plain, 2)
            second = second[0].lower() + second[1:]
            form = chance.choice(forms["compound"])
            found.append(("compound", form.format(a=_bare(first), b=_bare(second))))
        found.append(("general", chance.choice(forms["general"]).format(thing=_thing(row))))
    return found
