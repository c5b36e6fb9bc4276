"""Draws the references of the sample exam: ``python -m limner.exams.fepbench.sample.draw [OUTDIR]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from limner.exams.fepbench.sample import earth, life, physics
from limner.exams.genexam.sample.canvas import Canvas

IMAGES = Path(__file__).parent / "images"

DRAWINGS: dict[str, Callable[[], Canvas]] = {
    "Sample_Physics_1": physics.refraction,
    "Sample_Physics_2": physics.states_of_matter,
    "Sample_Physics_3": physics.solar_cell,
    "Sample_Geography_1": earth.soil_profile,
    "Sample_Geography_2": earth.breezes,
    "Sample_Geography_3": earth.subduction,
    "Sample_Biology_1": life.mitosis,
    "Sample_Biology_2": life.alveolus,
}


def draw_all(folder: Path) -> list[Path]:
    """Draws every reference into `folder` and returns the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for sample, drawing in DRAWINGS.items():
        target = folder / f"{sample}.png"
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
