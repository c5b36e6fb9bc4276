"""Draws the references of the sample exam: ``python -m tools.samples.genexam.draw [OUTDIR]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tools.samples.genexam import music, nature, plots, science, structures
from tools.samples.genexam.canvas import Canvas
from tools.samples.redraw import draw_into, images_of, redraw

IMAGES = images_of("genexam")

DRAWINGS: dict[str, Callable[[], Canvas]] = {
    "Sample_Biology_1": nature.flower,
    "Sample_Mathematics_1": plots.parabola,
    "Sample_Mathematics_2": structures.pythagoras,
    "Sample_Chemistry_1": science.ethanoic_acid,
    "Sample_Physics_1": science.lamp_circuit,
    "Sample_Physics_2": plots.heating_curve,
    "Sample_Engineering_1": science.beam,
    "Sample_Computer_Science_1": structures.search_tree,
    "Sample_Computer_Science_2": structures.process_states,
    "Sample_Economics_1": plots.market,
    "Sample_Geography_1": nature.water_cycle,
    "Sample_Music_1": music.g_major,
    "Sample_History_1": plots.timeline,
}


def image_path(question: str) -> str:
    """Where a question's reference lies, relative to the images folder."""
    subject = question.removeprefix("Sample_").rpartition("_")[0]
    return f"{subject}/{question}.png"


def draw_all(folder: Path) -> list[Path]:
    """Draws every reference into `folder`, one sub-folder a subject, and returns the files written."""
    return draw_into(
        folder, {image_path(question).removesuffix(".png"): drawing for question, drawing in DRAWINGS.items()}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder named on the command line, or over the bundled images."""
    redraw(draw_all, IMAGES, arguments)


if __name__ == "__main__":
    main()
