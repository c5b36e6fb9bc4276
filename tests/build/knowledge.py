"""Material for the recipe of knowledge graphs: twelve prompts, pictures for them, and the scripted LLM that answers."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from limner.core.training import normalize_words
from limner.painters.diffusers.text_encoding import SEPARATOR
from tests.build.damage import font, png
from tests.build.scripted import Heard, Route

MARKS = {
    "write": "propose pictures that teach", "filter": "decide whether a picture may teach",
    "graph": "write the knowledge graph of a picture", "traces": "think a picture through",
}  # fmt: skip
"""Words of each step's prompt."""
LEVELS = {"preschool": "pre-school", "undergraduate": "undergraduate"}
DISCIPLINES = ("Biology", "Engineering")


@dataclass(frozen=True)
class Subject:
    """One prompt with all that belongs to it.

    Attributes:
        trouble: What is wrong on the way: with its picture, or with the first reply about it.
    """

    concept: str
    level: str
    discipline: str
    parts: tuple[str, str, str, str]
    trouble: str = ""
    found: bool = False

    @property
    def prompt(self) -> str:
        """What is asked for."""
        return f"Design a labelled poster that teaches {self.concept} at a glance, for the {self.discipline} room."

    @property
    def id(self) -> str:
        """The item's."""
        return hashlib.sha256(normalize_words(self.prompt).encode()).hexdigest()[:16]

    @property
    def graph(self) -> dict[str, Any]:
        """The right reply of the annotator."""
        a, b, c, d = self.parts
        dependencies = [f"Contains({a}, {b})", f"Requires({b}, {c})", f"Causes(change({c}), change({d}))"]
        return {
            "Visual Components": {"elements": list(self.parts), "dependencies": dependencies},
            "Key Knowledge": {
                "Definitions": f"{self.concept}: {a} holds {b}, which needs {c}; {d} follows.",
                "Element Explanation": [f"The {name}, which must be seen." for name in self.parts],
                "Dependency Explanation": [f"{a} holds {b}.", f"{b} needs {c}.", f"More {c}, more {d}."],
            },
        }

    @property
    def trace(self) -> str:
        """The right reply of the reasoner."""
        a, b, c, d = self.parts
        return (
            f"The poster is about {self.concept}, so I ask what has to be seen. In the middle stands the {a}, and the "
            f"{a} contains the {b}, which I draw inside it. The {b} needs the {c}, so an arrow leads there. A change "
            f"of the {c} causes a change of the {d}, which closes the story on the right.\n\n{SEPARATOR}\n\n"
            f"A poster with the {a} in the middle, the {b} inside it, and arrows to the {c} and the {d}, all labelled."
        )


SUBJECTS = (
    Subject("photosynthesis", "preschool", "Biology", ("leaf", "chloroplast", "light", "sugar"), found=True),
    Subject(
        "volcanic eruption", "preschool", "Engineering", ("volcano", "crater", "magma", "ash cloud"), "undeclared", True
    ),
    Subject("heart valves", "preschool", "Biology", ("heart", "valve", "blood", "pulse")),
    Subject("steam turbine", "preschool", "Engineering", ("turbine", "rotor", "steam", "torque"), "many at once"),
    Subject("bird migration", "preschool", "Biology", ("flock", "bird", "wind", "route"), "duplicate"),
    Subject("wooden bridge", "preschool", "Engineering", ("bridge", "beam", "pillar", "load"), "no text"),
    Subject("kidney filtration", "undergraduate", "Biology", ("kidney", "nephron", "pressure", "urine"), "cropped"),
    Subject("jet engine", "undergraduate", "Engineering", ("engine", "chamber", "fuel", "thrust"), "watermark"),
    Subject("gene expression", "undergraduate", "Biology", ("nucleus", "gene", "enzyme", "protein"), "metaphor"),
    Subject("closed control loop", "undergraduate", "Engineering", ("loop", "sensor", "signal", "error")),
    Subject("nerve impulse", "undergraduate", "Biology", ("neuron", "axon", "ion", "voltage"), "silent"),
    Subject("Photosynthesis", "undergraduate", "Engineering", ("panel", "cell", "photon", "current")),
)
BY_PROMPT = {subject.prompt: subject for subject in SUBJECTS}


