"""A chat model that marks GenExam by rule, over the wire, and an exam whose references have labels that are known."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Attempt, Calls, Request, Result
from limner.core.evidence import TextLine
from limner.core.images import encode_png
from limner.evidence.probe import Finding, OcrProbe
from limner.store import Store
from tests.fakes.misbehaving import Answer, Misbehaving, Seen, chat_reply, says
from tests.fakes.truth import RATINGS, count_points
from tests.painters.controls.pictures import labelled
from tests.support import write_exam, write_settings

USAGE = {"prompt_tokens": 4000, "completion_tokens": 1000, "total_tokens": 5000}
DOLLARS = (4000 * 2 + 1000 * 8) / 1e6
"""The price of a call with this usage."""


@dataclass(frozen=True)
class Asked:
    """One request: its words, and its pictures."""

    text: str
    pictures: tuple[str, ...]
    number: int

    @property
    def pair(self) -> bool:
        return "Two drawings were made" in self.text


Marks = Callable[[Asked], bool]


def read(seen: Seen) -> Asked:
    content = seen.json["messages"][-1]["content"]
    texts = [part["text"] for part in content if part["type"] == "text"]
    pictures = tuple(part["image_url"]["url"] for part in content if part["type"] == "image_url")
    return Asked("\n".join(texts), pictures, seen.number)


def marking(marks: Marks, first: Callable[[Asked], str] = lambda _: "first") -> Callable[[Seen], Answer]:
    """A service that says yes to all or to nothing, as `marks` decides."""

    def behave(seen: Seen) -> Answer:
        asked = read(seen)
        if asked.pair:
            return says(chat_reply(json.dumps({"reason": "because", "better": first(asked)}), USAGE))
        yes = marks(asked)
        body: dict[str, Any] = {"description": "a drawing"}
        count = count_points(asked.text)
        body["answers"] = [{"reasoning": "so it is", "answer": int(yes)} for _ in range(count)]
        body["global_evaluation"] = {name: {"reasoning": "so", "score": 2 * int(yes)} for name in RATINGS}
        return says(chat_reply(json.dumps(body), USAGE))

    return behave


def known(folder: Path, server: Misbehaving) -> None:
    """Let the settings in a folder know the service."""
    write_settings(folder, server.url + "/v1")


def write_labelled_exam(root: Path, count: int) -> tuple[Path, dict[str, tuple[TextLine, ...]]]:
    """An exam whose criteria name labels of its references; and by image, the lines of text in it."""
    small = write_exam(root, count, drawings=False)
    rows, lines = [], {}
    for number, row in enumerate(small.rows):
        image, found = labelled(number)
        points = [f"Is the {line.text.lower()} labeled '{line.text}'?" for line in found[:4]]
        texts = [*points, "Does an arrow lead to the frame?"]
        given = [{"question": text, "score": 0.2} for text in texts]
        data = encode_png(image)
        (small.data / "images" / row["image_path"]).write_bytes(data)
        lines[hashlib.sha256(data).hexdigest()] = found
        rows.append({**row, "scoring_points": given})
    path = small.data / "annotations" / "All_Subjects.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return small.data, lines


def store_lines(place: Path, lines: dict[str, tuple[TextLine, ...]]) -> None:
    """References have been read before: their lines stand in the journal, where other processes find them."""

    async def keep() -> None:
        async with Calls(store) as calls:
            for image, found in lines.items():
                result = Result({"lines": [line.to_json() for line in found]})

                async def perform(_attempt: Attempt, result: Result = result) -> Result:
                    return result

                await calls.do(Request("probe", f"ocr/{OcrProbe().name}", {"image": image}), perform)

    with Store(place) as store:
        asyncio.run(keep())


def know_lines(monkeypatch: pytest.MonkeyPatch, lines: dict[str, tuple[TextLine, ...]]) -> None:
    """References are read at once, without OCR."""

    async def measure(self: OcrProbe, image: bytes, calls: Calls) -> Finding:
        found = lines[hashlib.sha256(image).hexdigest()]
        return Finding([line.to_json() for line in found], self.name, "")

    monkeypatch.setattr(OcrProbe, "measure", measure)
