"""Pictures of nature: a life cycle, day and night, states of matter, an edited genome."""

from __future__ import annotations

import math

from tools.samples.genexam.canvas import BLUE, GREEN, GREY, INK, ORANGE, RED, Canvas
from tools.samples.genexam.paths import Point, bow, mirrored, polar, smooth, turned

LEAF = "#7cb66b"
BARK = "#8a5a2b"


def butterfly() -> Canvas:
    """Egg, caterpillar, chrysalis, butterfly, round in a ring."""
    sheet = Canvas(600, 560)
    middle = (300.0, 275.0)
    for begin, stage in ((-52, "egg"), (42, "caterpillar"), (108, "chrysalis"), (218, "butterfly")):
        with sheet.part(f"arrow after the {stage}"):
            sheet.arrow(bow(middle, 190, 170, begin, begin + 26), GREY, 4, head=18)
    _egg_on_leaf(sheet, (300, 95))
    _caterpillar(sheet, (486, 275))
    _chrysalis(sheet, (300, 440))
    _imago(sheet, (112, 275))
    sheet.callout((428, 48), "Leaf", (372, 90), 20)
    sheet.label((300, 146), "Egg", 22)
    sheet.label((486, 350), "Caterpillar", 22)
    sheet.label((300, 532), "Chrysalis", 22)
    sheet.label((112, 356), "Butterfly", 22)
    return sheet


def _leaf(sheet: Canvas, at: Point, long: float) -> None:
    x, y = at
    upper = smooth([(x - long, y), (x - long / 2, y - long * 0.34), (x + long / 2, y - long * 0.26), (x + long, y)])
    lower = [(px, 2 * y - py) for px, py in reversed(upper)]
    sheet.polygon([*upper, *lower], LEAF, "#4d7f3f", 2)
    sheet.line([(x - long, y), (x + long, y)], "#4d7f3f", 2)


def _egg_on_leaf(sheet: Canvas, at: Point) -> None:
    x, y = at
    _leaf(sheet, (x, y), 88)
    sheet.ellipse((x, y - 14), 13, 17, "#fff8d8", "#b39b3c", 2)
    for dx in (-5, 0, 5):
        sheet.line([(x + dx, y - 26), (x + dx, y - 3)], "#d8c678", 1)


def _caterpillar(sheet: Canvas, at: Point) -> None:
    x, y = at
    _leaf(sheet, (x, y + 24), 86)
    # What it has eaten is missing from the leaf.
    for dx, r in ((68, 15), (86, 12)):
        sheet.dot((x + dx, y + 4), r, "white")
    for step in range(6):
        sheet.ellipse(
            (x - 52 + step * 20, y - 6 * math.sin(step * 1.3)), 15, fill="#a8cf4a", outline="#5d7f1e", width=2
        )
    head = (x + 66, y - 6)
    sheet.ellipse(head, 14, fill="#e0b13c", outline="#80611a", width=2)
    sheet.dot((head[0] + 5, head[1] - 3), 2.4)
    for tilt in (-8, 6):
        sheet.line([(head[0] + tilt / 2, head[1] - 12), (head[0] + tilt, head[1] - 24)], INK, 1.6)


def _chrysalis(sheet: Canvas, at: Point) -> None:
    x, y = at
    sheet.line([(x - 80, y - 58), (x + 80, y - 64)], BARK, 8)
    sheet.line([(x, y - 58), (x, y - 40)], INK, 2)
    side = [(x, y - 42), (x + 18, y - 24), (x + 24, y + 6), (x + 13, y + 40), (x, y + 62)]
    half = smooth(side)
    sheet.polygon([*half, *reversed(mirrored(half, x))], "#9cc58a", "#4d7f3f", 2)
    for dy in (2, 18, 34):
        sheet.line(bow((x, y + dy - 4), 21 - dy * 0.22, 6, 20, 160), "#5f9150", 1.6)


