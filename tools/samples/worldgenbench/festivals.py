"""Festivals and what belongs to them: a picnic under cherry trees, an altar for the dead."""

from __future__ import annotations

from tools.samples.genexam.canvas import INK, Canvas
from tools.samples.genexam.paths import Point, bow, mirrored, polar, smooth

_WOOD = "#7a5236"
_DARK_WOOD = "#54372a"
_SKIN = "#e8b98f"


def blossom_picnic() -> Canvas:
    """A family under cherry trees in bloom, a torii by the lake, Mount Fuji behind."""
    sheet = Canvas(640, 460, "#cfe6f5")
    _fuji(sheet)
    sheet.box((0, 268, 640, 322), "#8fbfdc", None)
    for y, left, right in ((280, 150, 300), (292, 330, 470), (304, 190, 330), (284, 420, 500)):
        sheet.line([(left, y), (right, y)], "#b5d8ea", 2)
    sheet.polygon(
        [(0, 316), *smooth([(0.0, 316.0), (200.0, 308.0), (420.0, 320.0), (640.0, 308.0)]), (640, 460), (0, 460)],
        "#9cc57c",
        None,
    )
    _torii(sheet, (404, 320))
    _cherry(sheet, (92, 420), [(30, 170), (84, 130), (150, 158), (60, 210), (128, 212), (8, 226), (176, 206)])
    _cherry(sheet, (584, 424), [(508, 172), (560, 134), (618, 152), (546, 214), (606, 208), (640, 196), (500, 214)])
    with sheet.part("lanterns"):
        _lanterns(sheet)
    for start, end in (((100, 104), (196, 34)), ((444, 34), (548, 108))):
        sheet.line([start, end], INK, 1.6)
    sheet.box((188, 14, 452, 56), "#fffdf5", "#c23b3b", 3)
    sheet.label((320, 35), "Cherry Blossom Festival", 20, "#8f1f2c")
    _picnic(sheet)
    _board(sheet, (468, 392), ["Mount Fuji", "3776 m"])
    for x, y in ((170, 330), (190, 352), (300, 336), (446, 344), (150, 438), (430, 440), (540, 446), (30, 446)):
        sheet.ellipse((x, y), 4, 2.4, "#f7c6d6", None)
    return sheet


def _fuji(sheet: Canvas) -> None:
    slope = smooth([(290.0, 78.0), (256.0, 132.0), (196.0, 204.0), (110.0, 270.0)])
    sheet.polygon([*slope, *mirrored(slope, 306)[::-1]], "#6f86a8", None)
    edge = [
        (254, 134),
        (264, 132),
        (272, 152),
        (284, 134),
        (296, 160),
        (308, 136),
        (320, 156),
        (330, 134),
        (342, 150),
        (348, 130),
        (358, 134),
    ]
    side = [place for place in slope if place[1] < 134]
    sheet.polygon([*side, *((float(x), float(y)) for x, y in edge), *mirrored(side, 306)[::-1]], "#ffffff", None)


def _torii(sheet: Canvas, foot: Point) -> None:
    x, y = foot
    red = "#d1432e"
    for side in (-34, 34):
        sheet.polygon(
            [(x + side - 5, y), (x + side * 0.9 - 4, y - 84), (x + side * 0.9 + 4, y - 84), (x + side + 5, y)],
            red,
            None,
        )
        sheet.box((x + side - 8, y - 6, x + side + 8, y + 2), "#3a3a40", None)
    sheet.box((x - 42, y - 66, x + 42, y - 58), red, None)
    sheet.box((x - 4, y - 82, x + 4, y - 62), red, None)
    top = smooth([(x - 54, y - 96), (x - 26, y - 88), (x, y - 86), (x + 26, y - 88), (x + 54, y - 96)])
    sheet.polygon([*top, (x + 50, y - 82), (x, y - 77), (x - 50, y - 82)], red, None)
    sheet.line([(a, b - 2) for a, b in top], "#3a3a40", 5)


def _cherry(sheet: Canvas, foot: Point, puffs: list[tuple[int, int]]) -> None:
    x, y = foot
    middle = (sum(a for a, _ in puffs) / len(puffs), 250.0)
    sheet.polygon(
        [(x - 14, y), (x - 8, 330), (middle[0] - 5, 240), (middle[0] + 6, 240), (x + 9, 330), (x + 15, y)],
        _DARK_WOOD,
        None,
    )
    for a, b in puffs:
        sheet.line([(middle[0], 270), (a, b)], _DARK_WOOD, 5)
    for shade, grow, lift in (("#e79ab6", 37, 5), ("#f4b9cd", 33, 0), ("#fbdbe6", 20, -6)):
        for a, b in puffs:
            sheet.ellipse((a, b + lift), grow, grow * 0.82, shade, None)
    for a, b in puffs:
        for turn in range(0, 360, 60):
            sheet.dot(polar((a, b), 24, turn + a), 2.6, "#d9708f")


