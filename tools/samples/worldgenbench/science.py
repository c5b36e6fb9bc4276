"""Scenes of nature that take reasoning: an eclipse, a germinating bean, water taken apart, light in a prism."""

from __future__ import annotations

from tools.samples.genexam.canvas import BLUE, GREY, INK, PALE, RED, Canvas
from tools.samples.genexam.paths import Point, bow, mirrored, polar, smooth

_RAINBOW = ("#e03131", "#f76707", "#fcc419", "#2f9e44", "#1c7ed6", "#7048e8")


def lunar_eclipse() -> Canvas:
    """Sun, Earth and Moon in line, with the two parts of the Earth's shadow."""
    sheet = Canvas(640, 400, "#14213d")
    for x, y in ((24, 40), (150, 40), (262, 70), (470, 44), (600, 34), (420, 366), (330, 350), (60, 370), (200, 330)):
        sheet.dot((x, y), 1.4, "#cdd6e8")
    sun, earth, moon = (100.0, 205.0), (330.0, 205.0), (520.0, 205.0)
    sheet.polygon([(330, 171), (620, 59), (620, 351), (330, 239)], "#34436b", None)
    sheet.polygon([(330, 171), (620, 198), (620, 212), (330, 239)], "#0a0f1f", None)
    for start, end in (
        ((105, 149), (330, 171)),
        ((105, 261), (330, 239)),
        ((105, 149), (330, 239)),
        ((105, 261), (330, 171)),
    ):
        sheet.line([start, end], "#f2d06b", 1.4)
    for y, far in ((171, 59), (239, 351)):
        sheet.dashes([(330, y), (620, far)], "#f2d06b", 1.4)
    for turn in range(0, 360, 30):
        sheet.line([polar(sun, 66, turn), polar(sun, 78, turn)], "#f7b733", 3)
    sheet.ellipse(sun, 56, fill="#f9c846", outline="#f7a531", width=3)
    _earth(sheet, earth, 34)
    with sheet.part("Moon"):
        sheet.ellipse(moon, 14, fill="#b5533c", outline="#7d3021", width=1.6)
        for dx, dy, r in ((-4, -4, 3), (5, 2, 2.6), (-2, 6, 2)):
            sheet.dot((moon[0] + dx, moon[1] + dy), r, "#93402d")
    sheet.label((320, 30), "Total lunar eclipse", 24, "white")
    sheet.label((100, 304), "Sun", 20, "white")
    sheet.label((330, 264), "Earth", 20, "white")
    with sheet.part("Moon", label=True):
        sheet.line([(520, 222), (520, 244)], "white", 1.4)
        sheet.label((520, 258), "Moon", 20, "white")
    sheet.label((432, 206), "Umbra", 18, "white")
    sheet.label((556, 130), "Penumbra", 18, "white")
    sheet.label((560, 378), "Not to scale", 16, "#cdd6e8")
    return sheet


def _earth(sheet: Canvas, center: Point, radius: float) -> None:
    x, y = center
    sheet.ellipse(center, radius, fill="#3a86c8", outline=None)
    land = [(-20, -18), (-8, -26), (2, -18), (-4, -6), (-10, 4), (-20, 0)]
    other = [(4, 2), (16, -2), (20, 10), (10, 24), (4, 14)]
    for shape in (land, other):
        sheet.polygon(smooth([(x + a, y + b) for a, b in shape], closed=True), "#4f9d55", None)
    sheet.polygon([*bow(center, radius, radius, -90, 90), *bow(center, radius * 0.2, radius, 90, -90)], "#1d2f52", None)
    sheet.ellipse(center, radius, outline="#9ec5e8", width=1.6)


