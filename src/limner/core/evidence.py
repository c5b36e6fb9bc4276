"""Names of evidence and of the backends that measure it, and lines of recognised text. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

OCR, REGIONS, AESTHETICS = "ocr", "regions", "aesthetics"
EVIDENCE = (OCR, REGIONS, AESTHETICS)
IMPORTED = "imported"
"""The backend of values imported with the results of a benchmark's own scorer."""
TABLE_PREFIX = "csv:"
"""The prefix of the backend of values imported from a table."""
MODEL_PREFIX = "model:"
"""The prefix of the backend of values given by a chat model."""
_PAPER = {
    REGIONS: re.compile(r"imported|sam2\.1-large/[0-9a-f]+/release/float32\b.*"),
    AESTHETICS: re.compile(r"imported|(?:csv:)?unipercept\b.*"),
}


def is_paper_backend(evidence: str, backend: str) -> bool:
    """Return whether a backend is the one used by the exam's paper, judging by its name.

    >>> is_paper_backend("aesthetics", "unipercept/1.0.3 iaa model=Thunderbolt215215/UniPercept")
    True
    >>> is_paper_backend("regions", "classical/close=7")
    False
    """
    pattern = _PAPER.get(evidence)
    return pattern is not None and pattern.fullmatch(backend) is not None


def short_backend_name(backend: str) -> str:
    """Return a backend's name without its settings.

    >>> short_backend_name("classical/close=7 tolerance=8 rev=1 lines=rapidocr/3.10.0#2f1c")
    'classical'
    >>> short_backend_name("model:openai/gpt-5 prompt=0123"), short_backend_name("csv:ratings.csv#0123abcd")
    ('model:openai/gpt-5', 'csv:ratings.csv#0123abcd')
    """
    head = backend.partition(" ")[0]
    return head if head.startswith((MODEL_PREFIX, TABLE_PREFIX)) else head.partition("/")[0]


def measured_number(evidence: Mapping[str, Any], name: str) -> float | None:
    """Return a measured value if it is a number.

    >>> measured_number({"regions": {"value": 12, "backend": "imported"}}, "regions"), measured_number({}, "regions")
    (12.0, None)
    """
    measurement = evidence.get(name)
    value = measurement.get("value") if isinstance(measurement, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def summarize_backends(rows: Iterable[Mapping[str, Any]], evidence: str) -> list[tuple[str, int, bool]]:
    """Return each backend that measured this evidence: short name, number of drawings, whether it is the paper's.

    Values imported with results are not counted.
    """
    counts = count_backends(rows, evidence).items()
    return [
        (short_backend_name(name), count, is_paper_backend(evidence, name))
        for name, count in counts
        if name != IMPORTED
    ]


def count_backends(rows: Iterable[Mapping[str, Any]], evidence: str) -> Counter[str]:
    """Return the number of drawings on which each backend measured this evidence."""
    measurements = (row.get(evidence) for row in rows)
    return Counter(
        str(measurement["backend"])
        for measurement in measurements
        if isinstance(measurement, Mapping) and measurement.get("backend")
    )


Position = tuple[float, float]
LATIN_LOOKS = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβικμνορυχавекмнорстухі", "ABEZHIKMNOPTYXabikuvopuxabekmhopctyxi")
"""A table for `str.translate` from Greek and lower-case Cyrillic letters to the Latin letters they look like."""
MIN_UPRIGHT_RATIO = 1.5
"""The minimum ratio of height to width for a box of vertical text."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text: its words, four corners (clockwise from top left, in pixels) and confidence (0 to 1)."""

    text: str
    box: tuple[Position, Position, Position, Position]
    confidence: float

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the axis-aligned rectangle around the line."""
        xs, ys = [p[0] for p in self.box], [p[1] for p in self.box]
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def is_upright(self) -> bool:
        """Whether the text is vertical."""
        left, top, right, bottom = self.bounds
        return bottom - top >= MIN_UPRIGHT_RATIO * (right - left) and len(self.text.strip()) > 1

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TextLine:
        """Return the line from the result of `to_json`."""
        a, b, c, d = (tuple(float(v) for v in p) for p in data["box"])
        return cls(data["text"], (a, b, c, d), float(data["confidence"]))  # type: ignore[arg-type]