def _lanterns(sheet: Canvas) -> None:
    cord = smooth([(150.0, 176.0), (240.0, 206.0), (320.0, 214.0), (400.0, 206.0), (502.0, 178.0)])
    sheet.line(cord, INK, 1.6)
    for n in range(1, 6):
        x, y = cord[n * (len(cord) - 1) // 6]
        sheet.line([(x, y), (x, y + 6)], INK, 1.6)
        sheet.ellipse((x, y + 19), 11, 14, "#e5523f", "#9c2a1f", 1.4)
        for dy in (-6, 0, 6):
            sheet.line([(x - 8, y + 19 + dy), (x + 8, y + 19 + dy)], "#f0938a", 1)
        sheet.box((x - 5, y + 4, x + 5, y + 7), INK, None)
        sheet.box((x - 5, y + 31, x + 5, y + 34), INK, None)


def _picnic(sheet: Canvas) -> None:
    sheet.polygon([(176, 420), (240, 372), (408, 372), (386, 420)], "#2f76c4", "#1d558f", 2)
    for x, y, coat, hair in ((238, 372, "#7b4f9d", INK), (284, 366, "#d98b2b", "#3d2b22"), (348, 370, "#3f8f6b", INK)):
        sheet.ellipse((x, y + 26), 22, 12, coat, None)
        sheet.polygon([(x - 15, y + 26), (x - 10, y - 2), (x + 10, y - 2), (x + 15, y + 26)], coat, None)
        sheet.ellipse((x, y - 14), 11, 12, _SKIN, None)
        sheet.polygon(bow((x, y - 16), 12, 11, 180, 360), hair, None)
    sheet.box((288, 396, 340, 412), "#a3322a", INK, 1.6, radius=2)
    for x, fill in ((298, "#fff7e6"), (313, "#7fae4e"), (328, "#f2a65a")):
        sheet.ellipse((x, 404), 6, 5, fill, None)


def _board(sheet: Canvas, center: Point, lines: list[str]) -> None:
    x, y = center
    for dx in (-34, 34):
        sheet.box((x + dx - 4, y - 10, x + dx + 4, y + 58), _WOOD, None)
    sheet.box((x - 62, y - 30, x + 62, y + 28), "#f1dfbf", _WOOD, 3)
    for n, line in enumerate(lines):
        sheet.label((x, y - 13 + 25 * n), line, 17)


def altar() -> Canvas:
    """An altar for the Day of the Dead: marigolds, candles, skulls of sugar, bread, a portrait."""
    sheet = Canvas(640, 500, "#f3e3c8")
    _paper_flags(sheet)
    sheet.label((320, 92), "Día de Muertos", 26, "#5b2a86")
    _marigold_arch(sheet)
    for left, top, right, bottom, fill in (
        (206, 262, 434, 336, "#7a3b9c"),
        (146, 336, 494, 410, "#8d49b3"),
        (86, 410, 554, 484, "#a25fc6"),
    ):
        sheet.box((left, top, right, bottom), fill, "#4f2169", 2)
        for x in range(left, right - 10, 20):
            sheet.polygon([(x, top), (x + 20, top), (x + 10, top + 16)], "#f7d64a", "#c79a12", 1)
    _portrait(sheet)
    for x, y in ((224, 262), (416, 262), (164, 336), (476, 336), (104, 410), (536, 410)):
        _candle(sheet, (float(x), float(y)))
    for x in (204, 248, 392, 436):
        _skull(sheet, (float(x), 318.0))
    with sheet.part("bread"):
        _bread(sheet, (320, 404))
    sheet.polygon([(194, 374), (226, 374), (221, 410), (199, 410)], "#d7eef7", "#7fa8ba", 1.6)
    sheet.polygon([(196, 384), (224, 384), (221, 409), (199, 409)], "#a8d6ea", None)
    sheet.polygon(bow((430, 410), 26, 14, 0, 180), "#b0614a", INK, 1.4)
    sheet.polygon(bow((430, 410), 22, 15, 180, 360), "#ffffff", "#b8b8b8", 1.2)
    for x in range(150, 500, 30):
        _flower(sheet, (float(x), 470.0), 12)
    return sheet


def _paper_flags(sheet: Canvas) -> None:
    sheet.line([(10, 16), (630, 16)], INK, 1.8)
    for n, color in enumerate(("#e64980", "#1c7ed6", "#f08c00", "#2f9e44", "#ae3ec9", "#e03131", "#0c8599", "#e64980")):
        x = 18 + 77 * n
        teeth = [(x + 64 - 8 * k, 56 + (8 if k % 2 else 0)) for k in range(9)]
        sheet.polygon([(x, 17), (x + 64, 17), *teeth], color, None)
        for dx, dy in ((16, 30), (48, 30), (32, 42)):
            sheet.polygon([(x + dx, dy - 7), (x + dx + 7, dy), (x + dx, dy + 7), (x + dx - 7, dy)], "#f3e3c8", None)


def _flower(sheet: Canvas, center: Point, size: float) -> None:
    for turn in range(0, 360, 45):
        sheet.dot(polar(center, size * 0.62, turn), size * 0.42, "#f08c00")
    for turn in range(22, 360, 60):
        sheet.dot(polar(center, size * 0.34, turn), size * 0.32, "#ffa94d")
    sheet.dot(center, size * 0.24, "#d9480f")


def _marigold_arch(sheet: Canvas) -> None:
    for turn in range(180, 361, 9):
        place = polar((320, 262), 142, turn)
        _flower(sheet, place, 15)
    for side in (178, 462):
        for y in range(276, 336, 22):
            _flower(sheet, (float(side), float(y)), 13)


def _portrait(sheet: Canvas) -> None:
    sheet.box((268, 142, 372, 258), "#8a5a2b", INK, 2, radius=3)
    sheet.box((278, 152, 362, 226), "#f7efe0", None)
    sheet.ellipse((320, 186), 17, 20, "#c98d62", None)
    sheet.polygon(bow((320, 181), 20, 19, 170, 370), "#9a9a9a", None)
    sheet.dot((320, 160), 8, "#9a9a9a")
    sheet.polygon([(290, 226), (300, 208), (320, 203), (340, 208), (350, 226)], "#2b6f6b", None)
    for x in (313, 327):
        sheet.dot((x, 186), 2)
    sheet.line(bow((320, 190), 7, 6, 20, 160), INK, 1.6)
    sheet.box((266, 230, 374, 255), "#f7efe0", "#8a5a2b", 1.6)
    sheet.label((320, 242), "Abuela Rosa", 16)


def _candle(sheet: Canvas, foot: Point) -> None:
    x, y = foot
    sheet.box((x - 7, y - 38, x + 7, y), "#fffbe8", "#b9a77a", 1.4)
    sheet.line([(x, y - 38), (x, y - 44)], INK, 1.6)
    sheet.polygon(smooth([(x, y - 62), (x + 6, y - 50), (x, y - 42), (x - 6, y - 50)], closed=True), "#f59f00", None)
    sheet.ellipse((x, y - 48), 2.6, 5, "#fff3bf", None)


def _skull(sheet: Canvas, center: Point) -> None:
    x, y = center
    sheet.ellipse((x, y - 6), 17, 16, "white", "#7d7d86", 1.6)
    sheet.box((x - 9, y + 5, x + 9, y + 16), "white", "#7d7d86", 1.6, radius=3)
    for dx, color in ((-7, "#e64980"), (7, "#1c7ed6")):
        for turn in range(0, 360, 60):
            sheet.dot(polar((x + dx, y - 5), 4.4, turn), 2, color)
        sheet.dot((x + dx, y - 5), 3.4, INK)
    sheet.polygon([(x, y), (x - 3, y + 6), (x + 3, y + 6)], INK, None)
    for dx in (-5, 0, 5):
        sheet.line([(x + dx, y + 8), (x + dx, y + 15)], "#7d7d86", 1.2)
    for dx, color in ((-6, "#2f9e44"), (0, "#ae3ec9"), (6, "#f08c00")):
        sheet.dot((x + dx, y - 17), 2, color)


def _bread(sheet: Canvas, center: Point) -> None:
    x, y = center
    sheet.ellipse((x, y + 2), 56, 9, "#e9ecef", "#868e96", 1.6)
    sheet.polygon(bow((x, y), 44, 34, 180, 360), "#c9803c", "#7d4a1c", 2)
    for start, end in (((x - 34, y - 8), (x + 34, y - 8)), ((x, y - 32), (x, y - 2))):
        sheet.line([start, end], "#e0a263", 7)
    sheet.dot((x, y - 32), 8, "#e0a263")
    for dx, dy in ((-24, -18), (-12, -24), (18, -20), (26, -14), (-28, -4), (12, -4), (-10, -6)):
        sheet.dot((x + dx, y + dy), 1.6, "white")
