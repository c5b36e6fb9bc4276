"""Pictures for chemistry, physics and engineering: a molecule, a circuit, a loaded beam."""

from __future__ import annotations

import math

from tools.samples.genexam.canvas import BLUE, GREEN, GREY, INK, RED, Canvas
from tools.samples.genexam.paths import Point, polar


def ethanoic_acid() -> Canvas:
    """The displayed formula of ethanoic acid with its two groups framed."""
    sheet = Canvas(620, 430)
    sheet.label((310, 34), "Ethanoic acid", 24)
    left, right = (200.0, 225.0), (330.0, 225.0)
    oxygen, hydroxyl, proton = (388.0, 138.0), (388.0, 312.0), (490.0, 312.0)
    for end in ((200.0, 135.0), (200.0, 315.0), (110.0, 225.0)):
        _bond(sheet, left, end)
        sheet.label(end, "H", 26)
    _bond(sheet, left, right)
    _bond(sheet, right, oxygen, 2)
    _bond(sheet, right, hydroxyl)
    with sheet.part("bond to the fourth hydrogen atom"):
        _bond(sheet, hydroxyl, proton)
    for place, atom, color in (
        (left, "C", INK),
        (right, "C", INK),
        (oxygen, "O", RED),
        (hydroxyl, "O", RED),
        (proton, "H", INK),
    ):
        sheet.label(place, atom, 26, color)
    _dashed_box(sheet, (78, 98, 250, 352), GREEN)
    _dashed_box(sheet, (290, 98, 574, 352), BLUE)
    sheet.label((164, 382), "Methyl group", 20, GREEN)
    sheet.label((432, 382), "Carboxyl group", 20, BLUE)
    sheet.arrow([(438, 178), (382, 178)], INK, 2)
    sheet.label((499, 178), "Double bond", 17)
    return sheet


def _bond(sheet: Canvas, start: Point, end: Point, order: int = 1) -> None:
    """One or two parallel lines between two atoms, leaving room for their letters."""
    turn = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0]))
    for shift in (0.0,) if order == 1 else (-4.5, 4.5):
        a, b = polar(start, shift, turn + 90), polar(end, shift, turn + 90)
        sheet.line([polar(a, 20, turn), polar(b, 20, turn + 180)], INK, 2.6)


def _dashed_box(sheet: Canvas, corners: tuple[float, float, float, float], color: str) -> None:
    left, top, right, bottom = corners
    sheet.dashes([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], color, 2)


def lamp_circuit() -> Canvas:
    """A battery, a closed switch, an ammeter in series with a lamp, a voltmeter across the lamp."""
    sheet = Canvas(640, 470)
    wires: list[list[Point]] = [
        [(196, 100), (130, 100), (130, 290), (284, 290)],
        [(244, 100), (350, 100)],
        [(420, 100), (500, 100), (500, 168)],
        [(500, 222), (500, 290), (336, 290)],
    ]
    for wire in wires:
        sheet.line(wire, INK, 2.4)
    with sheet.part("wires of the voltmeter"):
        sheet.line([(225, 290), (225, 375), (283, 375)], INK, 2.4)
        sheet.line([(337, 375), (395, 375), (395, 290)], INK, 2.4)
    _battery(sheet, (220, 100))
    sheet.line([(350, 100), (420, 100)], INK, 2.4)
    for x in (350, 420):
        sheet.ellipse((x, 100), 5.5, fill="white", width=2.2)
    _meter(sheet, (500, 195), "A")
    _meter(sheet, (310, 375), "V")
    _lamp(sheet, (310, 290))
    sheet.dot((225, 290), 5)
    sheet.dot((395, 290), 5)
    sheet.arrow([(152, 232), (152, 158)], RED, 2.6, head=12)
    sheet.label((164, 195), "Current", 18, RED, "lm")
    sheet.label((220, 56), "Battery", 19)
    sheet.label((220, 150), "6 V", 21)
    sheet.label((385, 70), "Switch", 19)
    sheet.label((310, 244), "Lamp", 19)
    sheet.label((538, 184), "Ammeter", 19, anchor="lm")
    sheet.label((538, 210), "0.5 A", 21, BLUE, anchor="lm")
    sheet.label((310, 422), "Voltmeter", 19)
    sheet.label((310, 448), "6 V", 21, BLUE)
    return sheet


