"""What runs over an edge is counted there; frames, margins and grounds are not."""

from __future__ import annotations

from PIL import Image, ImageDraw

from limner.build.picture_rules import cut_edges, labels


def drawing() -> Image.Image:
    image = Image.new("RGB", (400, 300), "white")
    pen = ImageDraw.Draw(image)
    for x in (60, 160, 260):
        pen.rectangle((x, 40, x + 60, 260), fill="black")
    return image


def test_strokes_over_an_edge_are_counted_at_that_edge() -> None:
    whole = drawing()
    assert cut_edges(whole) == [0, 0, 0, 0]
    assert cut_edges(whole.crop((0, 100, 400, 300))) == [3, 0, 0, 0]
    assert cut_edges(whole.crop((0, 0, 400, 200))) == [0, 3, 0, 0]
    assert cut_edges(whole.crop((90, 0, 400, 300)))[2] == 0, "most of that edge is drawn: a frame, or the ground"


def test_a_frame_is_no_cut() -> None:
    framed = drawing()
    ImageDraw.Draw(framed).rectangle((0, 0, 399, 299), outline="black", width=6)
    assert cut_edges(framed) == [0, 0, 0, 0]


def test_labels_are_lines_with_a_word_each_once() -> None:
    assert labels(["Leaf", "leaf", "12", "a b", "Sun light", ""]) == ["leaf", "sun light"]
