"""A fake chat service that judges every shipped exam: `python -m tools.recordings.judge --port 0`.

Its replies depend on the question, the picture, the name of the model and how often it was asked, never on ids or
on other fields of a request. Models agree on most answers; some pictures are refused, about others it only talks.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

from aiohttp import web
from PIL import Image
from tests.fakes.checks import Ask
from tests.fakes.client import Server
from tests.fakes.examiner import Coins, ExaminerChat, verdict_on
from tests.fakes.replies import reply
from tests.fakes.service import Reply, main
from tests.fakes.studio import _check_pictures, after, answer, pictures
from tests.fakes.tally import Turn
from tests.fakes.truth import RATINGS, count_points, draw

from tools.recordings.painter import SIDE
from tools.recordings.samples import checklist

SKILLS = {SIDE: 0.85, 16: 0.6}
"""Shorter side of a picture -> how many criteria it meets; of other pictures the hash says it."""
FLAWLESS = 0.2
"""How many pictures meet every criterion."""
ERRORS = {"ada": 0.05, "bob": 0.2}
"""Model -> how often it errs."""
SECOND_ERROR = 0.08
"""How often a model changes its mind when it is asked again."""
FAULTS = {"refusal": 0.03, "prose": 0.05}


class Judgement(Coins):
    """The marks that one model gives one picture."""

    def __init__(self, ask: Ask, attempt: int) -> None:
        super().__init__(ask.text, ask.image)
        self._shown = (ask.text, hashlib.sha256(ask.image).hexdigest())
        self._model, self._attempt, self._skill = ask.model, attempt, _skill(ask.image)

    def flag(self) -> int:
        """Answer whether the next criterion is met."""
        self._n += 1
        right = draw("met", *self._shown, self._n) < self._skill
        wrong = draw("error", self._model, *self._shown, self._n) < ERRORS.get(self._model, 0) * (self._skill < 1)
        again = self._attempt > 0 and draw("again", self._model, *self._shown, self._n, self._attempt) < SECOND_ERROR
        return int(right ^ wrong ^ again)


class RecordingsChat(ExaminerChat):
    """The service."""

    async def completions(self, request: web.Request) -> web.StreamResponse:
        return await self.attend(request, _check_pictures, _answer, _fault)


class RecordingsServer(Server):
    """The service as a process, seen by whoever starts it."""

    module = "tools.recordings.judge"


def _fault(ask: Ask, _plan: Any, _turn: Turn) -> str | None:
    # One draw for all questions about a picture: where there are many, nearly every picture would have a fault.
    rest = draw("fault", ask.model, hashlib.sha256(ask.image).hexdigest())
    for kind, chance in FAULTS.items():
        if ask.model in ERRORS and rest < chance:
            return kind
        rest -= chance
    return None


def _answer(ask: Ask, plan: Any, fault: str | None, turn: Turn) -> Reply:
    if fault:
        return reply(ask, plan, fault, turn)
    coins = Judgement(ask, turn.attempt)
    text = _subject_marks(ask.text, coins) or _option(ask.text, coins) or _graph(ask.text, coins)
    text = text or verdict_on(ask.text, ask.image, coins) or answer(ask.text, pictures(ask), turn, plan)
    if text is None:
        raise ValueError(f"nobody has told the fake judge how to answer this: {ask.text[:200]}")
    return reply(ask, replace(plan, reply=text), None, turn)


def _skill(image: bytes) -> float:
    if not image:
        return 0.5
    sha256 = hashlib.sha256(image).hexdigest()
    if draw("flawless", sha256) < FLAWLESS:
        return 1.0
    return SKILLS.get(min(Image.open(io.BytesIO(image)).size)) or 0.3 + 0.6 * draw("skill", sha256)


def _subject_marks(text: str, coins: Judgement) -> str | None:
    """Answer GenExam's scoring points and ratings."""
    if not (points := count_points(text)):
        return None
    answers = [{"reasoning": "seen", "answer": coins.flag()} for _ in range(points)]
    ratings = {name: {"reasoning": "seen", "score": coins.flag() + coins.flag()} for name in RATINGS}
    return json.dumps({"description": "a drawing", "answers": answers, "global_evaluation": ratings})


def _option(text: str, coins: Judgement) -> str | None:
    """Answer one of AIBench's questions by the sample's key: with the right letter or with the next one."""
    if "Answer with the letter of one option" not in text:
        return None
    right, letters = next(key for question, key in _answer_key().items() if question in text)
    return right if coins.flag() else letters[(letters.index(right) + 1) % len(letters)]


@cache
def _answer_key() -> dict[str, tuple[str, str]]:
    """Read question -> right letter and all letters from the bundled sample."""
    return {one["question"]: (one["correct_option"], _letters(one["options"])) for one in checklist()}


def _letters(options: Any) -> str:
    # Some samples have their options in a list of one, as the release has.
    return "".join(options if isinstance(options, dict) else options[0])


def _graph(text: str, coins: Judgement) -> str | None:
    """Answer MMMG's items as JSON where that is asked for."""
    if '"entities"' not in text or "## Entities" not in text:
        return None
    body: dict[str, Any] = {"description": "a diagram"}
    for part in ("Entities", "Dependencies"):
        count = len(re.findall(r"^\s*\d+\. ", after(text, f"## {part}"), re.MULTILINE))
        body[part.lower()] = [
            {"item": n, "reason": "seen", "answer": "yes" if coins.flag() else "no"} for n in range(1, count + 1)
        ]
    return json.dumps(body)


if __name__ == "__main__":
    main(RecordingsChat, __doc__)
