"""Diagrams of ideas: the arc of a story, money and goods, a control loop, sets of numbers."""

from __future__ import annotations

from tools.samples.genexam.canvas import BLUE, GREEN, GREY, INK, ORANGE, RED, Canvas
from tools.samples.genexam.paths import Point, bow


def arc_of_a_story() -> Canvas:
    """Freytag's pyramid: two level ends, a rise, a peak, a fall."""
    sheet = Canvas(640, 420)
    start, foot, peak, end, close = (50, 320), (160, 320), (330, 110), (480, 320), (590, 320)
    sheet.polygon([foot, peak, end], "#eef4fb", None)
    sheet.line([start, foot], BLUE, 5)
    sheet.line([foot, peak], GREEN, 5)
    with sheet.part("falling action"):
        sheet.line([peak, end], ORANGE, 5)
    sheet.arrow([end, close], BLUE, 5, head=16)
    for place, color in ((foot, GREEN), (peak, RED), (end, ORANGE)):
        sheet.dot(place, 8, color)
    sheet.label((104, 350), "Exposition", 20)
    sheet.label((215, 195), "Rising action", 20, anchor="rm")
    sheet.label((330, 78), "Climax", 22, RED)
    with sheet.part("falling action"):
        sheet.label((428, 195), "Falling action", 20, anchor="lm")
    sheet.label((540, 350), "Resolution", 20)
    sheet.arrow([(50, 390), (590, 390)], GREY, 1.6)
    sheet.label((320, 374), "Time in the story", 16, "#5b6672")
    return sheet


def circular_flow() -> Canvas:
    """Households and firms: work and goods run one way round, money the other."""
    sheet = Canvas(640, 480)
    left, right = (110.0, 240.0), (530.0, 240.0)
    for (x, y), name, fill in ((left, "Households", "#dcefdc"), (right, "Firms", "#fbe3c8")):
        sheet.box((x - 82, y - 42, x + 82, y + 42), fill, INK, 2.4, radius=12)
        sheet.label((x, y), name, 22)
    flows: list[tuple[str, str, float, float, float, float, float]] = [
        ("Labour", BLUE, 195, 190, 193, 345, 270),
        ("Wages", GREEN, 135, 130, 345, 197, 270),
        ("Goods", BLUE, 135, 130, 15, 163, 125),
        ("Spending", GREEN, 195, 190, 167, 15, 90),
    ]
    sheet.dashes([(320, 128), (320, 404)], GREY, 2)
    sheet.arrow([(320, 398), (320, 414)], GREY, 2, head=12)
    for name, color, rx, ry, begin, finish, at in flows:
        with sheet.part(f"flow of {name.lower()}"):
            sheet.arrow(bow((320, 240), rx, ry, begin, finish), color, 3, head=14)
            sheet.label(bow((320, 240), rx, ry, at, at)[0], name, 21, color, back="white")
    sheet.label((320, 240), "pays for", 17, "#5b6672", back="white")
    return sheet


def control_loop() -> Canvas:
    """A feedback loop: the sensor's reading is taken from the setpoint, the difference drives the controller."""
    sheet = Canvas(640, 300)
    row, below = 100.0, 230.0
    boxes: list[tuple[str, float, float, float, str]] = [
        ("Controller", 252, row, 58, "#d7e8f7"),
        ("Actuator", 390, row, 52, "#fbf0c9"),
        ("Plant", 510, row, 40, "#dcefdc"),
        ("Sensor", 350, below, 48, "#f8d9d5"),
    ]
    sheet.ellipse((110, row), 18, fill="white", width=2.4)
    for turn in (-12, 12):
        sheet.line([(98, row - turn), (122, row + turn)], INK, 1.6)
    for left, right in ((20, 92), (128, 194), (310, 338), (442, 470), (550, 628)):
        sheet.arrow([(left, row), (right, row)], INK, 2.4, head=12)
    sheet.dot((590, row), 4)
    with sheet.part("feedback"):
        sheet.arrow([(590, row), (590, below), (398, below)], INK, 2.4, head=12)
        sheet.arrow([(302, below), (110, below), (110, row + 18)], INK, 2.4, head=12)
    for name, x, y, half, fill in boxes:
        sheet.box((x - half, y - 28, x + half, y + 28), fill, INK, 2.4, radius=6)
        sheet.label((x, y), name, 19)
    sheet.label((52, row - 28), "Setpoint", 19)
    sheet.label((160, row - 28), "Error", 19, RED)
    sheet.label((594, row - 28), "Output", 19)
    sheet.label((80, row + 16), "+", 18)
    sheet.label((126, row + 32), "−", 20)
    return sheet


def number_sets() -> Canvas:
    """Sets of numbers, each inside the next larger one, with members of each."""
    sheet = Canvas(640, 460)
    rings: list[tuple[tuple[float, float, float, float], str, str, str, Point, str, Point]] = [
        ((12, 12, 628, 448), "#f1ecf8", "#6b4ea0", "Complex numbers", (320, 36), "2 + 3i", (320, 62)),
        ((32, 82, 608, 430), "#e3effa", BLUE, "Real numbers", (320, 104), "", (0, 0)),
        ((52, 128, 398, 412), "#dcefdc", GREEN, "Rational numbers", (225, 150), "3/4", (80, 176)),
        ((72, 196, 378, 396), "#fbf0c9", "#8a6d00", "Integers", (225, 218), "−7", (100, 246)),
        ((104, 268, 346, 380), "#fbe3c8", "#9a5412", "Natural numbers", (225, 294), "1, 2, 3", (225, 340)),
        ((424, 196, 590, 340), "#f8d9d5", RED, "Irrational numbers", (0, 0), "√2", (507, 306)),
    ]
    for corners, fill, color, name, at, member, place in rings:
        with sheet.part(name.lower()):
            sheet.box(corners, fill, color, 2.4, radius=18)
            if name == "Irrational numbers":
                sheet.stacked((507, 241), "Irrational/numbers", 20, color, 26)
            else:
                sheet.label(at, name, 20, color)
            if member:
                sheet.label(place, member, 19)
    return sheet
