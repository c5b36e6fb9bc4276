"""Makes the pictures of docs/plots.md from made-up results: ``python -m tests.docs plots``."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from limner.exams import SAMPLE
from limner.report.plots import PlotChoice, load_plots
from limner.report.plots.style import compose, look
from limner.store import Store
from tests.docs.blocks import ROOT
from tests.report.plots import made_up
from tests.report.tables import synthetic

SHOWN: tuple[tuple[str, str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("categories", "genexam", "double", {"questions": 120}, {"score": "relaxed"}),
    ("heatmap", "genexam", "double", {"questions": 120, "painters": 25}, {"score": "relaxed"}),
    ("profile", "genexam", "double", {"questions": 120}, {}),
    ("levels", "mmmg", "double", {"questions": 120}, {"score": "mmmg_exact"}),
    ("distribution", "fepbench", "double", {"questions": 48}, {}),
    ("failures", "mmmg", "single", {"questions": 120}, {}),
    ("cost", "genexam", "double", {"questions": 120, "painters": 14}, {"score": "relaxed"}),
    ("judges", "genexam", "double", {"questions": 24, "judges": ("openai/gpt-5", "gemini/gemini-2.5-pro", "ocr")}, {}),
    (
        "by-judge",
        "aibench",
        "double",
        {"questions": 24, "judges": ("openai/gpt-5", "gemini/gemini-2.5-pro", "ocr")},
        {},
    ),
    ("drawings", "fepbench", "double", {"questions": 16, "painters": 4}, {}),
    ("dispersion", "fepbench", "double", {"questions": 48}, {}),
    ("correlations", "fepbench", "double", {"questions": 48}, {}),
    ("data", "sample/fepbench", "double", {"questions": 8}, {}),
    ("atoms", "fepbench", "double", {"questions": 48}, {}),
    ("if-re", "fepbench", "single", {"questions": 48}, {}),
    ("panels", "fepbench", "double", {"questions": 48}, {}),
    ("logic-aesthetics", "aibench", "double", {"questions": 24, "strategies": ("direct", "rewrite")}, {}),
    ("regions", "mmmg", "single", {"questions": 120}, {}),
)
"""Plot, exam, width, how the store is filled, what is chosen."""


def pictures() -> Iterator[tuple[str, bytes]]:
    """File names and PNGs, in few colours."""
    for name, exam, width, filling, choosing in SHOWN:
        with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
            if not exam.startswith(SAMPLE):
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
