"""The fake chat service as planner, coder, chooser and critic: it answers by what the prompt asks for.

Run it with `python -m tests.fakes.studio --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

from aiohttp import web
from PIL import Image

from tests.end_to_end.bills import Billing
from tests.fakes.chat import Chat, check_by_plan
from tests.fakes.checks import Ask
from tests.fakes.client import Server
from tests.fakes.faults import choose
from tests.fakes.images import read_data_url
from tests.fakes.plan import Plan
from tests.fakes.replies import reply
from tests.fakes.service import Reply, main
from tests.fakes.tally import Turn
from tests.fakes.truth import draw

SEPARATOR = "=== DRAWING ==="
KNOWN: dict[str, tuple[str, ...]] = {"butterfly": ("Egg", "Caterpillar", "Chrysalis", "Butterfly")}
"""What the planner knows beyond what it is told."""


@dataclass(frozen=True, slots=True)
class StudioPlan(Plan):
    """See `tests.end_to_end.bills`; `broken_svg` is how many turns of a coder's fail to parse."""

    thinking: list[int] = field(default_factory=lambda: [0, 0])
    broken_svg: int = 0


class StudioChat(Billing, Chat):
    """The service."""

    plans = StudioPlan

    async def completions(self, request: web.Request) -> web.StreamResponse:
        return await self.attend(request, _check_pictures, _answer, choose)


class StudioServer(Server):
    """The test's side of it."""

    module = "tests.fakes.studio"


def _answer(ask: Ask, plan: Any, fault: str | None, turn: Turn) -> Reply:
    said = None if fault else answer(ask.text, pictures(ask), turn, plan)
    return reply(ask, replace(plan, reply=said) if said is not None else plan, fault, turn)


def pictures(ask: Ask) -> list[str]:
    """The pictures of a request in order, each by how little is drawn on it and its hash."""
    return list(ask.shown["inked"])


def inked(url: str) -> str:
    """What a picture ranks by: the more is drawn on it the lower, its hash where they are alike."""
    _, data = read_data_url(url)
    grey = Image.open(io.BytesIO(data)).convert("L")
    blank = grey.point([0] * 200 + [1] * 56).histogram()[1] / (grey.width * grey.height)
    return f"{blank:.4f}{hashlib.sha256(data).hexdigest()}"


def _check_pictures(body: Any, plan: Any) -> Ask:
    ask = check_by_plan(body, plan)
    parts = [part for message in body["messages"] for part in message["content"] if isinstance(part, dict)]
    ask.shown["inked"] = [inked(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    return ask


def answer(text: str, shown: list[str], turn: Turn, plan: Any) -> str | None:
    """What the model of whichever role is asked says; None where the judge is asked."""
    if text.startswith("You prepare the work of a painter"):
        source = after(text, "## The text")
        names = labels(source)
        steps = [f"{one} -> {other}: what it has made of its input" for one, other in pairwise(names)]
        said = " ".join(source.rpartition("}")[2].split())[:80]
        made = {"content": f"An overview of the method: {said} …", "labels": names, "relations": steps}
        return json.dumps(made | {"layout": "boxes from left to right", "style": "flat, pale blue boxes, white page"})
    if text.startswith("You put a drawing prompt in order"):
        first, *rest = re.split(r"(?<=[.;]) ", after(text, "## The prompt"))
        return f"Subject\n- {first}" + ("\nElements\n" + "\n".join(f"- {point}" for point in rest) if rest else "")
    if text.startswith("Write a longer caption"):
        asked = after(text, "in these words:").partition("\n\nReply")[0]
        return f"A wide, bright page: {asked} " + "It is drawn in clear colours on a white ground. " * 20
    if text.startswith("You plan a picture"):
        asked = after(text, "## What is asked for")
        known = next((names for word, names in KNOWN.items() if word in asked), ())
        if not known:
            return f"First the parts, then what joins them.\n{SEPARATOR}\nA drawing of {asked}"
        thought = f"What belongs there? {', then '.join(known)}. Each becomes the next, and the last gives the first."
        told = ", ".join(f'"{name}"' for name in known)
        return f"{thought}\n{SEPARATOR}\nA ring of {len(known)} pictures, an arrow from each to the next: {told}."
    if text.startswith("Draw what is asked for below as an SVG"):
        if turn.attempt < plan.broken_svg or "cannot be used" in text:
            return "<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'><rect></svg>"
        shade = int(60 * draw(plan.seed, "svg", turn.key, turn.attempt))
        return f"```svg\n{chart(labels(after(text, '## What is asked for')), 195 + shade)}\n```"
    if text.startswith("Several drawings were made"):
        return json.dumps({"reason": "clearer", "ranking": ranking(shown)})
    if text.startswith("A drawing was made of the order below"):
        return json.dumps({"faults": faults(shown[0])})
    return None


def after(text: str, heading: str) -> str:
    """What stands under a heading, up to the next."""
    return text.partition(heading)[2].partition("\n## ")[0].strip()


def ranking(shown: list[str]) -> list[str]:
    """Letters by the hash of what they show: the same pictures rank alike in whatever order they come."""
    return ["ABCDEFGHIJKLMNOP"[i] for i in sorted(range(len(shown)), key=lambda i: shown[i])]


def faults(image: str) -> list[dict[str, str]]:
    """What is wrong with a picture, by its hash: nothing with every third."""
    if int(image[-8:], 16) % 3 == 0:
        return []
    return [{"what": "a name is missing", "where": "in the row of boxes", "mend": "add the box with its name"}]


def labels(text: str) -> list[str]:
    """The names a figure of this text would bear."""
    named = re.findall(r"\\emph\{([^{}]{3,30})\}|['\"]([A-Z][\w ]{2,24})['\"]", text)
    found = list(dict.fromkeys(one or other for one, other in named)) or re.findall(r"[A-Za-z]{4,}", text)[:3]
    return found[:6]


def chart(names: list[str], blue: int) -> str:
    """A row of boxes with arrows, as SVG."""
    tip = '<marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    parts = [f'<defs>{tip}<path d="M0,0 L8,4 L0,8 z"/></marker></defs><rect width="100%" height="100%" fill="white"/>']
    for n, name in enumerate(names):
        x, y = 20 + n % 3 * 220, 40 + n // 3 * 130
        parts.append(f'<rect x="{x}" y="{y}" width="160" height="60" rx="8" fill="rgb({blue - 40},{blue},255)"/>')
        parts.append(f'<text x="{x + 80}" y="{y + 36}" font-size="16" text-anchor="middle">{escape(name)}</text>')
        if n % 3 < 2 and n + 1 < len(names):
            line = f'x1="{x + 160}" y1="{y + 30}" x2="{x + 218}" y2="{y + 30}"'
            parts.append(f'<line {line} stroke="black" stroke-width="2" marker-end="url(#a)"/>')
    height = 80 + 130 * -(-len(names) // 3)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="660" height="{height}" font-family="sans-serif">'
    return f"{head}{''.join(parts)}</svg>"


if __name__ == "__main__":
    main(StudioChat, __doc__)