def bean() -> Canvas:
    """Four days in the life of a bean: the root grows first and downwards, then the shoot."""
    sheet = Canvas(640, 440, "#eef7fb")
    sheet.box((0, 250, 640, 440), "#8b6a4a", None)
    sheet.box((0, 246, 640, 254), "#5f452f", None)
    for x, y in (
        (24, 300),
        (120, 410),
        (196, 290),
        (262, 420),
        (350, 330),
        (420, 404),
        (500, 300),
        (560, 420),
        (616, 330),
    ):
        sheet.ellipse((x, y), 5, 3.4, "#6f5238", None)
    for x, day in ((80, "Day 1"), (220, "Day 4"), (370, "Day 7"), (540, "Day 12")):
        sheet.label((x, 30), day, 21, BLUE)
    _seed(sheet, (80, 300))
    _seed(sheet, (220, 300))
    _root(sheet, [(214, 312), (212, 336), (218, 362)], 0)
    _root(sheet, [(372, 300), (368, 340), (374, 392)], 4)
    with sheet.part("hook"):
        hook = smooth([(372.0, 302.0), (366.0, 260.0), (362.0, 226.0), (376.0, 204.0), (394.0, 220.0)])
        sheet.line(hook, "#9cc46a", 8)
        for dx, turn in ((-6, 0), (7, 0)):
            sheet.ellipse((397 + dx, 232 + turn), 9, 17, "#e7d7a8", "#a58a4a", 1.6)
    _root(sheet, [(540, 300), (536, 350), (544, 414)], 7)
    sheet.line(smooth([(540.0, 302.0), (536.0, 240.0), (541.0, 180.0), (540.0, 112.0)]), "#7fb04f", 8)
    for side in (-1, 1):
        sheet.polygon(_leaf((540 + 4 * side, 178), side, 26, 11), "#d6cf94", "#a58a4a", 1.6)
        sheet.polygon(_leaf((540 + 2 * side, 112), side, 64, 24), "#4f9d45", "#2f6b2c", 2)
        sheet.line([(540 + 2 * side, 112), (540 + 58 * side, 92)], "#2f6b2c", 1.4)
    sheet.callout((448, 166), "Cotyledon", (516, 170), 18, anchor="rm")
    sheet.callout((440, 66), "First leaves", (498, 94), 18, anchor="rm")
    sheet.line([(292, 352), (366, 358)], "white", 1.4)
    sheet.dot((366, 358), 2.6, "white")
    sheet.label((286, 352), "Root", 18, "white", "rm")
    sheet.label((80, 404), "Soil", 19, "white")
    return sheet


def _seed(sheet: Canvas, center: Point) -> None:
    x, y = center
    shape = [
        (x - 26, y),
        (x - 18, y - 16),
        (x + 4, y - 19),
        (x + 24, y - 9),
        (x + 25, y + 8),
        (x + 10, y + 12),
        (x - 3, y + 7),
        (x - 14, y + 13),
    ]
    sheet.polygon(smooth(shape, closed=True), "#e7d7a8", "#7d5f2a", 2)
    sheet.ellipse((x + 1, y + 7), 4, 2.4, "#7d5f2a", None)