def _imago(sheet: Canvas, at: Point) -> None:
    x, y = at
    upper = [(x + 4, y - 8), (x + 30, y - 58), (x + 78, y - 62), (x + 76, y - 20), (x + 30, y)]
    lower = [(x + 4, y + 2), (x + 40, y + 6), (x + 64, y + 30), (x + 42, y + 56), (x + 12, y + 30)]
    for wing, fill in ((lower, "#f3b35c"), (upper, ORANGE)):
        for points in (wing, mirrored(wing, x)):
            sheet.polygon(smooth(points, closed=True), fill, "#7c4310", 2)
    for dx in (-54, 54):
        sheet.dot((x + dx, y - 40), 8, "#fff3d0")
    sheet.ellipse((x, y), 6, 34, INK, None)
    for turn in (-1, 1):
        sheet.line(smooth([(x, y - 32), (x + turn * 10, y - 50), (x + turn * 20, y - 58)]), INK, 1.8)


def day_and_night() -> Canvas:
    """The Sun lights one half of the Earth; the other lies in the dark."""
    sheet = Canvas(640, 420)
    sun, earth = (95.0, 205.0), (450.0, 205.0)
    for degrees in range(0, 360, 20):
        sheet.line([polar(sun, 66, degrees), polar(sun, 80, degrees)], "#e3a008", 3)
    sheet.ellipse(sun, 58, fill="#ffd54a", outline="#e3a008", width=3)
    sheet.label(sun, "Sun", 24)
    for y in (130, 180, 230, 280):
        sheet.arrow([(188, y), (322, y)], "#e3a008", 3, head=14)
    sheet.label((254, 103), "Sunlight", 20, "#8a6100")
    sheet.ellipse(earth, 112, fill="#9fd0f5", outline=None)
    sheet.polygon(bow(earth, 112, 112, -90, 90), "#2c3e66", None)
    for land in (
        [(372, 160), (400, 128), (428, 140), (432, 186), (404, 214), (380, 196)],
        [(396, 236), (424, 232), (434, 262), (412, 288)],
    ):
        sheet.polygon(smooth(land, closed=True), LEAF, None)
    sheet.polygon(smooth([(478, 150), (512, 146), (530, 186), (500, 214), (474, 196)], closed=True), "#3f5a45", None)
    sheet.ellipse(earth, 112, width=3)
    tilt = turned([(earth[0], earth[1] - 150), (earth[0], earth[1] + 150)], earth, 23.4)
    with sheet.part("axis"):
        sheet.dashes(tilt, RED, 3)
    sheet.label((393, 224), "Day side", 18, back="#9fd0f5")
    sheet.label((503, 236), "Night side", 18, "white", back="#2c3e66")
    with sheet.part("axis"):
        sheet.label((tilt[0][0] + 12, tilt[0][1] + 8), "Axis", 20, RED, "lm")
    sheet.callout((580, 392), "Earth", (520, 292), 20, anchor="mt")
    return sheet


def states_of_matter() -> Canvas:
    """Particles packed, loose and free, and the changes between the three."""
    sheet = Canvas(640, 400)
    boxes: list[tuple[str, float, list[Point]]] = [
        ("Solid", 105, [(x * 24 - 48.0, y * 24 - 48.0) for x in range(5) for y in range(5)]),
        ("Liquid", 320, [(-50, 50), (-22, 46), (8, 51), (38, 48), (-38, 22), (-8, 24), (24, 20), (50, 24), (-50, 0),
                         (-20, 0), (12, -4), (42, -2), (-36, -22), (2, -26), (30, -24)]),
        ("Gas", 535, [(-44, -40), (6, -52), (46, -20), (-16, 4), (-48, 42), (22, 34), (50, 52)]),
    ]  # fmt: skip
    colors = {"Solid": BLUE, "Liquid": GREEN, "Gas": ORANGE}
    for name, x, particles in boxes:
        sheet.box((x - 70, 130, x + 70, 270), "white", INK, 2.4, radius=6)
        for dx, dy in particles:
            sheet.ellipse((x + dx, 200 + dy), 11, fill=colors[name], outline="white", width=1)
        sheet.label((x, 296), name, 22)
    for a, b, there, back in ((105, 320, "Melting", "Freezing"), (320, 535, "Evaporation", "Condensation")):
        middle = (a + b) / 2
        with sheet.part(f"arrow of {there.lower()}"):
            sheet.arrow(bow((middle, 122), 78, 48, 190, 350), RED, 3, head=14)
        sheet.arrow(bow((middle, 318), 78, 36, -10, -170 + 360), BLUE, 3, head=14)
        sheet.label((middle, 54), there, 20, RED)
        sheet.label((middle, 374), back, 20, BLUE)
    sheet.callout((320, 92), "Particles", (322, 176), 18, anchor="ms")
    return sheet


