"""Drawings side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.core.plot_frames import Gallery, Tile
from limner.plots import PlotChoice
from limner.plots.galleries import drawings, gallery
from limner.plots.source import StoreSource, load
from limner.plots.style import compose, look
from limner.store import Store
from tests.support import picture
from tests.tables import synthetic


def test_one_question_as_every_painter_drew_it(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=3, questions=6)
        check_tiles(load("genexam", PlotChoice(store=store)), store)


def check_tiles(found: StoreSource, store: Store) -> None:
    frame = drawings(found)
    assert frame.columns == ("reference", *found.names)
    (line,) = frame.tiles
    for name, tile, entries in zip(frame.columns[1:], line[1:], found.field.inside, strict=True):
        entry = next((entry for entry in entries if entry.question.id == frame.title), None)
        if entry is None:
            assert tile == Tile(None, ("not drawn or not marked",)), name
        else:
            assert tile.image == store.blobs.get(entry.drawing.image or "")
            value = entry.scores[found.score.name]
            assert tile.words == (f"{found.score.name} {'–' if value is None else f'{value:.1f}'}",)


def test_pictures_keep_their_shape_and_broken_ones_are_said(matplotlib: None) -> None:
    good = [Tile(picture(n, size=(40, 20)), ("a",)) for n in range(7)]
    tiles = (*good, Tile(b"no picture"), Tile(None))
    frame = Gallery(("",), tuple(f"painter {n}" for n in range(9)), (tiles,), "Q", "caption")
    with look():
        figure = compose([gallery(frame, "double")], "double")
    axes = [panel for part in figure.subfigs for panel in part.axes]
    assert len(axes) == 9
    for panel in axes[:7]:
        box = panel.get_window_extent()
        assert box.width / box.height == pytest.approx(2.0, rel=0.01)
    said = [[text.get_text() for text in panel.texts] for panel in axes[7:]]
    assert all("no image" in words for words in said)
