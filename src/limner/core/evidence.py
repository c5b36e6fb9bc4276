"""What is measured on drawings: its names, what a backend's name tells, lines of text. Pure: protocols use it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

OCR, REGIONS, AESTHETICS = "ocr", "regions", "aesthetics"
EVIDENCE = (OCR, REGIONS, AESTHETICS)
IMPORTED = "imported"
"""The backend of values that came with the results of a benchmark's own scorer."""
TABLE = "csv:"
"""Begins the backend of values that came from a table."""
MODEL = "model:"
"""Begins the backend of values that a chat model gave."""
_PAPER = {
    REGIONS: re.compile(r"imported|sam2\.1-large/[0-9a-f]+/release/float32\b.*"),
    AESTHETICS: re.compile(r"imported|(?:csv:)?unipercept\b.*"),
}


def is_paper(evidence: str, backend: str) -> bool:
    """Whether this is what the exam's paper measures with, as far as a name tells.

    >>> is_paper("aesthetics", "unipercept/1.0.3 iaa model=Thunderbolt215215/UniPercept")
    True
    >>> is_paper("regions", "classical/close=7")
    False
    """
    pattern = _PAPER.get(evidence)
    return pattern is not None and pattern.fullmatch(backend) is not None


def short(backend: str) -> str:
    """Return a backend's name without its settings.

    >>> short("classical/close=7 tolerance=8 rev=1 lines=rapidocr/3.10.0#2f1c")
    'classical'
    >>> short("model:openai/gpt-5 prompt=0123"), short("csv:ratings.csv#0123abcd")
    ('model:openai/gpt-5', 'csv:ratings.csv#0123abcd')
    """
    head = backend.partition(" ")[0]
    return head if head.startswith((MODEL, TABLE)) else head.partition("/")[0]


def number(evidence: Mapping[str, Any], name: str) -> float | None:
    """Return what was measured, where it is a number.

    >>> number({"regions": {"value": 12, "backend": "imported"}}, "regions"), number({}, "regions")
    (12.0, None)
    """
    found = evidence.get(name)
    value = found.get("value") if isinstance(found, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def measurers(rows: Iterable[Mapping[str, Any]], evidence: str) -> list[tuple[str, int, bool]]:
    """Who measured something here: in short, on how many drawings, and whether that is what the paper measures with.

    What came with imported results is left out.
    """
    found = backends(rows, evidence).items()
    return [(short(name), count, is_paper(evidence, name)) for name, count in found if name != IMPORTED]


def backends(rows: Iterable[Mapping[str, Any]], evidence: str) -> Counter[str]:
    """Who measured something on how many of these drawings, given what is known of each."""
    found = (row.get(evidence) for row in rows)
    return Counter(str(one["backend"]) for one in found if isinstance(one, Mapping) and one.get("backend"))


Position = tuple[float, float]
LATIN_LOOKS = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβικμνορυχавекмнорстухі", "ABEZHIKMNOPTYXabikuvopuxabekmhopctyxi")
"""Greek letters and small Cyrillic ones that look like Latin ones, for `str.translate`."""
TALL = 1.5
"""A box this many times higher than wide holds text that runs up or down."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text: its words, its four corners (clockwise from top left, pixels), its confidence 0-1."""

    text: str
    box: tuple[Position, Position, Position, Position]
    confidence: float

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of the upright rectangle around the line."""
        xs, ys = [p[0] for p in self.box], [p[1] for p in self.box]
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def is_upright(self) -> bool:
        """Whether the text runs up or down the page."""
        left, top, right, bottom = self.bounds
        return bottom - top >= TALL * (right - left) and len(self.text.strip()) > 1

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping that `from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TextLine:
        """Return the line behind a mapping made by `to_json`."""
        a, b, c, d = (tuple(float(v) for v in p) for p in data["box"])
        return cls(data["text"], (a, b, c, d), float(data["confidence"]))  # type: ignore[arg-type]
