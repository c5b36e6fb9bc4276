"""Pictures of light and matter: a refracted ray, the states of matter, a solar cell."""

from __future__ import annotations

import math

from tools.samples.genexam.canvas import BLUE, GREY, INK, ORANGE, RED, Canvas
from tools.samples.genexam.paths import Point, bow, polar

_GLASS = "#cfe6f5"
_SUN = "#e0a526"


def refraction() -> Canvas:
    """A ray of light that meets glass: part is thrown back, part goes on, bent towards the normal."""
    sheet = Canvas(560, 560)
    hit: Point = (280, 280)
    sheet.box((0, 280, 560, 560), _GLASS, None)
    sheet.line([(0, 280), (560, 280)], "#4f7f9f", 3)
    sheet.dashes([(280, 30), (280, 530)], GREY, 2, on=10, off=7)
    incidence, refracted = 45.0, math.degrees(math.asin(math.sin(math.radians(45)) / 1.5))
    start, back, on = (
        polar(hit, 310, -90 - incidence),
        polar(hit, 250, -90 + incidence),
        polar(hit, 260, 90 - refracted),
    )
    rays = (("incident", [start, hit], RED), ("reflected", [hit, back], ORANGE), ("refracted", [hit, on], BLUE))
    for name, path, color in rays:
        (x0, y0), (x1, y1) = path
        middle = (x0 + (x1 - x0) * 0.56, y0 + (y1 - y0) * 0.56)
        with sheet.part(f"{name} ray"):
            sheet.arrow([path[0], middle], color, 4, head=18)
            sheet.line(path, color, 4)
    sheet.line(bow(hit, 62, 62, -90 - incidence, -90), RED, 2)
    sheet.line(bow(hit, 84, 84, 90 - refracted, 90), BLUE, 2)
    sheet.dot(hit, 5)
    sheet.label((60, 246), "Air", 22)
    sheet.label((62, 320), "Glass", 22)
    sheet.label((292, 30), "Normal", 19, anchor="lm")
    sheet.label((14, 172), "Incident ray", 19, anchor="lm")
    sheet.label((420, 206), "Reflected ray", 19, anchor="lm")
    sheet.label((404, 440), "Refracted ray", 19, anchor="lm")
    sheet.callout((182, 44), "Angle of incidence", (259, 228), 18, anchor="ms")
    sheet.callout((214, 420), "Angle of refraction", (297, 358), 18, anchor="rm")
    return sheet


def states_of_matter() -> Canvas:
    """The same particles as solid, liquid and gas, side by side."""
    sheet = Canvas(640, 330)
    panels = ((14, "(a)", "Solid", _solid), (228, "(b)", "Liquid", _liquid), (442, "(c)", "Gas", _gas))
    for left, mark, name, particles in panels:
        sheet.label((left + 4, 20), mark, 19, anchor="lm")
        sheet.label((left + 112, 20), name, 22)
        sheet.line([(left + 10, 60), (left + 10, 230), (left + 174, 230), (left + 174, 60)], INK, 3)
        for x, y in particles():
            sheet.ellipse((left + x, y), 12, fill="#7fb3dd", outline="#2d628f", width=1.6)
    for x, y in _gas():
        sheet.line([(442 + x - 18, y + 8), (442 + x - 32, y + 14)], GREY, 2)
        sheet.line([(442 + x - 16, y + 15), (442 + x - 28, y + 21)], GREY, 2)
    for left, word in ((116, "Melting"), (330, "Boiling")):
        with sheet.part("arrows between the panels"):
            sheet.arrow([(left + 10, 262), (left + 190, 262)], RED, 3, head=14)
        sheet.label((left + 100, 290), word, 19)
    return sheet


def _solid() -> list[Point]:
    return [(28.0 + 25.6 * column, 215.0 - 25.6 * row) for row in range(4) for column in range(6)]