def _battery(sheet: Canvas, center: Point) -> None:
    """Two cells in a row; the longer plates are positive and lie to the right."""
    x, y = center
    for dx, half, width in ((-24, 11, 5.0), (-12, 24, 2.4), (12, 11, 5.0), (24, 24, 2.4)):
        sheet.line([(x + dx, y - half), (x + dx, y + half)], INK, width)
    sheet.dashes([(x - 12, y), (x + 12, y)], INK, 2.4, on=4, off=4)


def _meter(sheet: Canvas, center: Point, letter: str) -> None:
    sheet.ellipse(center, 27, fill="white", width=2.4)
    sheet.label(center, letter, 26)


def _lamp(sheet: Canvas, center: Point) -> None:
    sheet.ellipse(center, 26, fill="white", width=2.4)
    for turn in (45, 135):
        sheet.line([polar(center, 25, turn), polar(center, 25, turn + 180)], INK, 2.4)


def beam() -> Canvas:
    """A beam on two supports under one load, its reactions, and the shear force below it."""
    sheet = Canvas(640, 520)
    left, load, right = 100.0, 212.0, 548.0
    for x, top, bottom in ((left, 246, 328), (load, 138, 448), (right, 246, 418)):
        sheet.dashes([(x, top), (x, bottom)], GREY, 1.2, on=4, off=4)
    sheet.box((left, 116, right, 134), "#cfd8e3", INK, 2)
    with sheet.part("load"):
        sheet.arrow([(load, 44), (load, 115)], RED, 3.2, head=14)
        sheet.label((load + 14, 62), "12 kN", 19, RED, "lm")
    _supports(sheet, left, right)
    for x, text, anchor in ((left, "9 kN", "rm"), (right, "3 kN", "lm")):
        sheet.arrow([(x, 238), (x, 176)], GREEN, 3.2, head=14)
        sheet.label((x - 12 if anchor == "rm" else x + 12, 214), text, 19, GREEN, anchor)
    for start, end, text in ((left, load, "2 m"), (load, right, "6 m")):
        sheet.arrow([(start + 3, 256), (end - 3, 256)], INK, 1.6, head=9, both=True)
        sheet.label(((start + end) / 2, 241), text, 18)
    _shear(sheet, left, load, right)
    return sheet


def _supports(sheet: Canvas, left: float, right: float) -> None:
    sheet.polygon([(left, 134), (left - 18, 164), (left + 18, 164)], "#e9edf2", INK, 2)
    sheet.ellipse((right, 149), 14, fill="#e9edf2")
    for x in (left, right):
        sheet.line([(x - 28, 165), (x + 28, 165)], INK, 2.4)
        for dx in range(-24, 28, 8):
            sheet.line([(x + dx, 166), (x + dx - 8, 173)], GREY, 1.2)
    sheet.label((left + 38, 152), "Pin", 18, anchor="lm")
    sheet.label((right - 38, 152), "Roller", 18, anchor="rm")


def _shear(sheet: Canvas, left: float, load: float, right: float) -> None:
    zero, unit = 420.0, 10.0
    sheet.box((left, zero - 9 * unit, load, zero), "#d7e8f7", None)
    sheet.box((load, zero, right, zero + 3 * unit), "#d7e8f7", None)
    steps = [(left, 0), (left, 9), (load, 9), (load, -3), (right, -3), (right, 0)]
    sheet.line([(x, zero - value * unit) for x, value in steps], BLUE, 2.6)
    sheet.arrow([(left - 20, zero), (right + 50, zero)], INK, 1.8)
    sheet.label(((left + load) / 2, zero - 45), "+9 kN", 18, BLUE)
    sheet.label(((load + right) / 2, zero + 15), "-3 kN", 18, BLUE)
    sheet.label((380, 350), "Shear force diagram", 20)
