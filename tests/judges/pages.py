"""Lines of text laid out as a drawing would have them."""

from __future__ import annotations

from collections.abc import Iterable

from limner.core.evidence import TextLine

HEIGHT = 20.0
LETTER = 10.0


def line(text: str, x: float = 0.0, y: float = 0.0, confidence: float = 0.99) -> TextLine:
    """A level line with its top left corner at (x, y)."""
    right, bottom = x + LETTER * max(len(text), 1), y + HEIGHT
    return TextLine(text, ((x, y), (right, y), (right, bottom), (x, bottom)), confidence)


def upward(text: str, x: float = 0.0, y: float = 0.0) -> TextLine:
    """A line that runs from bottom to top, as beside a vertical axis."""
    right, bottom = x + HEIGHT, y + LETTER * max(len(text), 1)
    return TextLine(text, ((x, y), (right, y), (right, bottom), (x, bottom)), 0.99)


def apart(*texts: str) -> list[TextLine]:
    """Lines so far from one another that none goes on with another."""
    return [line(text, y=10 * HEIGHT * number) for number, text in enumerate(texts)]


def stacked(texts: Iterable[str], y: float = 0.0) -> list[TextLine]:
    """Lines close under one another, centred."""
    return [line(text, 500 - LETTER * len(text) / 2, y + 1.1 * HEIGHT * n) for n, text in enumerate(texts)]


def beside(texts: Iterable[str]) -> list[TextLine]:
    """Lines side by side, a blank apart."""
    lines, x = [], 0.0
    for text in texts:
        lines.append(line(text, x))
        x += LETTER * (len(text) + 1)
    return lines
