"""The truth the fake service marks by: pure functions of what it is shown.

Tests import these to work out, without the service or the program under test, what every score must be.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

RATINGS = ("Spelling", "Clarity and Readability", "Logical Consistency")
POINTS_HEADING = r"(?i)^## Scoring points"
POINTS_REGEX = r"^\s*\d+\. "
_ANY_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)


def request_key(body: Any) -> str:
    """The sha256 of a request body's canonical JSON: what the service counts requests by."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def draw(*parts: object) -> float:
    """A number in [0, 1) that depends on nothing but the parts."""
    return int.from_bytes(_digest(*parts)[:8], "big") / 2**64


def count_points(text: str, points_regex: str = POINTS_REGEX, heading: str | None = POINTS_HEADING) -> int:
    """How many scoring points a prompt lists.

    Args:
        text: The prompt.
        points_regex: Matches once per point.
        heading: Matches at the heading line the points stand under; they end at the next heading.
            None looks for points in the whole text.
    """
    if heading is not None:
        found = re.search(heading, text, re.MULTILINE)
        if found is None:
            return 0
        text = text[found.end() :]
        end = _ANY_HEADING.search(text)
        text = text[: end.start()] if end else text
    return sum(1 for _ in re.finditer(points_regex, text, re.MULTILINE))


def verdict(text: str, image_bytes: bytes, n: int, seed: int) -> dict[str, Any]:
    """The one right reply about a drawing, in the shape the GenExam release asks for.

    Args:
        text: Text of the first user message; where it has several text parts, joined by a line break.
        image_bytes: The first image as sent; empty when there was none.
        n: Number of scoring points.
        seed: The plan's seed.
    """
    root = _digest(seed, hashlib.sha256(image_bytes).hexdigest(), text)
    # Fair coins would make a drawing without any flaw so rare that strict scores were never tested.
    flawless, skill = root[0] < 64, root[1]
    coins = b"".join(hashlib.sha256(root + bytes([i])).digest() for i in range(n // 32 + 1))
    name = root.hex()[:12]
    return {
        "description": f"Drawing {name} as the judge sees it.",
        "answers": [
            {"reasoning": f"Point {i + 1} of {name}.", "answer": int(flawless or coins[i] < skill)} for i in range(n)
        ],
        "global_evaluation": {
            rating: {"reasoning": f"{rating} of {name}.", "score": 2 if flawless else root[2 + i] % 3}
            for i, rating in enumerate(RATINGS)
        },
    }


def _digest(*parts: object) -> bytes:
    return hashlib.sha256("\x00".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
