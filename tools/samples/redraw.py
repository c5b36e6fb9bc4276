"""Draws the references of a bundled sample: shared by the samples whose images lie in one folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import limner
from tools.samples.genexam.canvas import Canvas


def images_of(exam: str) -> Path:
    """Where the bundled images of an exam's sample lie."""
    return Path(str(limner.__file__)).parent / "exams" / exam / "sample" / "images"


def draw_into(folder: Path, drawings: Mapping[str, Callable[[], Canvas]], colours: int | None = None) -> list[Path]:
    """Draws every reference into `folder` and returns the files written.

    Args:
        folder: Where the images go.
        drawings: Path in the folder without ending, and what draws it.
        colours: Size of a palette, which makes files smaller; full colour without it.
    """
    written = []
    for name, drawing in drawings.items():
        target, image = folder / f"{name}.png", drawing().finish()
        target.parent.mkdir(parents=True, exist_ok=True)
        (image if colours is None else image.quantize(colours)).save(target, optimize=True)
        written.append(target)
    return written


def redraw(draw_all: Callable[[Path], list[Path]], images: Path, arguments: Sequence[str] | None = None) -> None:
    """Draws into the folder named on the command line, or over the bundled images."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for path in draw_all(Path(given[0]) if given else images):
        print(path)
