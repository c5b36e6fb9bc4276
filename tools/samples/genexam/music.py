"""Sheet music: a scale on a staff in the treble clef."""

from __future__ import annotations

from tools.samples.genexam.canvas import INK, Canvas
from tools.samples.genexam.paths import Point, bow, smooth, turned

_GAP = 16.0
_TOP = 110.0
_BASE = _TOP + 4 * _GAP

# The treble clef from the heart of its spiral to the blob of its tail. Each point: right of and below where
# the stem meets the G line, then the width of the stroke; all in staff gaps.
_CLEF = [
    (-0.05, 0.55, 0.10), (-0.45, 0.20, 0.16), (-0.30, -0.42, 0.20), (0.25, -0.60, 0.26), (0.80, -0.20, 0.26),
    (0.80, 0.45, 0.24), (0.30, 0.95, 0.18), (-0.45, 0.95, 0.20), (-1.05, 0.45, 0.28), (-1.10, -0.45, 0.32),
    (-0.60, -1.35, 0.30), (0.05, -2.10, 0.26), (0.48, -2.90, 0.22), (0.50, -3.70, 0.16), (0.25, -4.25, 0.12),
    (-0.08, -3.95, 0.14), (-0.22, -3.20, 0.18), (-0.10, -2.20, 0.16), (0.10, -1.00, 0.14), (0.32, 0.45, 0.14),
    (0.48, 1.50, 0.14), (0.40, 2.25, 0.14), (0.00, 2.65, 0.14), (-0.45, 2.55, 0.14),
]  # fmt: skip


def _height(step: int) -> float:
    """The y of a staff step: 0 is the bottom line (E), 1 the space above it, 8 the top line (F)."""
    return _BASE - step * _GAP / 2


def g_major() -> Canvas:
    """One octave of G major upwards in crotchets: two bars of four beats, three degrees named."""
    sheet = Canvas(640, 300)
    sheet.label((320, 36), "G major", 24)
    for line in range(5):
        sheet.line([(24, _height(2 * line)), (615, _height(2 * line))], INK, 1.4)
    _clef(sheet, (54, _height(2)))
    with sheet.part("sharp"):
        sheet.write((98, _height(8)), "♯", 40)
    for base in (_height(4), _height(0)):
        sheet.write((134, base), "4", 42, anchor="ms")
    places = [180.0 + 53 * i + (20 if i > 3 else 0) for i in range(8)]
    for place, step in zip(places, range(2, 10), strict=True):
        _crotchet(sheet, (place, _height(step)), up=step < 4)
    for x, width in (((places[3] + places[4]) / 2 - 4, 1.6), (607, 1.6), (613, 5)):
        sheet.box((x - width / 2, _TOP, x + width / 2, _BASE), INK, None)
    for note, name, y in (
        (0, "Tonic", 236),
        (3, "Subdominant", 236),
        (4, "Dominant", 274),
        (7, "Tonic", 236),
    ):
        sheet.arrow([(places[note], y - 14), (places[note], 202)], INK, 1.6, head=9)
        sheet.label((places[note], y), name, 18)
    return sheet


def _crotchet(sheet: Canvas, center: Point, up: bool) -> None:
    """A filled, tilted note head with its stem: right and up, or left and down."""
    x, y = center
    sheet.polygon(turned(bow(center, 10.5, 7.2, 0, 360), center, -22), INK, None)
    end = (x + 9.3, y - 3.5 * _GAP) if up else (x - 9.3, y + 3.5 * _GAP)
    sheet.line([(end[0], y - 2 if up else y + 2), end], INK, 2)


def _clef(sheet: Canvas, center: Point) -> None:
    """The treble clef, its spiral around the G line."""
    x, y = center
    path = smooth([(x + dx * _GAP, y + dy * _GAP) for dx, dy, _ in _CLEF], steps=40)
    widths = smooth([(width * _GAP, 0.0) for _, _, width in _CLEF], steps=40)
    for place, (width, _) in zip(path, widths, strict=True):
        sheet.dot(place, width / 2)
    sheet.dot((x - 0.42 * _GAP, y + 2.25 * _GAP), 0.36 * _GAP)
