"""Pictures of living things and landscapes: a flower in section, the water cycle."""

from __future__ import annotations

from tools.samples.genexam.canvas import BLUE, GREY, INK, Canvas
from tools.samples.genexam.paths import Point, bow, mirrored, smooth

_LEAF = "#7fb069"
_STEM = "#4f7f3f"
_WATER = "#6aaede"


def flower() -> Canvas:
    """A flower cut lengthwise, with all parts of pistil and stamen named."""
    sheet = Canvas(640, 520)
    axis = 300.0
    _petals(sheet, axis)
    with sheet.part("sepals"):
        _sepals(sheet, axis)
    _stamens(sheet, axis)
    _pistil(sheet, axis)
    sheet.callout((440, 60), "Stigma", (314, 128), anchor="lm")
    sheet.callout((526, 150), "Anther", (388, 194), anchor="lm")
    sheet.callout((526, 250), "Filament", (367, 285), anchor="lm")
    sheet.callout((526, 350), "Ovary", (334, 378), anchor="lm")
    sheet.callout((526, 410), "Ovule", (315, 397), anchor="lm")
    sheet.callout((150, 60), "Style", (297, 166), anchor="rm")
    sheet.callout((80, 150), "Petal", (135, 230), anchor="rm")
    with sheet.part("sepals"):
        sheet.callout((90, 440), "Sepal", (172, 434), anchor="rm")
    return sheet


def _petals(sheet: Canvas, axis: float) -> None:
    back = [(300, 430), (238, 350), (222, 240), (252, 140), (300, 112), (348, 140), (378, 240), (362, 350)]
    side = [
        (294, 438), (215, 424), (140, 365), (102, 275), (104, 185), (142, 128),
        (178, 175), (190, 260), (222, 345), (280, 415),
    ]  # fmt: skip
    sheet.polygon(smooth(back, closed=True), "#fdeaf1", "#e7a9c1", 1.6)
    sheet.polygon(smooth(side, closed=True), "#f6b8cf", "#c9557f", 2)
    sheet.polygon(mirrored(smooth(side, closed=True), axis), "#f6b8cf", "#c9557f", 2)


def _sepals(sheet: Canvas, axis: float) -> None:
    sepal = [(292, 446), (230, 440), (180, 418), (148, 385), (150, 418), (176, 448), (225, 466), (290, 466)]
    for points in (smooth(sepal, closed=True), mirrored(smooth(sepal, closed=True), axis)):
        sheet.polygon(points, _LEAF, _STEM, 2)
    cup = smooth([(262, 428), (266, 446), (280, 464), (289, 478), (290, 512)])
    sheet.polygon([*cup, *mirrored(cup, axis)[::-1]], _LEAF, _STEM, 2)


def _stamens(sheet: Canvas, axis: float) -> None:
    for tip, bend in (((212.0, 195.0), (233.0, 285.0)), ((248.0, 172.0), (258.0, 285.0))):
        stalk = smooth([(276.0, 430.0), (262 if bend[0] > 240 else 246, 370), bend, tip])
        for path in (stalk, mirrored(stalk, axis)):
            sheet.line(path, "#8a9a3f", 4.5)
            sheet.ellipse(path[-1], 11, 18, "#f2c14e", "#a8741a", 2)
            sheet.line([(path[-1][0], path[-1][1] - 12), (path[-1][0], path[-1][1] + 12)], "#a8741a", 1.5)


def _pistil(sheet: Canvas, axis: float) -> None:
    half = [(axis, 122), (290, 150), (292, 240), (290, 322), (268, 350), (258, 392), (274, 424), (axis, 434)]
    outline = smooth([(float(x), float(y)) for x, y in half])
    sheet.polygon([*outline, *mirrored(outline, axis)[::-1]], "#b9d48b", _STEM, 2)
    sheet.ellipse((axis, 128), 22, 11, "#d8b84a", "#8a6d1a", 2)
    sheet.ellipse((axis, 388), 29, 34, "#eef6da", _STEM, 1.6)
    for x, y in ((287, 374), (313, 374), (286, 398), (314, 398)):
        sheet.line([(axis, y + 4), (x, y)], _STEM, 1.5)
        sheet.ellipse((x, y), 8, 10, "#fff8e1", "#8a6d1a", 1.6)
    sheet.line([(axis, 358), (axis, 418)], _STEM, 1.5)


