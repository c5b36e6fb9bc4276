"""Landscapes that take knowledge of a country: a polder, the Nile at dusk."""

from __future__ import annotations

from tools.samples.genexam.canvas import INK, Canvas
from tools.samples.genexam.paths import Point, bow, polar, smooth, turned

_WOOD = "#7a5236"


def polder() -> Canvas:
    """Land below the sea behind its dyke, kept dry by a windmill, with tulip fields in flower."""
    sheet = Canvas(640, 440, "#dcecf7")
    for x, y in ((120, 58), (300, 40), (560, 66)):
        for dx, r in ((-26, 15), (0, 22), (26, 16)):
            sheet.ellipse((x + dx, y), r, r * 0.7, "white", None)
    sheet.polygon([(0, 236), (222, 236), (190, 440), (0, 440)], "#6fa8cf", None)
    for x in range(8, 190, 44):
        sheet.line(smooth([(x, 250.0), (x + 11, 246.0), (x + 22, 250.0), (x + 33, 246.0)]), "#a9d0e8", 2)
    sheet.polygon(
        [(150, 440), (180, 380), (214, 236), (236, 206), (278, 206), (330, 318), (640, 318), (640, 440)],
        "#a98a5f",
        None,
    )
    sheet.polygon(
        [(208, 244), (236, 204), (278, 204), (332, 318), (318, 318), (272, 214), (242, 214), (216, 250)],
        "#6f9d4f",
        None,
    )
    sheet.box((330, 312, 640, 322), "#6f9d4f", None)
    sheet.polygon([(344, 316), (420, 316), (412, 346), (352, 346)], "#6fa8cf", None)
    sheet.dashes([(0, 236), (640, 236)], "#1f4e79", 2, on=9, off=6)
    _tulips(sheet)
    with sheet.part("windmill"):
        _mill(sheet, (474, 312))
    _bicycle(sheet, (258, 186))
    sheet.label((92, 300), "North Sea", 21, "#12395c")
    sheet.label((254, 270), "Dyke", 19, "white")
    sheet.label((382, 372), "Canal", 18, "white")
    sheet.line([(382, 360), (382, 338)], "white", 1.6)
    sheet.label((548, 400), "Polder", 21, "white")
    sheet.label((90, 218), "Sea level", 18, "#1f4e79")
    return sheet


def _tulips(sheet: Canvas) -> None:
    for row, (y, color) in enumerate(((272, "#d6336c"), (286, "#f2b705"), (300, "#e8590c"))):
        for x in range(534 + 6 * row, 636, 15):
            sheet.line([(x, 316), (x, y)], "#4d7c36", 2)
            sheet.polygon(
                [
                    (x - 6, y - 11),
                    (x - 3, y - 5),
                    (x, y - 12),
                    (x + 3, y - 5),
                    (x + 6, y - 11),
                    (x + 5, y + 2),
                    (x - 5, y + 2),
                ],
                color,
                None,
            )


def _mill(sheet: Canvas, foot: Point) -> None:
    x, y = foot
    sheet.polygon([(x - 40, y), (x - 32, y - 46), (x + 32, y - 46), (x + 40, y)], "#b0614a", INK, 1.8)
    sheet.polygon([(x - 32, y - 46), (x - 20, y - 126), (x + 20, y - 126), (x + 32, y - 46)], "#8a7354", INK, 1.8)
    sheet.box((x - 44, y - 50, x + 44, y - 44), "#5b4632", None)
    sheet.polygon(bow((x, y - 126), 23, 24, 180, 360), "#5b4632", INK, 1.8)
    sheet.box((x - 9, y - 26, x + 9, y), "#3f6b3a", INK, 1.4)
    sheet.box((x - 6, y - 86, x + 6, y - 70), "#f6e7b0", INK, 1.4)
    hub = (x, y - 132)
    for turn in (28, 118, 208, 298):
        for reach in (0, 12):
            sheet.line([_arm(hub, 16, turn, reach), _arm(hub, 104, turn, reach)], "#4a3826", 2.2)
        for step in range(16, 105, 11):
            sheet.line([_arm(hub, step, turn, 0), _arm(hub, step, turn, 12)], "#4a3826", 1.4)
        sheet.line([hub, _arm(hub, 104, turn, 0)], "#4a3826", 3)
    sheet.dot(hub, 6, "#c23b3b")


def _arm(hub: Point, along: float, turn: float, aside: float) -> Point:
    return turned([(hub[0] + along, hub[1] + aside)], hub, turn)[0]


def _bicycle(sheet: Canvas, center: Point) -> None:
    x, y = center
    for dx in (-17, 17):
        sheet.ellipse((x + dx, y + 6), 11, outline=INK, width=2)
    for path in (
        [(x - 17, y + 6), (x - 5, y + 6), (x + 10, y - 10), (x - 9, y - 10), (x - 17, y + 6)],
        [(x - 5, y + 6), (x - 11, y - 15)],
        [(x + 17, y + 6), (x + 9, y - 16), (x + 16, y - 19)],
    ):
        sheet.line(path, "#c23b3b", 2.2)
    sheet.line([(x - 16, y - 16), (x - 6, y - 16)], INK, 3)


