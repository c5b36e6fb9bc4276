"""How much one picture may ask for, and what is raised when it asks for more."""

from __future__ import annotations

from dataclasses import dataclass


class BadSvg(ValueError):
    """No picture, a broken one, or one that is not taken. The message says where and what; a model can mend by it."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(f"line {line}: {message}" if line else message)


@dataclass(frozen=True)
class Limits:
    """What one file may hold and its rendering may use. Sides are in pixels of 1/96 inch, or units of the viewBox."""

    bytes: int = 2 * 2**20
    elements: int = 20_000
    depth: int = 100
    path_chars: int = 400_000
    """Of the path data or points of one element."""
    text_chars: int = 20_000
    css_chars: int = 100_000
    css_rules: int = 1_000
    longest_side: float = 100_000
    shortest_side: float = 0.01
    proportion: float = 50
    """The longer side of the picture over the shorter one."""
    drawn: int = 200_000
    """Elements, once every reference is written out. Long paths, long texts and filters count as several."""
    image_bytes: int = 2**20
    """Of all pictures inside the file together."""
    image_pixels: int = 4_000_000
    seconds: int = 4
    """Processor time for one rendering."""
    memory: int = 2**30
    """Address space of the process that renders."""
    rendered_side: int = 4096


LIMITS = Limits()
