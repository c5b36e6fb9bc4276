"""Draws the references of the sample exam: ``python -m tools.samples.worldgenbench.draw [OUTDIR]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tools.samples.genexam.canvas import Canvas
from tools.samples.redraw import draw_into, images_of, redraw
from tools.samples.worldgenbench import festivals, landscapes, science

IMAGES = images_of("worldgenbench")

DRAWINGS: dict[str, Callable[[], Canvas]] = {
    "japan_blossom": festivals.blossom_picnic,
    "netherlands_polder": landscapes.polder,
    "egypt_nile": landscapes.nile_dusk,
    "mexico_altar": festivals.altar,
    "astronomy_eclipse": science.lunar_eclipse,
    "biology_bean": science.bean,
    "chemistry_water": science.electrolysis,
    "physics_prism": science.prism,
    "greece_acropolis": landscapes.acropolis,
    "australia_rock": landscapes.red_rock,
    "earth_volcano": science.volcano,
    "physics_lever": science.lever,
}


def draw_all(folder: Path) -> list[Path]:
    """Draws every reference into `folder` and returns the files written."""
    # A palette halves the bytes and loses nothing that shows.
    return draw_into(folder, DRAWINGS, colours=128)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder named on the command line, or over the bundled images."""
    redraw(draw_all, IMAGES, arguments)


if __name__ == "__main__":
    main()