def nile_dusk() -> Canvas:
    """A felucca before the three great pyramids, with the sun going down behind them."""
    sheet = Canvas(640, 440, "#f7c983")
    for top, bottom, color in ((0, 60, "#e58f5c"), (60, 110, "#eda468"), (110, 160, "#f3b775")):
        sheet.box((0, top, 640, bottom), color, None)
    sheet.ellipse((214, 196), 50, fill="#fff0b3", outline=None)
    sheet.ellipse((214, 196), 42, fill="#fde07a", outline=None)
    _pyramid(sheet, (150, 244), 104, 104, cap=False)
    _pyramid(sheet, (330, 244), 96, 100, cap=True)
    _pyramid(sheet, (468, 244), 44, 46, cap=False)
    sheet.polygon(
        [(0, 240), *smooth([(0.0, 240.0), (160.0, 234.0), (330.0, 242.0), (640.0, 234.0)]), (640, 300), (0, 300)],
        "#d9a45f",
        None,
    )
    sheet.box((0, 268, 640, 276), "#7f9a4f", None)
    with sheet.part("palms"):
        for x, y in ((46, 270), (84, 272), (548, 270), (592, 272), (618, 270)):
            _palm(sheet, (float(x), float(y)), 62 if x % 4 else 74)
    sheet.box((0, 274, 640, 440), "#4f88a3", None)
    for y, left, right in (
        (290, 160, 268),
        (304, 40, 130),
        (330, 20, 120),
        (352, 430, 560),
        (408, 220, 270),
        (424, 400, 520),
    ):
        sheet.line([(left, y), (right, y)], "#86b3c4", 2)
    for n, y in enumerate(range(282, 346, 10)):
        sheet.line([(214 - 34 + 4 * n, y), (214 + 34 - 4 * n, y)], "#f3cf86", 3)
    _felucca(sheet, (380, 386))
    sheet.label((560, 390), "Nile", 22, "#dcecf4")
    bank = smooth([(0.0, 392.0), (80.0, 388.0), (150.0, 404.0), (190.0, 440.0)])
    sheet.polygon([*bank, (0, 440)], "#c79a5c", None)
    sheet.box((71, 340, 79, 412), _WOOD, None)
    sheet.box((24, 318, 126, 358), "#f4e4c1", _WOOD, 3)
    sheet.label((75, 338), "Giza", 24)
    return sheet


def _pyramid(sheet: Canvas, foot: Point, half: float, height: float, cap: bool) -> None:
    x, y = foot
    tip, edge = (x, y - height), (x + half * 0.42, y + 6)
    sheet.polygon([(x - half, y), tip, edge], "#c98f4e", None)
    sheet.polygon([edge, tip, (x + half, y)], "#9a6a38", None)
    for n in range(1, 9):
        share = n / 9
        left, right = x - half * share, x + half * 0.42 * share
        sheet.line([(left, y - height * (1 - share)), (right, y - height * (1 - share) + 6 * share)], "#b27a3f", 1.2)
    if cap:
        tooth = [
            (x - 26, y - height + 27),
            (x - 14, y - height + 22),
            (x - 4, y - height + 30),
            (x + 8, y - height + 24),
            (x + 18, y - height + 28),
            (x + 26, y - height + 25),
        ]
        sheet.polygon([tip, *tooth], "#f4e3bd", None)


def _palm(sheet: Canvas, foot: Point, height: float) -> None:
    x, y = foot
    top = (x + 5, y - height)
    sheet.line(smooth([(x, y), (x + 1, y - height / 2), top]), "#5a3d28", 5)
    for turn, reach in ((200, 30), (235, 28), (270, 24), (305, 28), (340, 30), (165, 26), (15, 26)):
        end = polar(top, reach, turn)
        bend = polar(top, reach * 0.6, turn - 8)
        sheet.line(smooth([top, (bend[0], bend[1] - 6), (end[0], end[1] + 6)]), "#3f6b3a", 4)
    for dx in (-4, 0, 4):
        sheet.dot((top[0] + dx, top[1] + 5), 3, "#8f4a1f")


