"""The lines of text in a figure with layout cues: where each stands, how large it is, what marks panels. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import Any

from rapidfuzz import fuzz

from ...core.evidence import TextLine
from .spans import plain

_MARK = re.compile(r"^[(\[]?[a-h][)\].:]?$", re.IGNORECASE)
_ROWS, _COLUMNS = ("upper", "middle", "lower"), ("left", "center", "right")
READ = 80
"""Similarity (0-100) from which a label counts as read by OCR."""


def place(left: float, top: float, right: float, bottom: float, width: int, height: int) -> str:
    """Roughly where a box stands.

    >>> place(0, 0, 10, 10, 90, 90), place(40, 40, 50, 50, 90, 90)
    ('upper left', 'center')
    """
    row = _ROWS[min(2, int(3 * (top + bottom) / 2 / max(1, height)))]
    column = _COLUMNS[min(2, int(3 * (left + right) / 2 / max(1, width)))]
    return " ".join(word for word in (row, column) if word != "middle" or column != "center") if (
        row != "middle" or column != "center"
    ) else "center"  # fmt: skip


def layout_lines(lines: Sequence[TextLine], width: int, height: int) -> list[dict[str, Any]]:
    """Each line's text, place, size beside the others, and whether it marks a panel; from top to bottom."""
    heights = [line.bounds[3] - line.bounds[1] for line in lines]
    usual = median(heights) if heights else 1.0
    found = []
    for line, tall in sorted(zip(lines, heights, strict=True), key=lambda one: (one[0].bounds[1], one[0].bounds[0])):
        row = {"text": line.text, "place": place(*line.bounds, width, height)}
        row["size"] = "large" if tall > 1.4 * usual else "small" if tall < 0.7 * usual else "usual"
        found.append(row | {"panel_mark": bool(_MARK.match(line.text.strip()))})
    return found


def told_lines(lines: Sequence[dict[str, Any]]) -> str:
    """The lines for a prompt."""
    return "\n".join(
        f"- {line['text']} ({line['place']}, {line['size']}{', marks a panel' if line['panel_mark'] else ''})"
        for line in lines
    )


def unread(text: str, lines: Sequence[dict[str, Any]]) -> bool:
    """Whether OCR has not read these words: neither in a line nor over several."""
    words, whole = plain(text), plain(" ".join(line["text"] for line in lines))
    near = max((fuzz.ratio(words, plain(line["text"])) for line in lines), default=0)
    return max(near, fuzz.partial_ratio(words, whole) if len(words) <= len(whole) else 0) < READ
