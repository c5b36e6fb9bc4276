"""Draws the references of the sample exam: ``python -m tools.samples.mmmg.draw [OUTDIR]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tools.samples.genexam.canvas import Canvas
from tools.samples.mmmg import chains, diagrams, nature
from tools.samples.redraw import draw_into, images_of, redraw

IMAGES = images_of("mmmg")

DRAWINGS: dict[str, Callable[[], Canvas]] = {
    "preschool_Biology_1": nature.butterfly,
    "primaryschool_Geography_1": nature.day_and_night,
    "secondaryschool_Chemistry_1": nature.states_of_matter,
    "secondaryschool_Literature_1": diagrams.arc_of_a_story,
    "highschool_Economics_1": diagrams.circular_flow,
    "undergraduate_Engineering_1": diagrams.control_loop,
    "undergraduate_Math_1": diagrams.number_sets,
    "PhD_Biology_1": nature.genome_editing,
    "primaryschool_Biology_1": chains.food_chain,
    "highschool_Physics_1": chains.steam_power,
    "highschool_History_1": chains.state_powers,
    "undergraduate_Biology_1": chains.gene_expression,
}


def draw_all(folder: Path) -> list[Path]:
    """Draws every reference into `folder` and returns the files written."""
    return draw_into(folder, DRAWINGS, colours=64)


def main(arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder named on the command line, or over the bundled images."""
    redraw(draw_all, IMAGES, arguments)


if __name__ == "__main__":
    main()
