"""The scripted writer of WorldGenBench's recipe: good and sloppy; it refuses what lacks inputs."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.build.scripted import Heard, Route

MARKS = {"region": "write scenes of a country", "discipline": "tasks for figures", "checklist": "write the checklist",
         "facts": "check the facts of a checklist"}  # fmt: skip
THEMES = ("a baker opens the shop", "fishermen mend their nets", "children fly kites", "a smith forges a gate")
THINGS = ("lamp", "coat", "bridge", "tower", "boat", "loaf", "bell", "drum", "fence", "oar", "well", "cart")
SAME = "On a spring morning of 1950 the post boat leaves the harbour while passengers wave from its deck."
"""A prompt that two regions get."""


def routes() -> list[Route]:
    """How each step of the recipe is answered, and what it must send."""
    there = ("Prompts that are there already:", "fewer than 250 words")
    return [
        Route(MARKS["region"], _scenes, (*there, "history")),
        Route(MARKS["discipline"], _tasks, (*there, "discipline:")),
        Route(MARKS["checklist"], _checklist, ("<prompt>", "It is about: ", "the 10 items")),
        Route(MARKS["facts"], _facts, ("<prompt>", "It is about: ", "10. ", "It was the custom.")),
    ]


def _asked(heard: Heard) -> tuple[int, str]:
    many = re.search(r"Write (\d+) prompts", heard.text)
    name = re.search(r"scene in (.+?) \(|discipline:\n(.+?)\. ", heard.text)
    assert many, heard.text[:300]
    assert name, heard.text[:300]
    return int(many[1]), name[1] or name[2]


def _there(heard: Heard) -> int:
    """How many prompts there are already."""
    told = heard.text.split("Prompts that are there already:")[1].split("Reply with")[0]
    return sum(line.startswith("- ") and line != "- (none)" for line in told.splitlines())


def _scenes(heard: Heard) -> Any:
    many, name = _asked(heard)
    first = _there(heard)
    good = [
        f"In 19{n}0 {THEMES[n % 4]} in a town of {name}, and the day is as usual." for n in range(first, first + many)
    ]
    if name in ("Belgium", "Netherlands") and not first:
        good[0] = SAME
    if name == "Japan" and not heard.turn:
        return {"prompts": good[:-1] or [good[0], good[0]]}
    if name == "Netherlands" and not heard.turn and many > 1:
        return {"prompts": [good[0], good[0].upper(), *good[2:]]}
    return f"Here they are.\n```json\n{json.dumps({'prompts': good})}\n```"


def _tasks(heard: Heard) -> Any:
    many, name = _asked(heard)
    first = _there(heard)
    words = ("pendulum", "lens", "membrane", "comet", "crystal", "glacier", "reactor", "root")
    return {"prompts": [f"Draw a labelled section of a {words[(first + n) % 8]} for {name}." for n in range(many)]}


def _checklist(heard: Heard) -> Any:
    good = [{"item": f"A {thing} of oak stands in the street", "explanation": f"Every {thing} was made of oak."}
            for thing in THINGS[:10]]  # fmt: skip
    good[4] = {"item": "The baker wears a cap, and the street is paved", "explanation": "It was the custom."}
    good[6] = {"item": "The word 'Market' is written.", "explanation": "The place has this name."}
    if "kites" in heard.text:
        good[5] = {"item": "Children fly kites in a town", "explanation": "The prompt says so."}
    if "Japan" in heard.text and not heard.turn:
        return {"checklist": good[:9]}
    if "Netherlands" in heard.text and not heard.turn:
        return {"checklist": [*good[:9], good[0]]}
    return {"checklist": good}


def _facts(heard: Heard) -> Any:
    if "Draw a labelled section of a pendulum" in heard.text:
        return {"possible": False, "true": [True] * 10, "why": "A pendulum has no section."}
    items = [line for line in heard.text.splitlines() if line[:1].isdigit()]
    return {"possible": True, "true": ["no" if "'Market'" in line else "yes" for line in items]}
