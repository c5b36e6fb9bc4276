"""Makes the plots of docs/tables.md and docs/baselines.md from made-up results: ``python -m tests.docs plots``."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from limner.report.plots import PlotChoice, load_plots
from limner.report.plots.style import compose, look
from limner.store import Store
from tests.docs.blocks import ROOT
from tests.report.plots import made_up
from tests.report.tables import synthetic

SHOWN: tuple[tuple[str, str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("heatmap", "genexam", "double", {"questions": 120, "painters": 25}, {"score": "relaxed"}),
    ("cost", "genexam", "double", {"questions": 120, "painters": 14}, {"score": "relaxed"}),
)
"""Plot, exam, width, how the store is filled, what is chosen."""


def pictures() -> Iterator[tuple[str, bytes]]:
    """File names and PNGs, in few colours."""
    for name, exam, width, filling, choosing in SHOWN:
        with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
            synthetic.fill(store, exam, **filling)
            frame = load_plots()[name].frame(exam, PlotChoice(store=store, **choosing))
            with look():
                figure = compose([load_plots()[name].draw(frame, width)], width)
                raw = io.BytesIO()
                figure.savefig(raw, format="png")
        yield f"plot-{name}.png", _small(raw)
    for file, exam, fill in (("people", "mmmg", made_up.rated), ("people-aibench", "aibench", made_up.compared)):
        with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
            fill(store)
            frame = load_plots()["people"].frame(exam, PlotChoice(store=store))
            with look():
                raw = io.BytesIO()
                compose([load_plots()["people"].draw(frame, "double")], "double").savefig(raw, format="png")
        yield f"plot-{file}.png", _small(raw)


def _small(raw: io.BytesIO) -> bytes:
    small = io.BytesIO()
    few = Image.open(raw).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> None:
    """Write them all."""
    for file, content in pictures():
        Path(ROOT / "docs" / "images" / file).write_bytes(content)
        print(file, len(content))


if __name__ == "__main__":
    main()