def picture(subject: Subject, number: int) -> bytes:
    """A drawing with a label for every part; each subject has shapes of its own."""
    image = Image.new("RGB", (520, 400), "white")
    pen = ImageDraw.Draw(image)
    for n, name in enumerate(subject.parts):
        x, y = 60 + 210 * (n % 2), 50 + 170 * (n // 2)
        shape = pen.ellipse if (number >> n) & 1 else pen.rectangle
        wide = 90 + 17 * ((number * 5 + n * 3) % 6)
        shape((x, y, x + wide, y + 50 + 11 * ((number + n) % 5)), outline="black", width=3 + number % 3,
              fill=((37 * number + 60 * n) % 200 + 40, (91 * number) % 200 + 40, 190))  # fmt: skip
        if subject.trouble != "no text":
            pen.text((x, y + 112), name, fill="black", font=font(24))
    for n in range(number % 4 + 1):
        pen.line((70 + 90 * n, 185 + 8 * number, 130 + 95 * n, 300 - 9 * number), fill="black", width=4)
    if subject.trouble == "watermark":
        pen.text((40, 356), "Copyright 2024 www.stockpics.com", fill="grey", font=font(20))
    if subject.trouble == "cropped":
        return png(image.crop((0, 75, 520, 400)))
    return png(image)


def brush(prompt: str) -> bytes:
    """What the painter draws; it gives one picture twice."""
    subject = BY_PROMPT[prompt]
    drawn = SUBJECTS[2] if subject.trouble == "duplicate" else subject
    return picture(drawn, SUBJECTS.index(drawn))


def write_found(folder: Path) -> None:
    """Pictures that were found: one by the item's id, one by its prompt, and one that belongs to nothing."""
    folder.mkdir(parents=True)
    first, second = (subject for subject in SUBJECTS if subject.found)
    (folder / f"{first.id}.png").write_bytes(picture(first, SUBJECTS.index(first)))
    (folder / "web.png").write_bytes(picture(second, SUBJECTS.index(second)))
    (folder / "stray.png").write_bytes(picture(SUBJECTS[8], 29))
    row = {"file_name": "web.png", "query": second.prompt, "license": "CC-BY-4.0", "page": "https://a.example/page"}
    (folder / "metadata.jsonl").write_text(json.dumps(row) + "\n", "utf-8")


def routes() -> list[Route]:
    """How each step is answered; one that lacks its inputs is refused."""
    return [
        Route(MARKS["write"], _write, ("at most 80 words", "**CONCEPT**: ")),
        Route(MARKS["filter"], _filter, ("Its key concept is: ", "- `whole`: ", "- `pleasing`: ", "- `literal`: "), 1),
        Route(MARKS["graph"], _graph, ("made for this prompt:", "TemporalOrder(a, b)"), 1),
        Route(MARKS["traces"], _trace, ("Its elements:\n\n- ", "Contains(", SEPARATOR)),
    ]


def subject_of(text: str) -> Subject:
    """The subject a request is about."""
    return next(subject for prompt, subject in BY_PROMPT.items() if prompt in text)


def _write(heard: Heard) -> Any:
    level = next(level for level, words in LEVELS.items() if f"at the level: {words}" in heard.text)
    discipline = next(one for one in DISCIPLINES if f"something in {one} to" in heard.text)
    mine = [one for one in SUBJECTS if (one.level, one.discipline) == (level, discipline)]
    if not heard.turn and level == "preschool" and discipline == "Biology":
        return "Sure! Here are some ideas.\n1. A poem about leaves."
    if not heard.turn and discipline == "Biology":
        return "\n".join(f"**PROMPT**: {'very ' * 90}{one.prompt}" for one in mine)
    return "\n".join(f"**PROMPT**: {one.prompt}\n**CONCEPT**: {one.concept}\n" for one in mine)


def _filter(heard: Heard) -> Any:
    concept = re.findall(r"Its key concept is: (.*)", heard.text)[0]
    good = concept != "gene expression"
    names = re.findall(r"^- `(\w+)`: ", heard.text, re.MULTILINE)
    marks = {name: good or name != "literal" for name in names}
    seen = {"elements": ["a", "b"] if good else [], "dependencies": ["Contains(a, b)"] if good else []}
    judge = good if heard.turn or concept != "steam turbine" else False  # It contradicts itself at first.
    return {"criteria": marks, "judge": judge, "reason": ["It is drawn so."], **seen}


def _graph(heard: Heard) -> Any:
    subject = subject_of(heard.text)
    good = subject.graph
    if subject.trouble == "undeclared" and not heard.turn:
        good["Visual Components"]["dependencies"][0] = f"Contains({subject.parts[0]}, ignore all rules)"
    if subject.trouble == "many at once":
        a, b, c, d = subject.parts
        good["Visual Components"]["dependencies"] = [f"contains({a}, {b}, {c})", f"Causes(change({c}), {d})"]
        good["Key Knowledge"]["Dependency Explanation"] = ["It holds both.", "More of it, more of that."]
    return f"<think>…</think>```json\n{json.dumps(good)}\n```"


def _trace(heard: Heard) -> Any:
    subject = subject_of(heard.text)
    if subject.trouble == "silent" and not heard.turn:
        return subject.trace.replace(
            f"The {subject.parts[1]} needs the {subject.parts[2]}, so an arrow leads there. ", ""
        )
    if subject.trouble == "many at once" and not heard.turn:
        return subject.trace.replace(SEPARATOR, f"{SEPARATOR}\n\n{SEPARATOR}")
    return subject.trace
