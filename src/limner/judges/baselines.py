"""Baselines: a chat model asked for one number, or for the better of two, without the exam's rubric.

The papers compare their protocols with these. None of them sees a rubric or a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..core.asks import Contract, Part, Picture, Prompts, Text, Unreadable, object_schema
from ..core.errors import UsageError
from ..core.json_text import loads
from ..models import ChatModel, ReplayModel
from ..models.base import BYTES_PER_TOKEN, PICTURE_TOKENS

SHIPPED = Path(str(files(__package__))) / "prompts"
WISCORE = {"consistency": 0.7, "realism": 0.2, "aesthetic_quality": 0.1}
"""The weights of WIScore, which WISE defines as half the weighted sum of ratings from 0 to 2."""
BEST = 10.0
"""The highest direct score."""
CHOICES = ("first", "second", "tie")
NUMBER, WORDS = {"type": "number"}, {"type": "string"}


@dataclass(frozen=True)
class Baseline:
    """One way of asking a model without a rubric.

    Attributes:
        name: Its name on the command line.
        metric: The name of its numbers and of its template.
        pictures: The number of drawings shown at a time.
        parse: Reads the numbers by scale, or the choice, from a reply.
        reply_tokens: The approximate length of a reply, for estimates.
    """

    name: str
    metric: str
    about: str
    pictures: int
    parse: Callable[[str], Any]
    schema: Mapping[str, Any]
    reply_tokens: int = 300

    def shown(self, prompts: Prompts, prompt: str, *images: str) -> tuple[Part, ...]:
        """Return the message to send: the text, then the drawings in order."""
        return (Text(prompts.fill(self.metric, prompt=prompt).strip()), *(Picture(image) for image in images))

    @property
    def contract(self) -> Contract[Any]:
        """The required form of the reply."""
        return Contract(self.parse, self.schema)

    def setup(self, model: ChatModel | ReplayModel, prompts: Prompts) -> dict[str, Any]:
        """Return everything that shapes its answers, as stored."""
        asked = {"judge": f"metric/{self.metric}:{model.name}", "templates": prompts.hash(self.metric)}
        return {**asked, **model.settings}

    def price(self, model: ChatModel | ReplayModel, prompts: Prompts) -> float | None:
        """Return the approximate cost of one request in dollars; None if unknown."""
        if isinstance(model, ReplayModel):
            return 0.0
        sent = len(prompts.text(self.metric).encode()) // BYTES_PER_TOKEN + self.pictures * PICTURE_TOKENS
        return model.price(sent, self.reply_tokens)


def read_score(reply: str, metric: str = "vlm-score") -> dict[str, float]:
    """Return the direct score in a reply, under the metric's name.

    Raises:
        Unreadable: It is not what was asked for.
    """
    return {metric: _number(loads(reply), "rating", BEST)}


def read_wiscore(reply: str) -> dict[str, float]:
    """Return WIScore and its three ratings.

    Raises:
        Unreadable: It is not what was asked for.

    >>> read_wiscore('{"consistency": 1, "realism": 2, "aesthetic_quality": 1}')["wiscore"]
    0.6
    """
    body = loads(reply)
    ratings = {name: _number(body, name, 2, whole=True) for name in WISCORE}
    return {"wiscore": wiscore(ratings), **ratings}


def wiscore(ratings: Mapping[str, float]) -> float:
    """Return half the weighted sum of three ratings from 0 to 2: a number from 0 to 1."""
    return round(sum(weight * ratings[name] for name, weight in WISCORE.items()) / 2, 12)


def read_choice(reply: str) -> str:
    """Return the chosen one of two drawings: ``first``, ``second`` or ``tie``.

    Raises:
        Unreadable: It is not what was asked for.
    """
    choice = loads(reply).get("choice")
    if choice not in CHOICES:
        raise Unreadable('"choice" must be "first", "second" or "tie"')
    return str(choice)


def _number(body: Mapping[str, Any], name: str, most: float, whole: bool = False) -> float:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise Unreadable(f'"{name}" must be a number from 0 to {most:g}')
    if whole and value != int(value):
        raise Unreadable(f'"{name}" must be a whole number')
    return float(value)


BASELINES = {
    baseline.name: baseline
    for baseline in (
        Baseline(
            "score", "vlm-score", "one number from 0 to 10 for each drawing", 1, read_score,
            object_schema({"reason": WORDS, "rating": NUMBER}),
        ),
        Baseline(
            "looks", "vlm-looks", "one number from 0 to 10 for the looks of each drawing, whatever its content", 1,
            partial(read_score, metric="vlm-looks"), object_schema({"reason": WORDS, "rating": NUMBER}),
        ),
        Baseline(
            "arena", "vlm-arena", "the better of two drawings of a question, asked in both orders", 2, read_choice,
            object_schema({"reason": WORDS, "choice": {"type": "string", "enum": list(CHOICES)}}),
        ),
        Baseline(
            "wiscore", "wiscore", "WISE's score: consistency, realism and aesthetic quality, each 0 to 2", 1,
            read_wiscore, object_schema({"reason": WORDS, **dict.fromkeys(WISCORE, NUMBER)}),
        ),
    )
}  # fmt: skip


def find_baseline(word: str) -> Baseline:
    """Return the baseline of this name.

    Raises:
        UsageError: No baseline has this name.
    """
    if word not in BASELINES:
        raise UsageError(f"--as {word}: choose one of {', '.join(BASELINES)}")
    return BASELINES[word]