def _liquid() -> list[Point]:
    rows = ((27, 53, 82, 110, 134, 159), (36, 66, 93, 121, 152), (25, 52, 79, 107, 133, 159), (44, 74, 126, 153))
    lifts = (0, 3, -2, 2, 1, -1)
    return [(float(x), 214.0 - 26 * row - lifts[n]) for row, xs in enumerate(rows) for n, x in enumerate(xs)]


def _gas() -> list[Point]:
    return [(60, 90), (142, 82), (108, 134), (56, 172), (150, 190)]


def solar_cell() -> Canvas:
    """A silicon solar cell in section, with a lamp in its circuit."""
    sheet = Canvas(640, 430)
    layers = (
        (150, 166, "#6fa8dc", "Anti-reflection coating"),
        (166, 214, "#f6d8a8", "n-type silicon"),
        (214, 330, "#e8b98a", "p-type silicon"),
        (330, 350, "#8a94a0", "Back contact"),
    )
    for top, bottom, fill, _ in layers:
        sheet.box((40, top, 330, bottom), fill, INK, 1.4)
    for x in (84, 172, 260):
        with sheet.part("bars of the front contact"):
            sheet.box((x, 134, x + 26, 166), "#8a94a0", INK, 1.4)
    sheet.line([(41, 214), (329, 214)], RED, 3.4)
    for x in (52, 100, 148):
        sheet.arrow([(x - 30, 44), (x + 14, 118)], _SUN, 4, head=15)
    sheet.label((78, 22), "Sunlight", 20)
    _circuit(sheet)
    sheet.callout((236, 76), "Front contact", (266, 142), 18, anchor="ms")
    sheet.callout((186, 384), "Back contact", (186, 340), 18, anchor="ma")
    sheet.label((185, 190), "n-type silicon", 19)
    sheet.label((185, 290), "p-type silicon", 19)
    sheet.callout((352, 250), "p-n junction", (318, 215), 18, anchor="lm")
    sheet.callout((352, 190), "Anti-reflection coating", (316, 158), 18, anchor="lm")
    return sheet


def _circuit(sheet: Canvas) -> None:
    sheet.line([(273, 134), (273, 112), (596, 112), (596, 218)], INK, 2.4)
    sheet.line([(596, 262), (596, 341), (330, 341)], INK, 2.4)
    sheet.ellipse((596, 240), 22, fill="#fff3c4", outline=INK)
    for turn in (45, 135):
        sheet.line([polar((596, 240), 22, turn), polar((596, 240), 22, turn + 180)], INK, 2)
    sheet.label((560, 276), "Lamp", 19, anchor="rm")
    sheet.arrow([(404, 98), (520, 98)], BLUE, 3, head=13)
    sheet.label((462, 78), "Electrons", 19)


def laser() -> Canvas:
    """A laser: a medium between two mirrors, pumped from above, with a beam that leaves to the right."""
    sheet = Canvas(640, 360)
    sheet.box((150, 150, 450, 210), "#f8d9d5", INK, 2)
    sheet.box((86, 130, 102, 230), "#8a94a0", INK, 2)
    sheet.box((498, 130, 508, 230), "#d9dee4", INK, 2)
    with sheet.part("light between the mirrors"):
        sheet.arrow([(104, 180), (496, 180)], RED, 3, head=14, both=True)
    with sheet.part("arrows of the pump"):
        for x in (210, 300, 390):
            sheet.arrow([(x, 88), (x, 146)], ORANGE, 4, head=15)
    with sheet.part("beam"):
        sheet.arrow([(512, 180), (618, 180)], RED, 6, head=22)
    sheet.label((300, 70), "Pump light", 20)
    sheet.callout((300, 262), "Gain medium", (300, 204), 20, anchor="ma")
    sheet.callout((94, 274), "Full mirror", (94, 224), 19, anchor="ma")
    sheet.callout((503, 274), "Half mirror", (503, 224), 19, anchor="ma")
    sheet.label((574, 146), "Laser beam", 19)
    sheet.label((300, 165), "Stimulated emission", 16)
    return sheet