def water_cycle() -> Canvas:
    """Water rising from the sea, travelling as cloud, falling on hills and flowing back."""
    sheet = Canvas(640, 450, "#eaf4fb")
    _landscape(sheet)
    _sun(sheet, (62, 62))
    _cloud(sheet, (262, 78))
    _cloud(sheet, (520, 66))
    for x in (500, 522, 544, 566):
        sheet.line([(x - 8, 106), (x - 20, 140)], BLUE, 2.4)
    sheet.arrow([(342, 74), (438, 70)], INK, 3, head=13)
    with sheet.part("arrows of evaporation"):
        for x in (70, 120, 170):
            rise = smooth([(x, 318), (x + 10, 290), (x, 262), (x + 12, 232), (x + 18, 196)])
            sheet.arrow(rise, "#c2571a", 3, head=13)
    with sheet.part("arrows of evaporation", label=True):
        sheet.label((112, 172), "Evaporation", 19)
    sheet.label((262, 138), "Condensation", 19)
    sheet.label((410, 168), "Precipitation", 19)
    return sheet


def _landscape(sheet: Canvas) -> None:
    sea: list[Point] = [(0, 330), (300, 330), (300, 450), (0, 450)]
    sheet.polygon(sea, _WATER, None)
    hills = smooth([(250, 350), (290, 326), (360, 300), (430, 248), (500, 190), (530, 172), (566, 200), (640, 236)])
    sheet.polygon([*hills, (640, 450), (170, 450)], "#b08a5b", None)
    sheet.polygon([*hills, *[(x, y + min(44, (x - 250) / 2)) for x, y in reversed(hills)]], _LEAF, None)
    cap = [point for point in hills if 484 < point[0] < 582 and point[1] < 206]
    sheet.polygon([*cap, (560, 207), (546, 216), (530, 204), (510, 214)], "white", None)
    store = smooth([(202, 410), (330, 388), (470, 368), (640, 352)])
    sheet.polygon([*store, (640, 412), (480, 418), (330, 434), (178, 440)], "#8fc1e3", None)
    river = smooth([(504, 214), (470, 238), (430, 268), (394, 296), (360, 316), (320, 327), (280, 334)])
    sheet.line(river, BLUE, 6)
    sheet.arrow([(452, 384), (330, 402), (152, 430)], BLUE, 3, head=13)
    sheet.label((560, 382), "Groundwater", 18)
    sheet.callout((372, 232), "River", (418, 277), 18, anchor="rm")
    sheet.label((78, 372), "Sea", 20)


def _sun(sheet: Canvas, center: Point) -> None:
    for turn in range(0, 360, 30):
        sheet.line(bow(center, 42, 42, turn, turn, 1)[:1] + bow(center, 52, 52, turn, turn, 1)[:1], "#e0a526", 3)
    sheet.ellipse(center, 34, fill="#fbd24e", outline="#e0a526")
    sheet.label(center, "Sun", 19)


def _cloud(sheet: Canvas, center: Point) -> None:
    x, y = center
    puffs = ((-46, 8, 26), (-20, -12, 30), (18, -10, 32), (46, 8, 26), (0, 12, 28))
    for dx, dy, r in puffs:
        sheet.ellipse((x + dx, y + dy), r, fill=GREY, outline=None)
    for dx, dy, r in puffs:
        sheet.ellipse((x + dx, y + dy), r - 2, fill="#f7f9fb", outline=None)
