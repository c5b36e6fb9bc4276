"""Pictures of ground, air and sea: a soil profile, sea and land breeze, a plate going under."""

from __future__ import annotations

import math

from tools.samples.genexam.canvas import BLUE, GREY, INK, RED, Canvas
from tools.samples.genexam.paths import Point, polar, smooth

_SEA = "#7db9e0"
_LAND = "#b9a06a"
_GRASS = "#6f9f4f"


def soil_profile() -> Canvas:
    """A cut through the ground from grass to bedrock."""
    sheet = Canvas(440, 620)
    layers = (
        (130, 164, "#3d2b1f"),
        (164, 258, "#6b4a2f"),
        (258, 372, "#a5713f"),
        (372, 486, "#c9a877"),
        (486, 604, "#9aa0a6"),
    )
    for top, bottom, fill in layers:
        sheet.box((20, top, 250, bottom), fill, INK, 1.4)
    _plant(sheet)
    _stones(sheet)
    names = ("Organic layer", "Topsoil", "Subsoil", "Parent material", "Bedrock")
    for (top, bottom, _), name in zip(layers, names, strict=True):
        middle = (top + bottom) / 2
        sheet.line([(250, middle), (272, middle)], INK, 1.4)
        sheet.label((278, middle), name, 19, anchor="lm")
    sheet.callout((278, 96), "Grass", (176, 104), 19, anchor="lm")
    sheet.callout((278, 240), "Roots", (139, 232), 19, anchor="lm")
    for x in (186, 210):
        sheet.arrow([(x, 190), (x, 300)], "#bfe3ff", 4, head=14)
    sheet.callout((278, 286), "Leaching", (214, 276), 19, anchor="lm")
    return sheet


def _plant(sheet: Canvas) -> None:
    for x, lean in ((44, -10), (70, 8), (96, -6), (122, 10), (150, -9), (176, 7), (204, -8), (230, 10)):
        for turn in (-1, 0, 1):
            tip = (x + lean + 13 * turn, 84 + 10 * abs(turn))
            sheet.line(smooth([(x, 130), (x + lean / 2, 108), tip]), _GRASS, 3)
    for x, depth in ((70, 238), (122, 268), (150, 232)):
        for turn in (-1, 0, 1):
            end = (x + 24 * turn, depth - 26 * abs(turn))
            with sheet.part("roots"):
                sheet.line(smooth([(x, 130), (x + 6 * turn, 180), end]), "#e6d3b3", 2)


def _stones(sheet: Canvas) -> None:
    stones = (
        (52, 400, 17),
        (104, 436, 22),
        (160, 404, 15),
        (206, 446, 20),
        (64, 460, 14),
        (148, 466, 12),
        (226, 398, 12),
    )
    for x, y, size in stones:
        corners = [polar((x, y), size * (1 + 0.18 * math.sin(5 * n + x)), 60 * n + x) for n in range(6)]
        sheet.polygon(corners, "#8f8577", "#5f574c", 1.4)
    for path in (
        [(20, 530), (80, 520), (130, 540), (190, 524), (250, 536)],
        [(80, 520), (92, 560), (84, 604)],
        [(190, 524), (178, 566), (196, 604)],
    ):
        sheet.line(path, "#5f666d", 1.8)


def breezes() -> Canvas:
    """The wind at the coast by day and by night, one above the other."""
    sheet = Canvas(440, 640)
    _coast(sheet, 0, "#dff0fb")
    _coast(sheet, 322, "#33415c")
    sheet.label((14, 24), "(a)", 19, anchor="lm")
    sheet.label((96, 24), "Day", 22, anchor="lm")
    with sheet.part("sun"):
        sheet.ellipse((400, 42), 24, fill="#fbd24e", outline="#e0a526")
    _wind(sheet, 0, RED, BLUE, seaward=False)
    sheet.label((240, 188), "Sea breeze", 19)
    sheet.label((14, 346), "(b)", 19, "#f2f4f8", "lm")
    sheet.label((96, 346), "Night", 22, "#f2f4f8", "lm")
    sheet.ellipse((400, 364), 22, fill="#f4f1de", outline=None)
    sheet.ellipse((391, 358), 19, fill="#33415c", outline=None)
    _wind(sheet, 322, "#ff9a8a", "#9fd0ff", seaward=True)
    sheet.label((240, 510), "Land breeze", 19, "#f2f4f8")
    return sheet


def _coast(sheet: Canvas, top: float, sky: str) -> None:
    sheet.box((0, top, 440, top + 318), sky, None)
    land = smooth([(0, top + 228), (70, top + 222), (140, top + 226), (196, top + 240), (230, top + 262)])
    sheet.box((200, top + 252, 440, top + 318), _SEA, None)
    sheet.polygon([*land, (250, top + 318), (0, top + 318)], _LAND, None)
    for x in (40, 92):
        sheet.box((x - 3, top + 206, x + 3, top + 226), "#6b4a2f", None)
        sheet.polygon([(x - 18, top + 210), (x + 18, top + 210), (x, top + 176)], _GRASS, None)
    sheet.label((110, top + 280), "Land", 20)
    sheet.label((350, top + 286), "Sea", 20)


