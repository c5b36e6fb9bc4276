"""Pictures of relations: squares on a triangle, a search tree, the life of a process."""

from __future__ import annotations

from tools.samples.genexam.canvas import BLUE, GREEN, INK, ORANGE, RED, Canvas
from tools.samples.genexam.paths import Point, smooth


def pythagoras() -> Canvas:
    """A right triangle with legs of 3 and 4 and a square on each side, to scale."""
    sheet = Canvas(520, 550)
    unit = 45.0
    corner = (165.0, 345.0)
    top, side = (corner[0], corner[1] - 3 * unit), (corner[0] + 4 * unit, corner[1])
    squares: list[tuple[list[Point], str, str, str]] = [
        ([corner, top, _shift(top, -3 * unit, 0), _shift(corner, -3 * unit, 0)], "#d7e8f7", BLUE, "Area 9"),
        ([corner, side, _shift(side, 0, 4 * unit), _shift(corner, 0, 4 * unit)], "#dcefdc", GREEN, "Area 16"),
        (
            [top, side, _shift(side, 3 * unit, -4 * unit), _shift(top, 3 * unit, -4 * unit)],
            "#fbe3c8",
            ORANGE,
            "Area 25",
        ),
    ]
    for points, fill, color, text in squares:
        sheet.polygon(points, fill, color, 2.4)
        middle = (sum(x for x, _ in points) / 4, sum(y for _, y in points) / 4)
        sheet.label(middle, text, 24, color if color != ORANGE else "#9a5412")
    sheet.polygon([corner, side, top], "white", INK, 3)
    with sheet.part("mark of the right angle"):
        sheet.line([_shift(corner, 0, -16), _shift(corner, 16, -16), _shift(corner, 16, 0)], INK, 2)
    sheet.label((corner[0] + 2 * unit - 8, corner[1] - 18), "4 cm", 17)
    sheet.label((corner[0] + 8, corner[1] - 1.5 * unit), "3 cm", 17, anchor="lm")
    sheet.label((430, 440), "9 + 16 = 25", 21)
    return sheet


def _shift(point: Point, dx: float, dy: float) -> Point:
    return point[0] + dx, point[1] + dy


def search_tree() -> Canvas:
    """The binary search tree after inserting 45, 20, 68, 31, 12, 90, 27."""
    sheet = Canvas(580, 470)
    places: dict[int, Point] = {
        45: (290, 60),
        20: (160, 145),
        68: (420, 145),
        12: (85, 230),
        31: (235, 230),
        90: (495, 230),
        27: (175, 315),
    }
    for parent, child in ((45, 20), (45, 68), (20, 12), (20, 31), (68, 90), (31, 27)):
        with sheet.part(f"edge from {parent} to {child}"):
            sheet.line([places[parent], places[child]], INK, 2.4)
    for value, place in places.items():
        sheet.ellipse(place, 27, fill="#e3effa", outline=BLUE, width=2.6)
        sheet.label(place, str(value), 23)
    sheet.arrow([(392, 48), (322, 56)], RED, 2.4, head=12)
    sheet.label((400, 46), "Root", 20, RED, "lm")
    sheet.label((290, 392), "In-order traversal", 20)
    sheet.label((290, 430), "12 20 27 31 45 68 90", 24)
    return sheet


def process_states() -> Canvas:
    """The five states of a process and the events that lead from one to the next."""
    sheet = Canvas(640, 450)
    states: dict[str, tuple[Point, str]] = {
        "New": ((80, 60), "#e9edf2"),
        "Ready": ((150, 215), "#fbf0c9"),
        "Running": ((490, 215), "#dcefdc"),
        "Terminated": ((560, 60), "#e9edf2"),
        "Blocked": ((320, 390), "#f8d9d5"),
    }
    moves: list[tuple[list[Point], str, Point]] = [
        ([(92, 87), (134, 188)], "Admit", (146, 132)),
        (smooth([(209, 196), (258, 167), (320, 157), (382, 167), (431, 196)]), "Dispatch", (320, 137)),
        (smooth([(431, 234), (382, 263), (320, 273), (258, 263), (209, 234)]), "Time slice over", (320, 295)),
        ([(506, 188), (548, 87)], "Exit", (494, 132)),
        (smooth([(482, 242), (465, 285), (432, 326), (380, 372)]), "Wait for input", (536, 322)),
        (smooth([(260, 372), (208, 326), (175, 285), (158, 242)]), "Input arrives", (112, 322)),
    ]
    for path, event, place in moves:
        with sheet.part(f"arrow '{event}'"):
            sheet.arrow(path, INK, 2.2, head=12)
            sheet.label(place, event, 18, BLUE)
    for name, ((x, y), fill) in states.items():
        sheet.box((x - 66, y - 26, x + 66, y + 26), fill, INK, 2.2, radius=24)
        sheet.label((x, y), name, 19)
    return sheet
