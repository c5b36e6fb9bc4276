"""The sample's figures with some labels misspelt, shortened, lengthened or left out: what an examiner must not miss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from PIL import Image
from tools.samples.fepbench import earth, life, physics
from tools.samples.fepbench.draw import DRAWINGS
from tools.samples.genexam.canvas import INK, Canvas
from tools.samples.genexam.paths import Point

INSTEAD: dict[str, str | None] = {
    "Incident ray": "Incidnet ray", "Glass": "Glas", "Refracted ray": "Refractd ray", "Normal": None,
    "Angle of incidence": "Angle of incidents",
    "Solid": "Solids", "Boiling": "Boilng", "Gas": "Gass",
    "n-type silicon": "n-type silicone", "Anti-reflection coating": "Anti-refection coating", "Electrons": "Electron",
    "Back contact": "Contact",
    "Topsoil": "Topsoll", "Parent material": "Parent materials", "Bedrock": None, "Leaching": "Leeching",
    "Sea breeze": "Sea breze", "Night": "Nigth",
    "Oceanic plate": "Ocean plate", "Magma": "Magmas", "Mantle": "Mantel",
    "Metaphase": "Metephase", "Spindle fibre": "Spindle fiber", "Chromosome": "Chromosomes",
    "Alveolus": "Alveolous", "Oxygen": "Oxigen", "Carbon dioxide": "Carbon dioxid",
}  # fmt: skip
"""What is written in place of a label; None where nothing is."""


class Careless(Canvas):
    """A sheet that gets some labels wrong."""

    def label(
        self,
        at: Point,
        text: str,
        size: int = 18,
        color: str = INK,
        anchor: str = "mm",
        back: str | None = None,
    ) -> None:
        written = INSTEAD.get(text, text)
        if written is not None:
            super().label(at, written, size, color, anchor, back)


@contextmanager
def _careless() -> Iterator[None]:
    with (
        mock.patch.object(physics, "Canvas", Careless),
        mock.patch.object(earth, "Canvas", Careless),
        mock.patch.object(life, "Canvas", Careless),
    ):
        yield


def altered(sample: str) -> Image.Image:
    """The figure with its wrong labels."""
    with _careless():
        return DRAWINGS[sample]().finish()
