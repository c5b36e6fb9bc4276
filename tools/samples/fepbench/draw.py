"""Draws the references of the sample exam: ``python -m tools.samples.fepbench.draw [OUTDIR]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tools.samples.fepbench import earth, life, physics
from tools.samples.genexam.canvas import Canvas
from tools.samples.redraw import draw_into, images_of, redraw

IMAGES = images_of("fepbench")

DRAWINGS: dict[str, Callable[[], Canvas]] = {
    "Sample_Physics_1": physics.refraction,
    "Sample_Physics_2": physics.states_of_matter,
    "Sample_Physics_3": physics.solar_cell,
    "Sample_Geography_1": earth.soil_profile,
    "Sample_Geography_2": earth.breezes,
    "Sample_Geography_3": earth.subduction,
    "Sample_Biology_1": life.mitosis,
    "Sample_Biology_2": life.alveolus,
    "Sample_Physics_4": physics.laser,
    "Sample_Geography_4": earth.atmosphere,
    "Sample_Biology_3": life.synapse,
    "Sample_Biology_4": life.stomata,
}


def draw_all(folder: Path) -> list[Path]:
    """Draws every reference into `folder` and returns the files written."""
    return draw_into(folder, DRAWINGS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder named on the command line, or over the bundled images."""
    redraw(draw_all, IMAGES, arguments)


if __name__ == "__main__":
    main()
