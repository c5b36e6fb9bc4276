"""Draws the figures of the sample exam: ``python -m tools.samples.aibench.draw [OUTDIR]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tools.samples.aibench import sequences, vision
from tools.samples.genexam.canvas import Canvas
from tools.samples.redraw import draw_into, images_of, redraw

IMAGES = images_of("aibench")

DRAWINGS: dict[str, Callable[[], Canvas]] = {
    "Sample_2025/tidewatch": sequences.tidewatch,
    "Sample_2025/songlark": sequences.songlark,
    "Sample_2025/leafscan": vision.leafscan,
    "Sample_2025/twinscope": vision.twinscope,
    "Sample_2026/loopdraft": sequences.loopdraft,
    "Sample_2026/routeforge": sequences.routeforge,
    "Sample_2026/paperlens": vision.paperlens,
    "Sample_2026/claymesh": vision.claymesh,
    "Sample_2025/mailsort": sequences.mailsort,
    "Sample_2025/shelfbot": vision.shelfbot,
    "Sample_2026/gridcast": sequences.gridcast,
    "Sample_2026/skyweave": vision.skyweave,
}


def draw_all(folder: Path) -> list[Path]:
    """Draws every figure into `folder`, one sub-folder a venue, and returns the files written."""
    return draw_into(folder, DRAWINGS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder named on the command line, or over the bundled images."""
    redraw(draw_all, IMAGES, arguments)


if __name__ == "__main__":
    main()