def _root(sheet: Canvas, points: list[tuple[int, int]], hairs: int) -> None:
    path = smooth([(float(x), float(y)) for x, y in points])
    for n in range(hairs):
        x, y = path[(n + 1) * (len(path) - 1) // (hairs + 1)]
        side = -1 if n % 2 else 1
        sheet.line(smooth([(x, y), (x + 14 * side, y + 10), (x + 24 * side, y + 24)]), "#f3ead2", 2.4)
    sheet.line(path, "#f3ead2", 6)


def _leaf(base: Point, side: int, long: float, wide: float) -> list[Point]:
    x, y = base
    right = smooth(
        [
            (x, y),
            (x + long * 0.35, y - wide),
            (x + long * 0.8, y - wide * 0.9),
            (x + long, y - wide * 0.4),
            (x + long * 0.7, y + wide * 0.3),
            (x + long * 0.3, y + wide * 0.3),
        ],
        closed=True,
    )
    return right if side > 0 else mirrored(right, x)


def electrolysis() -> Canvas:
    """Water taken apart by a current: twice as much hydrogen as oxygen, each over its own pole."""
    sheet = Canvas(640, 500)
    left, right = 230.0, 410.0
    for x, level in ((left, 190.0), (right, 130.0)):
        sheet.box((x - 22, 70, x + 22, 372), "white", None)
        sheet.box((x - 20, level, x + 20, 372), "#bfe0f2", None)
    sheet.box((left - 22, 350, right + 22, 392), "#bfe0f2", None)
    for x in (left, right):
        outer, inner = (-22, 22) if x == left else (22, -22)
        sheet.line([(x + outer, 392), (x + outer, 70), (x + inner, 70), (x + inner, 350)], INK, 2.4)
        for tick in range(5):
            sheet.line([(x - 22, 100 + 30 * tick), (x - 14, 100 + 30 * tick)], GREY, 1.4)
        sheet.box((x - 7, 58, x + 7, 70), "#d9dee4", INK, 2)
    sheet.line([(left + 22, 350), (right - 22, 350)], INK, 2.4)
    sheet.line([(left - 22, 392), (right + 22, 392)], INK, 2.4)
    for x, level, color in ((left, 190.0, "#5c6f82"), (right, 130.0, "#5c6f82")):
        sheet.box((x - 5, 296, x + 5, 376), color, INK, 1.4)
        with sheet.part("bubbles"):
            for n in range(9 if x == left else 5):
                dx, y = (-12, 12, -3, 8, -9, 3, 13, -13, 0)[n], level + 12 + (276 - level) * n / 9
                sheet.ellipse((x + dx, y), 3.4, fill="white", outline=BLUE, width=1.4)
    sheet.line([(left, 376), (left, 452), (290, 452)], RED, 2.6)
    sheet.line([(right, 376), (right, 452), (350, 452)], RED, 2.6)
    for x, half, width in ((290, 14, 5.0), (310, 24, 2.6), (330, 14, 5.0), (350, 24, 2.6)):
        sheet.line([(x, 452 - half), (x, 452 + half)], INK, width)
    sheet.dashes([(310, 452), (330, 452)], INK, 2.4, on=4, off=4)
    sheet.label((left - 40, 110), "Hydrogen", 21, BLUE, "rm")
    sheet.label((left - 40, 140), "20 mL", 20, INK, "rm")
    sheet.label((right + 40, 96), "Oxygen", 21, BLUE, "lm")
    sheet.label((right + 40, 126), "10 mL", 20, INK, "lm")
    sheet.callout((150, 330), "Cathode", (left - 4, 330), 20, anchor="rm")
    sheet.callout((490, 330), "Anode", (right + 4, 330), 20, anchor="lm")
    sheet.label((left - 18, 440), "−", 30, RED)
    sheet.label((right + 18, 440), "+", 28, RED)
    sheet.label((320, 488), "Battery", 19)
    sheet.label((320, 30), "2 H₂O → 2 H₂ + O₂", 24)
    return sheet


def prism() -> Canvas:
    """White light spread by a glass prism: red is bent least, violet most."""
    sheet = Canvas(640, 420)
    top, left, right = (290.0, 80.0), (170.0, 288.0), (410.0, 288.0)
    entry, screen = (222.0, 199.0), 580.0
    sheet.polygon([top, left, right], "#e6f1f8", None)
    exits = [(354.0 + 2.4 * n, 192.0 + 4.2 * n) for n in range(7)]
    ends = [168.0 + 33.0 * n for n in range(7)]
    for n, color in enumerate(_RAINBOW):
        sheet.polygon([entry, exits[n], exits[n + 1]], color, None)
        sheet.polygon([exits[n], (screen, ends[n]), (screen, ends[n + 1]), exits[n + 1]], color, None)
    sheet.polygon([top, left, right], None, INK, 2.6)
    sheet.line([(30, 262), entry], PALE, 11)
    sheet.line([(30, 262), entry], "white", 8)
    sheet.arrow([(64, 250.5), (150, 222.5)], GREY, 1.8, head=10)
    sheet.line([(30, 267.5), (222, 204.5)], GREY, 1.2)
    sheet.line([(30, 256.5), (219, 194)], GREY, 1.2)
    with sheet.part("screen"):
        sheet.box((screen, 140, screen + 14, 396), "#eef1f4", INK, 2)
    sheet.label((92, 190), "White light", 20)
    sheet.label((290, 316), "Glass prism", 20)
    sheet.label((564, 156), "Red", 20, "#b02525", "rm")
    sheet.label((508, 356), "Violet", 20, "#5f3dc4", "rm")
    with sheet.part("screen"):
        sheet.label((572, 118), "Screen", 20)
    sheet.label((320, 34), "Dispersion", 24)
    return sheet


def volcano() -> Canvas:
    """A volcano in section: magma rises through the vent, ash and lava build up the cone."""
    sheet = Canvas(640, 460, "#dcecf7")
    with sheet.part("ash cloud"):
        for x, y, r in ((290, 70, 40), (330, 44, 46), (372, 74, 38), (330, 92, 36)):
            sheet.ellipse((x, y), r, r * 0.8, "#8f959c", None)
    for n, fill in enumerate(("#8a6a4a", "#a98a5f", "#7d5f45", "#9c7c55")):
        sheet.polygon([(330, 120 + 6 * n), (600 - 60 * n, 330), (60 + 60 * n, 330)], fill, None)
    sheet.box((0, 328, 640, 460), "#6b5a4a", None)
    sheet.polygon([(316, 130), (344, 130), (340, 370), (320, 370)], "#e8590c", None)
    with sheet.part("magma chamber"):
        sheet.ellipse((330, 406), 120, 42, "#e03131", "#a61e1e", 3)
    sheet.line(smooth([(344, 132), (420, 196), (470, 250), (540, 322)]), "#e8590c", 10)
    with sheet.part("ash cloud", label=True):
        sheet.callout((470, 60), "Ash cloud", (372, 66), 20)
    sheet.callout((150, 110), "Crater", (316, 130), 20, anchor="rm")
    sheet.callout((556, 200), "Lava flow", (470, 248), 20, anchor="ms")
    sheet.callout((170, 236), "Vent", (322, 280), 20, anchor="rm")
    with sheet.part("magma chamber", label=True):
        sheet.label((330, 406), "Magma chamber", 20, "white")
    sheet.label((150, 30), "Stratovolcano", 24)
    return sheet


def lever() -> Canvas:
    """A plank in balance: the heavier load stands nearer to the support."""
    sheet = Canvas(640, 380)
    sheet.polygon([(320, 250), (290, 320), (350, 320)], "#d9dee4", INK, 2.4)
    sheet.box((80, 238, 560, 250), "#b98b4e", INK, 2)
    sheet.line([(60, 320), (580, 320)], INK, 3)
    sheet.box((166, 158, 246, 238), "#1f6fb2", INK, 2.4)
    with sheet.part("lighter load"):
        sheet.box((450, 186, 502, 238), "#c2352b", INK, 2.4)
    for x, top, size in ((206, 140, 46), (476, 168, 24)):
        sheet.arrow([(x, top - size), (x, top)], INK, 3, head=13)
    with sheet.part("distances"):
        sheet.arrow([(206, 276), (288, 276)], GREY, 2, both=True)
        sheet.arrow([(352, 276), (476, 276)], GREY, 2, both=True)
    sheet.label((206, 198), "20 kg", 20, "white")
    sheet.label((476, 212), "10 kg", 15, "white")
    sheet.label((240, 298), "1 m", 18)
    sheet.label((420, 298), "2 m", 18)
    sheet.label((320, 344), "Fulcrum", 20)
    sheet.label((320, 40), "Balanced lever", 24)
    return sheet