def genome_editing() -> Canvas:
    """Cas9 with its guide cuts DNA beside a PAM; the cut is closed in one of two ways."""
    sheet = Canvas(640, 600)
    _helix(sheet, (40, 600), 150)
    sheet.ellipse((290, 142), 122, 84, fill="#e6eef8", outline=BLUE, width=3)
    _helix(sheet, (150, 450), 150)
    sheet.line(smooth([(196, 112), (230, 120), (300, 118), (372, 124), (398, 104), (384, 82), (360, 92)]), RED, 4)
    for x in range(210, 372, 18):
        sheet.line([(x, 119), (x, 134)], RED, 2)
    sheet.box((376, 128, 432, 172), None, "#8a6d00", 3, radius=6)
    sheet.label((252, 84), "Cas9", 21, BLUE)
    sheet.callout((462, 62), "Guide RNA", (394, 98), 19)
    sheet.callout((462, 106), "PAM", (430, 132), 19)
    sheet.callout((72, 90), "Target DNA", (88, 136), 19, anchor="ms")
    sheet.line([(352, 126), (340, 178)], INK, 3)
    sheet.arrow([(320, 236), (320, 282)], INK, 3, head=14)
    _helix(sheet, (120, 296), 318)
    _helix(sheet, (344, 520), 318)
    sheet.label((320, 362), "Double-strand break", 20, RED)
    sheet.arrow([(262, 384), (170, 432)], INK, 3, head=14)
    sheet.arrow([(378, 384), (470, 432)], INK, 3, head=14)
    _helix(sheet, (60, 150), 462)
    _helix(sheet, (162, 260), 462)
    sheet.box((148, 448, 164, 476), RED, None)
    sheet.label((160, 508), "End joining", 20)
    _helix(sheet, (380, 590), 462)
    sheet.box((452, 446, 518, 478), None, GREEN, 3, radius=4)
    sheet.label((485, 508), "Homology-directed repair", 19)
    with sheet.part("donor template"):
        sheet.box((452, 548, 518, 572), "#dcefdc", GREEN, 3, radius=4)
        sheet.arrow([(485, 546), (485, 524)], GREEN, 2.4, head=10)
        sheet.label((440, 560), "Donor template", 19, GREEN, "rm")
    return sheet


def _helix(sheet: Canvas, ends: tuple[float, float], y: float) -> None:
    """A stretch of double helix between two places."""
    left, right = ends
    steps = [left + (right - left) * i / 60 for i in range(61)]
    waves = [[(x, y + turn * 13 * math.sin((x - 40) / 17)) for x in steps] for turn in (1, -1)]
    for x in range(math.ceil(left / 9) * 9, int(right), 9):
        rise = 13 * math.sin((x - 40) / 17)
        if abs(rise) > 4:
            sheet.line([(x, y - rise), (x, y + rise)], "#b8c2cc", 1.6)
    for wave, color in zip(waves, ("#4a6fa5", "#5b8c6e"), strict=True):
        sheet.line(wave, color, 3)
