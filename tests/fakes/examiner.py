"""The fake chat service as a judge of every shipped exam: it reads from the prompt what is asked, and answers all.

Run it with `python -m tests.fakes.examiner --port 0`; it prints `{"port": N}` when it is ready. What it answers depends
on the prompt and the picture alone. What none of the exams asks is answered as `tests.fakes.studio` does.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from aiohttp import web

from tests.fakes.checks import Ask
from tests.fakes.client import Server
from tests.fakes.faults import choose
from tests.fakes.replies import reply
from tests.fakes.service import Reply, main
from tests.fakes.studio import StudioChat, _check_pictures, after, answer, pictures
from tests.fakes.tally import Turn

FLAGS = {
    "visual": ("present", "count", "location"),
    "text": ("exact", "readable", "attached"),
    "relation": ("satisfied", "type", "direction"),
}


class ExaminerChat(StudioChat):
    """The service."""

    async def completions(self, request: web.Request) -> web.StreamResponse:
        return await self.attend(request, _check_pictures, _answer, choose)


class ExaminerServer(Server):
    """The test's side of it."""

    module = "tests.fakes.examiner"


def _answer(ask: Ask, plan: Any, fault: str | None, turn: Turn) -> Reply:
    said = None if fault else verdict_on(ask.text, ask.image) or answer(ask.text, pictures(ask), turn, plan)
    return reply(ask, replace(plan, reply=said) if said is not None else plan, fault, turn)


def verdict_on(text: str, image: bytes, coins: Coins | None = None) -> str | None:
    """The reply to an exam's ask; None where it is none of them, or GenExam's."""
    coins = coins or Coins(text, image)
    if found := re.search(r"exactly (\d+) numbers in square brackets", text):
        return json.dumps([coins.flag() for _ in range(int(found[1]))])
    if '"panel_structure"' in text:
        body: dict[str, Any] = {}
        for kind, flags in FLAGS.items():
            atoms = [json.loads(line) for line in section(text, kind.capitalize()) if line.startswith("{")]
            body[kind] = [
                {"id": atom["id"], "reason": "seen", **{flag: coins.flag() for flag in flags}} for atom in atoms
            ]
        body["layout"] = {name: coins.flag() for name in ("panel_structure", "panel_count", "global_layout")}
        return json.dumps(body)
    if '{"unexpected":' in text:
        return json.dumps({"unexpected": [{"modality": "text", "item": "Extra", "place": "top"}] * coins.flag()})
    if "Answer with the letter of one option" in text:
        return "ABCD"[coins.number() % 4] if "\nD" in text else "AB"[coins.flag()]
    if "## Entities" in text and "## Dependencies" in text:
        items = [*after(text, "## Entities").splitlines(), *after(text, "## Dependencies").splitlines()]
        lines = [f"{item.removeprefix('- ')}: {'yes' if coins.flag() else 'no'}. Seen." for item in items if item]
        return "\n".join(["A picture.", *lines])
    if '"rating"' in text and "0 to 100" in text:
        return json.dumps({"reason": "neat", "rating": 40 + coins.number() % 50})
    return None


def section(text: str, heading: str) -> list[str]:
    """The lines under a heading of the third level, up to the next one."""
    return re.split(r"\n#+ ", text.partition(f"\n### {heading}\n")[2])[0].strip().splitlines()


class Coins:
    """Numbers that depend on nothing but what is asked and shown."""

    def __init__(self, text: str, image: bytes) -> None:
        self._root, self._n = hashlib.sha256(text.encode() + image).digest(), 0

    def number(self) -> int:
        self._n += 1
        return hashlib.sha256(self._root + self._n.to_bytes(4, "big")).digest()[0]

    def flag(self) -> int:
        """One in two of three."""
        return int(self.number() < 170)


if __name__ == "__main__":
    main(ExaminerChat, __doc__)