def _wind(sheet: Canvas, top: float, warm: str, cool: str, seaward: bool) -> None:
    """The circle of air: up over the warmer side, back down over the cooler one."""
    left, right = 150.0, 330.0
    up, down = (right, left) if seaward else (left, right)
    sheet.arrow([(up, top + 200), (up, top + 100)], warm, 4, head=16)
    sheet.arrow([(down, top + 100), (down, top + 200)], cool, 4, head=16)
    near, far = (24, -24) if up < down else (-24, 24)
    sheet.arrow([(up + near, top + 82), (down + far, top + 82)], GREY, 3, head=14)
    sheet.arrow([(down + far, top + 214), (up + near, top + 214)], cool, 5, head=18)
    for x, word in ((up, "Warm air"), (down, "Cool air")):
        color = warm if x == up else cool
        anchor = "rm" if x == left else "lm"
        sheet.label((x + (-14 if x == left else 14), top + 136), word, 19, color, anchor)


def subduction() -> Canvas:
    """An oceanic plate that goes under a continental one, with the volcano above."""
    sheet = Canvas(640, 400, "#eaf4fb")
    sheet.box((0, 196, 640, 400), "#e8a77c", None)
    sheet.polygon([(0, 118), (386, 118), (340, 150), (300, 196), (0, 196)], _SEA, None)
    sheet.polygon(_CONTINENT, _LAND, INK, 1.6)
    sheet.polygon(_PLATE, "#6f7f8f", INK, 1.6)
    with sheet.part("magma"):
        sheet.polygon(_VENT, RED, None)
    for x, y, size in ((444, 40, 14), (460, 27, 17), (482, 19, 13)):
        sheet.ellipse((x, y), size, fill="#c3cad1", outline=None)
    sheet.arrow([(30, 172), (120, 172)], "white", 4, head=15)
    sheet.arrow([(352, 262), (416, 330)], "white", 4, head=15)
    sheet.label((70, 134), "Ocean", 19)
    sheet.callout((150, 232), "Oceanic plate", (150, 186), 19, anchor="ma")
    sheet.label((550, 166), "Continental plate", 18)
    sheet.callout((270, 74), "Trench", (302, 178), 19, anchor="ms")
    sheet.callout((540, 60), "Volcano", (466, 84), 19, anchor="lm")
    sheet.callout((510, 290), "Magma", (460, 284), 19, anchor="lm")
    sheet.label((120, 340), "Mantle", 20)
    return sheet


_PLATE: list[Point] = [
    (0, 148), (210, 150), (276, 168), (330, 206), (400, 276), (470, 352),
    (430, 386), (360, 314), (296, 246), (240, 210), (190, 198), (0, 196),
]  # fmt: skip
_CONTINENT: list[Point] = [
    (300, 188), (326, 150), (380, 118), (402, 112), (432, 60), (444, 58), (456, 60), (490, 112),
    (560, 106), (640, 110), (640, 224), (346, 224),
]  # fmt: skip
_VENT: list[Point] = [
    (432, 60), (444, 58), (456, 60), (449, 120), (448, 250), (470, 282), (444, 300), (416, 282), (440, 250), (439, 120),
]  # fmt: skip


def atmosphere() -> Canvas:
    """The layers of the air from the ground to space, with what happens in each."""
    sheet = Canvas(460, 640)
    layers = (
        (0, 150, "#14213d", "Thermosphere"),
        (150, 290, "#2f4a7d", "Mesosphere"),
        (290, 440, "#5f8fc7", "Stratosphere"),
        (440, 600, "#a9d0f0", "Troposphere"),
    )
    for top, bottom, fill, _ in layers:
        sheet.box((0, top, 290, bottom), fill, None)
    sheet.box((0, 600, 290, 640), _GRASS, None)
    for x, y in ((70, 30), (150, 70), (230, 40)):
        sheet.dot((x, y), 1.8, "white")
    with sheet.part("aurora"):
        for x in range(40, 250, 14):
            sheet.line(smooth([(x, 130.0), (x + 6, 110.0), (x - 2, 92.0)]), "#7fe0a8", 4)
    with sheet.part("meteor"):
        sheet.line([(60, 180), (150, 240)], "#ffd54a", 4)
        sheet.dot((152, 242), 7, "#f08c00")
    with sheet.part("ozone layer"):
        sheet.line([(0, 360), (290, 360)], "#c9f0ff", 8)
    for dx in (-26, 0, 26):
        sheet.ellipse((130 + dx, 520), 26, 18, "white", None)
    for top, bottom, _, name in layers:
        sheet.label((302, (top + bottom) / 2 + (18 if name == "Stratosphere" else 0)), name, 19, anchor="lm")
    sheet.callout((302, 118), "Aurora", (238, 112), 18, anchor="lm")
    sheet.callout((302, 262), "Meteor", (158, 242), 18, anchor="lm")
    sheet.callout((302, 346), "Ozone layer", (270, 360), 18, anchor="lm")
    sheet.callout((302, 566), "Clouds", (160, 524), 18, anchor="lm")
    sheet.label((145, 620), "Ground", 19)
    return sheet