def _felucca(sheet: Canvas, center: Point) -> None:
    x, y = center
    sheet.line([(x - 8, y + 2), (x - 4, y - 120)], "#5a3d28", 4)
    sail = smooth([(x - 62, y - 62), (x + 30, y - 130), (x + 78, y - 176)], 8)
    back = smooth([(x + 78, y - 176), (x + 84, y - 90), (x + 66, y - 18)], 8)
    sheet.polygon(
        [*sail, *back, *smooth([(x + 66, y - 18), (x, y - 34), (x - 62, y - 62)], 8)], "#fff6e3", "#a58a63", 2
    )
    sheet.line([(x - 70, y - 56), (x + 84, y - 182)], "#5a3d28", 4)
    hull = [(x - 96, y - 8), (x - 76, y + 18), (x + 66, y + 18), (x + 92, y - 10)]
    sheet.polygon([*hull, *smooth([(x + 92, y - 10), (x, y + 4), (x - 96, y - 8)])], "#efe6d6", "#5a3d28", 2.4)
    sheet.line(smooth([(x - 90, y - 1), (x, y + 10), (x + 86, y - 3)]), "#2f76a0", 4)
    sheet.polygon([(x + 36, y), (x + 42, y - 26), (x + 58, y - 26), (x + 64, y)], "#f7f2e8", "#8a7354", 1.4)
    sheet.ellipse((x + 50, y - 34), 8, 9, "#a5744a", None)
    sheet.polygon(bow((x + 50, y - 37), 10, 8, 180, 360), "white", "#8a7354", 1.2)


def acropolis() -> Canvas:
    """The Parthenon on its rock above Athens, with a Greek flag and an olive tree."""
    sheet = Canvas(640, 440, "#bfe0f5")
    sheet.polygon([*smooth([(0, 330), (120, 262), (320, 240), (520, 262), (640, 330)]), (640, 440), (0, 440)],
                  "#cdb892", "#9a855f", 2)  # fmt: skip
    sheet.box((150, 222, 490, 246), "#e9dfc8", "#9a8f76", 2)
    with sheet.part("columns"):
        for n in range(8):
            x = 170 + n * 43
            sheet.box((x - 10, 120, x + 10, 222), "#f4ecd9", "#9a8f76", 1.6)
            for dx in (-4, 4):
                sheet.line([(x + dx, 126), (x + dx, 218)], "#cfc4a8", 1.2)
    sheet.box((150, 102, 490, 120), "#efe6d0", "#9a8f76", 2)
    sheet.polygon([(146, 102), (320, 44), (494, 102)], "#efe6d0", "#9a8f76", 2)
    with sheet.part("flag"):
        sheet.line([(560, 280), (560, 120)], INK, 3)
        for n in range(9):
            sheet.box((562, 122 + n * 8, 622, 130 + n * 8), "#1f5fa8" if n % 2 == 0 else "white", None)
        sheet.box((562, 122, 592, 162), "#1f5fa8", None)
        sheet.box((574, 122, 580, 162), "white", None)
        sheet.box((562, 139, 592, 145), "white", None)
    with sheet.part("olive tree"):
        sheet.polygon([(70, 390), (76, 330), (92, 330), (98, 390)], "#6f5a42", None)
        for x, y in ((60, 312), (90, 296), (114, 316), (84, 326)):
            sheet.ellipse((x, y), 30, 22, "#8a9f6a", None)
        for x, y in ((56, 308), (92, 292), (112, 318), (80, 322)):
            sheet.dot((x, y), 4, "#4a4f2a")
    sheet.box((250, 336, 390, 372), "#f4e4c1", _WOOD, 3)
    sheet.label((320, 354), "Acropolis", 22)
    sheet.label((320, 410), "Athens", 22, "#5b4632")
    return sheet


def red_rock() -> Canvas:
    """The great red rock of Australia at sunset, with a warning sign by the road."""
    sheet = Canvas(640, 420, "#f3b775")
    sheet.box((0, 0, 640, 90), "#e58f5c", None)
    with sheet.part("sun"):
        sheet.ellipse((560, 190), 34, fill="#fde07a", outline=None)
    sheet.polygon(
        smooth([(90, 250), (120, 160), (200, 128), (360, 122), (470, 140), (520, 190), (540, 250)]),
        "#b5482a",
        "#7d2f1b",
        2,
    )
    for x in range(150, 510, 36):
        sheet.line(smooth([(x, 150.0), (x + 5, 190.0), (x - 3, 246.0)]), "#8f3a22", 2)
    sheet.box((0, 248, 640, 420), "#cf6a3c", None)
    for x, y in ((40, 300), (120, 330), (470, 300), (600, 340), (560, 286), (250, 290)):
        sheet.ellipse((x, y), 20, 9, "#8a9a5b", None)
    sheet.polygon([(300, 420), (380, 250), (396, 250), (460, 420)], "#5b5f66", None)
    with sheet.part("kangaroo sign"):
        sheet.box((538, 330, 546, 410), "#8a94a0", None)
        sheet.polygon([(542, 262), (584, 304), (542, 346), (500, 304)], "#f7d64a", INK, 3)
        sheet.line(smooth([(520, 322), (536, 314), (544, 296), (552, 284)]), INK, 7)
        sheet.line([(536, 314), (560, 326)], INK, 5)
        sheet.dot((554, 282), 6)
    sheet.box((70, 340, 210, 396), "#3f6b3a", "white", 3)
    sheet.label((140, 356), "Uluru", 20, "white")
    sheet.label((140, 380), "863 m", 18, "white")
    return sheet
