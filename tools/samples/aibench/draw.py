"""Draws the figures of the sample exam: ``python -m tools.samples.aibench.draw [OUTDIR]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.samples.aibench import sequences, vision
from tools.samples.genexam.canvas import Canvas
from tools.samples.redraw import images_of

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
}


def draw_all(folder: Path) -> list[Path]:
    """Draws every figure into `folder`, one sub-folder a venue, and returns the files written."""
    written = []
    for question, drawing in DRAWINGS.items():
        target = folder / f"{question}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        drawing().finish().save(target, optimize=True)
        written.append(target)
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder named on the command line, or over the bundled images."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for path in draw_all(Path(given[0]) if given else IMAGES):
        print(path)


if __name__ == "__main__":
    main()
