"""Curves on axes and a time line: parabola, heating curve, market with a minimum price, events to scale."""

from __future__ import annotations

from collections.abc import Callable

from tools.samples.genexam.canvas import BLUE, GREEN, GREY, INK, ORANGE, PALE, RED, Canvas
from tools.samples.genexam.paths import Point

Place = Callable[[float, float], Point]


def _frame(origin: Point, x_unit: float, y_unit: float) -> Place:
    """Turns plot coordinates into pixels."""
    return lambda x, y: (origin[0] + x * x_unit, origin[1] - y * y_unit)


def parabola() -> Canvas:
    """The curve y = -x² + 2x + 3 with its intercepts, turning point and axis of symmetry."""
    sheet = Canvas(600, 560)
    at = _frame((237, 270), 75, 46)
    for x in range(-2, 5):
        sheet.line([at(x, -5), at(x, 5)], PALE, 1)
    for y in range(-5, 6):
        sheet.line([at(-2.4, y), at(4.4, y)], PALE, 1)
    sheet.arrow([at(-2.6, 0), at(4.5, 0)])
    sheet.arrow([at(0, -5.3), at(0, 5.4)])
    _ticks(sheet, at)
    with sheet.part("axis of symmetry"):
        sheet.dashes([at(1, -5.3), at(1, 5.2)], GREEN, 2.2)
        sheet.label((at(1, -4.4)[0] + 10, at(1, -4.4)[1]), "x = 1", 19, GREEN, "lm", back="white")
    curve = [at(i / 20, 3 + 2 * (i / 20) - (i / 20) ** 2) for i in range(-40, 81)]
    sheet.line(curve, BLUE, 3)
    _points(sheet, at)
    return sheet


def _ticks(sheet: Canvas, at: Place) -> None:
    aside = {-1: 14, 1: 13, 3: -12}
    for x in (-2, -1, 1, 2, 3, 4):
        sheet.line([at(x, -0.1), at(x, 0.1)], INK, 1.5)
        sheet.label((at(x, 0)[0] + aside.get(x, 0), at(x, 0)[1] + 17), str(x), 15, back="white")
    for y in (-4, -2, 2, 4):
        sheet.line([at(-0.07, y), at(0.07, y)], INK, 1.5)
        sheet.label((at(0, y)[0] + 10, at(0, y)[1]), str(y), 15, anchor="lm", back="white")
    sheet.label((at(4.5, 0)[0] + 12, at(4.5, 0)[1] - 2), "x", 19)
    sheet.label((at(0, 5.4)[0] - 14, at(0, 5.4)[1] + 4), "y", 19)


def _points(sheet: Canvas, at: Place) -> None:
    marks = {
        "(0,3)": ((0, 3), (-12, -12), "rm"),
        "(-1,0)": ((-1, 0), (-10, -18), "rm"),
        "(3,0)": ((3, 0), (10, -18), "lm"),
        "(1,4)": ((1, 4), (12, -18), "lm"),
    }
    for text, ((x, y), (dx, dy), anchor) in marks.items():
        spot = at(x, y)
        sheet.dot(spot, 5.5, RED)
        sheet.label((spot[0] + dx, spot[1] + dy), text, 20, RED, anchor, back="white")


def heating_curve() -> Canvas:
    """Temperature against time while ice becomes steam: two slopes, two level stretches, a slope."""
    sheet = Canvas(640, 470)
    at = _frame((122, 320), 1, 1.5)
    stops = [(0, -60), (30, 0), (110, 0), (212, 100), (424, 100), (452, 160)]
    sheet.arrow([at(0, -75), at(0, 190)])
    sheet.arrow([at(0, -75), at(500, -75)])
    for degrees, end in ((0, 30), (100, 212)):
        with sheet.part("dashed lines"):
            sheet.dashes([at(0, degrees), at(end, degrees)], GREY, 1.6)
        sheet.line([at(-5, degrees), at(0, degrees)], INK, 2)
        sheet.label(at(-10, degrees), f"{degrees} °C", 18, anchor="rm")
    sheet.line([at(*stop) for stop in stops], RED, 3.5)
    for stop in stops[1:-1]:
        sheet.dot(at(*stop), 4, RED)
    sheet.label(at(28, -38), "Solid", 18, BLUE, "lm")
    sheet.label(at(176, 46), "Liquid", 18, BLUE, "lm")
    sheet.label(at(432, 145), "Gas", 18, BLUE, "rm")
    sheet.label(at(72, 13), "Melting", 18)
    sheet.label(at(318, 113), "Boiling", 18)
    sheet.label(at(250, -87), "Time", 19)
    sheet.upright((24, 235), "Temperature", 19)
    return sheet


def market() -> Canvas:
    """Supply and demand with a minimum price above the point where the market would clear."""
    sheet = Canvas(640, 480)
    at = _frame((90, 410), 4.6, 3.5)
    sheet.arrow([at(0, 0), at(0, 106)])
    sheet.arrow([at(0, 0), at(106, 0)])
    sheet.label(at(53, -10), "Quantity", 19)
    sheet.upright((56, 225), "Price", 19)
    for quantity in (22, 78):
        sheet.dashes([at(quantity, 0), at(quantity, 78)], GREY, 1.6)
    sheet.dashes([at(0, 50), at(50, 50), at(50, 0)], GREY, 1.6)
    sheet.line([at(0, 78), at(106, 78)], ORANGE, 3)
    sheet.line([at(6, 94), at(94, 6)], BLUE, 3)
    sheet.line([at(6, 6), at(94, 94)], RED, 3)
    for quantity in (22, 78):
        sheet.dot(at(quantity, 78), 4.5)
    sheet.dot(at(50, 50), 5.5)
    sheet.label(at(53.5, 50), "Equilibrium", 18, anchor="lm")
    sheet.label(at(88, 20), "Demand", 18, BLUE, "lm")
    sheet.label(at(96, 94), "Supply", 18, RED, "lm")
    sheet.label(at(81, 72), "Minimum price", 18, "#a85d12", "lm")
    with sheet.part("double arrow"):
        sheet.arrow([at(22, 86), at(78, 86)], GREEN, 2.4, both=True)
    with sheet.part("double arrow", label=True):
        sheet.label(at(50, 92), "Surplus", 18, GREEN)
    return sheet


def timeline() -> Canvas:
    """Five firsts of the space age on a ruled line from 1955 to 1975."""
    sheet = Canvas(640, 340)
    events = [
        (1957, "Sputnik 1", 96),
        (1961, "First human in space", 262),
        (1963, "First woman in space", 96),
        (1969, "Moon landing", 262),
        (1971, "First space station", 96),
    ]
    sheet.label((320, 30), "Early space age", 22)
    sheet.arrow([(26, 180), (622, 180)], INK, 3, head=13)
    for year in range(1955, 1976):
        half = 9 if year % 5 == 0 else 5
        sheet.line([(_year(year), 180 - half), (_year(year), 180 + half)], INK, 2 if half == 9 else 1.2)
        if half == 9:
            sheet.label((_year(year), 202), str(year), 15, "#5b6672")
    for year, text, y in events:
        end = y + 36 if y < 180 else y - 16
        with sheet.part(f"mark of {text}"):
            sheet.line([(_year(year), 180), (_year(year), end)], BLUE, 2)
            sheet.dot((_year(year), 180), 6, BLUE)
        sheet.label((_year(year), y), text, 16)
        sheet.label((_year(year), y + 22), str(year), 18, RED)
    return sheet


def _year(year: int) -> float:
    return 50 + (year - 1955) * 27
