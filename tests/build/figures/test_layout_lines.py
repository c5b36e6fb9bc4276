"""Lines of a figure with layout cues."""

from __future__ import annotations

from limner.build.figures.layout_lines import layout_lines, told_lines, unread
from limner.core.evidence import TextLine


def line(text: str, left: float, top: float, height: float = 10) -> TextLine:
    right, bottom = left + 8.0 * len(text), top + height
    return TextLine(text, ((left, top), (right, top), (right, bottom), (left, bottom)), 0.9)


def test_place_size_and_panel_marks() -> None:
    rows = layout_lines(
        [line("Glass", 5, 270), line("(a)", 5, 5), line("Title", 130, 5, 20), line("Air", 280, 150)], 300, 300
    )
    assert [(row["text"], row["place"], row["size"], row["panel_mark"]) for row in rows] == [
        ("(a)", "upper left", "usual", True), ("Title", "upper center", "large", False),
        ("Air", "middle right", "usual", False), ("Glass", "lower left", "usual", False),
    ]  # fmt: skip
    assert told_lines(rows).splitlines()[0] == "- (a) (upper left, usual, marks a panel)"
    assert not unread("Glas", rows)
    assert unread("Metal plate", rows)
    assert unread("Air", [])
