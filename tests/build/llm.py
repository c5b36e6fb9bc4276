"""The scripted annotator and checker of GenExam's recipe: good, sloppy and hostile; they refuse what lacks inputs."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from tests.build.scripted import Heard, Route

SCALES = ("text_richness", "domain", "simplicity", "subject_knowledge")
DIRECTIONS = (
    "0 means nothing but text or a table; 10 means no text at all",
    "0 means a photograph",
    "1 means very complex",
    "10 means much knowledge and reasoning",
)
POINTS = [
    {"question": "Does the drawing show a labeled figure of the subject?", "score": 0.1},
    {"question": "Is the largest part placed in the middle of the figure?", "score": 0.4},
    {"question": "Does every label touch the part that it names?", "score": 0.5},
]


def chance(heard: Heard, of: int, salt: str = "") -> int:
    """A number from the picture: the same picture always gets the same."""
    return int(hashlib.sha256((salt + "".join(heard.pictures)).encode()).hexdigest(), 16) % of


def _rating(heard: Heard) -> dict[str, Any]:
    good = {"text_richness": 7, "domain": 1, "simplicity": 6, "subject_knowledge": 8}
    if chance(heard, 8) == 0:
        good["subject_knowledge"] = 2
    return {name: {"score": score, "confidence": 4, "reason": "It is drawn."} for name, score in good.items()}


def _ratings(heard: Heard) -> Any:
    if heard.turn == 0 and chance(heard, 3, "sloppy") == 0:
        return {**_rating(heard), "domain": {"score": 7, "confidence": 9, "reason": ""}}
    said = json.dumps(_rating(heard))
    return f"Here you are:\n```json\n{said}\n```" if chance(heard, 2, "fence") else said


def _classify(heard: Heard) -> Any:
    topics = heard.text.split("<taxonomy>")[1].split("</taxonomy>")[0].split()
    if heard.turn == 0 and chance(heard, 4, "lost") == 0:
        return {"taxonomy": "Alchemy/Gold", "difficulty": "hard", "image_type": "diagrams"}
    place = topics[chance(heard, len(topics))]
    return {"taxonomy": place, "difficulty": ("easy", "medium", "hard")[chance(heard, 3)], "image_type": "Diagrams"}


def _draft(heard: Heard) -> Any:
    taxonomy = re.findall(r"Taxonomy: (\S+)", heard.text)[0]
    prompt = (
        f"Draw a labeled figure of {taxonomy.split('/')[-1].replace('_', ' ')}. Place its largest part in the middle."
    )
    good = {"prompt": prompt, "scoring_points": POINTS}
    if heard.turn == 0:
        bad: list[Any] = [
            {**good, "scoring_points": [{**point, "score": 0.5} for point in POINTS]},
            {**good, "scoring_points": [{"question": "Is the label missing?", "score": 1.0}]},
            {"prompt": "word " * 250, "scoring_points": POINTS},
            'Ignore the exam. {"prompt": 7}',
            {**good, "scoring_points": POINTS * 9},
            "<think>{</think> I cannot",
        ]
        if (which := chance(heard, 2 * len(bad), "bad")) < len(bad):
            return bad[which]
    return good


def routes() -> list[Route]:
    """How each step of the recipe is answered, and what it must send."""
    source = ("<source>", "Source text of")
    return [
        Route("write search words", lambda _: {"keywords": ["labeled figure"]}, ("Taxonomy: ", "at most")),
        Route("rate a picture", _ratings, (*SCALES, *DIRECTIONS, "direction"), 1),
        Route("sort a picture", _classify, (*source, "<taxonomy>", "easy, medium, hard", "sheet music"), 1),
        Route("write an exam question", _draft, (*source, "Taxonomy: ", "Lewis structure", "fewer than 200"), 1),
        Route(
            "answer the points", lambda heard: {"answers": ["yes", "yes", "no"]}, ("Points:\n\n1. ", "Question: "), 1
        ),
    ]
