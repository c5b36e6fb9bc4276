"""Pictures of living things: cell division in four steps, gas exchange in the lung."""

from __future__ import annotations

from tools.samples.genexam.canvas import BLUE, INK, RED, Canvas
from tools.samples.genexam.paths import Point, bow, polar, smooth

_CELL = "#fdeccf"
_RIM = "#b98b4e"
_PALE = "#f7f1e3"


def mitosis() -> Canvas:
    """Four steps of cell division, two by two."""
    sheet = Canvas(600, 620)
    steps = (
        ((150, 165), "(a)", "Prophase"),
        ((450, 165), "(b)", "Metaphase"),
        ((150, 475), "(c)", "Anaphase"),
        ((450, 475), "(d)", "Telophase"),
    )
    for center, mark, name in steps:
        sheet.label((center[0] - 132, center[1] - 142), mark, 19, anchor="lm")
        sheet.label((center[0], center[1] - 142), name, 22)
    _prophase(sheet, (150, 165))
    _metaphase(sheet, (450, 165))
    _anaphase(sheet, (150, 475))
    _telophase(sheet, (450, 475))
    return sheet


def _prophase(sheet: Canvas, center: Point) -> None:
    x, y = center
    sheet.ellipse(center, 108, fill=_CELL, outline=_RIM, width=3)
    for start in range(0, 360, 24):
        sheet.line(bow(center, 62, 62, start, start + 14), "#8a6d9f", 2.4)
    for dx, dy, turn, color in ((-24, -14, 20, RED), (22, -20, -35, BLUE), (-8, 24, 70, BLUE), (30, 22, 0, RED)):
        _pair(sheet, (x + dx, y + dy), turn, color)
    sheet.callout((x, y + 122), "Chromosome", (x - 8, y + 32), 18, anchor="ma")


def _metaphase(sheet: Canvas, center: Point) -> None:
    x, y = center
    sheet.ellipse(center, 108, fill=_CELL, outline=_RIM, width=3)
    for place in (-54, -18, 18, 54):
        for side in (-1, 1):
            with sheet.part("spindle fibres"):
                sheet.line([(x + 92 * side, y), (x, y + place)], "#9a9fa5", 1.6)
    for side in (-1, 1):
        sheet.dot((x + 92 * side, y), 6, "#4f7f3f")
    for place, color in ((-54, RED), (-18, BLUE), (18, RED), (54, BLUE)):
        _pair(sheet, (x, y + place), 0, color)
    sheet.callout((x, y + 122), "Spindle fibre", (x + 46, y + 27), 18, anchor="ma")


def _anaphase(sheet: Canvas, center: Point) -> None:
    x, y = center
    sheet.ellipse(center, 120, 102, fill=_CELL, outline=_RIM, width=3)
    for place, color in ((-48, RED), (-16, BLUE), (16, RED), (48, BLUE)):
        for side in (-1, 1):
            near = (x + 44 * side, y + place * 0.8)
            with sheet.part("spindle fibres"):
                sheet.line([(x + 106 * side, y), near], "#9a9fa5", 1.6)
            arm = [(near[0] - 16 * side, near[1] - 9), near, (near[0] - 16 * side, near[1] + 9)]
            sheet.line(arm, color, 5)
    for side in (-1, 1):
        sheet.dot((x + 106 * side, y), 6, "#4f7f3f")
    sheet.callout((x, y + 116), "Chromatids", (x - 36, y + 42), 18, anchor="ma")


def _telophase(sheet: Canvas, center: Point) -> None:
    x, y = center
    half = [
        (x, y - 56),
        (x + 40, y - 80),
        (x + 96, y - 66),
        (x + 122, y),
        (x + 96, y + 66),
        (x + 40, y + 80),
        (x, y + 56),
    ]
    right = smooth(half)
    left = [(2 * x - px, py) for px, py in reversed(right)]
    sheet.polygon([*right, *left], _CELL, _RIM, 3)
    for side in (-1, 1):
        sheet.ellipse((x + 66 * side, y), 38, fill=_PALE, outline="#8a6d9f", width=2.4)
        for dy, color in ((-18, RED), (-6, BLUE), (6, RED), (18, BLUE)):
            mid = (x + 66 * side, y + dy)
            sheet.line([(mid[0] - 14, mid[1] + 3), mid, (mid[0] + 14, mid[1] + 3)], color, 4)
    sheet.callout((x, y + 116), "Cleavage furrow", (x, y + 57), 18, anchor="ma")


def _pair(sheet: Canvas, center: Point, turn: float, color: str) -> None:
    """A chromosome of two chromatids: the letter X."""
    for lean in (-28, 28):
        ends = [polar(center, 17, turn + 90 + lean), polar(center, 17, turn + 270 + lean)]
        sheet.line(ends, color, 5)
    sheet.dot(center, 3, INK)


def alveolus() -> Canvas:
    """An air sac of the lung with a blood vessel along it, and the gases that pass between them."""
    sheet = Canvas(440, 600)
    sheet.ellipse((220, 232), 158, fill="#dcecf7", outline="#c97b84", width=4)
    sheet.box((188, 0, 252, 96), "#dcecf7", None)
    for x in (188, 252):
        sheet.line([(x, 0), (x, 78)], "#c97b84", 4)
    _vessel(sheet, 382)
    sheet.label((220, 150), "Alveolus", 22)
    sheet.label((268, 30), "Air", 20, anchor="lm")
    with sheet.part("arrow of oxygen"):
        sheet.arrow([(150, 288), (150, 424)], BLUE, 4, head=16)
    sheet.label((150, 264), "Oxygen", 19)
    sheet.arrow([(284, 424), (284, 288)], "#6b4a2f", 4, head=16)
    sheet.label((284, 264), "Carbon dioxide", 19)
    sheet.arrow([(66, 444), (122, 444)], "white", 4, head=15)
    sheet.callout((120, 520), "Capillary", (120, 476), 20, anchor="ma")
    sheet.callout((310, 520), "Red blood cell", (322, 446), 20, anchor="ma")
    return sheet


def _vessel(sheet: Canvas, top: float) -> None:
    """Blood that comes in dark on the left and leaves bright on the right."""
    bottom, middle = top + 96, top + 56
    sheet.box((0, top, 220, bottom), "#8fa3d1", None)
    sheet.box((220, top, 440, bottom), "#ec8f97", None)
    for y in (top, bottom):
        sheet.line([(0, y), (440, y)], "#a83c48", 4)
    for x, fill in ((32, "#7c3f6b"), (190, "#7c3f6b"), (322, "#c2352b"), (400, "#c2352b")):
        sheet.ellipse((x, middle), 27, 15, fill=fill, outline="#5f1f28", width=1.6)
        sheet.ellipse((x, middle), 11, 5, fill="#a8505f", outline=None)


def synapse() -> Canvas:
    """The gap between two nerve cells, crossed by a messenger substance."""
    sheet = Canvas(440, 600)
    sheet.polygon(smooth([(180, 0), (176, 90), (90, 150), (80, 250), (360, 250), (350, 150), (264, 90), (260, 0)]),
                  "#f6e0b5", _RIM, 3)  # fmt: skip
    sheet.box((60, 372, 380, 470), "#dcefdc", "#2e8540", 3, radius=12)
    with sheet.part("vesicles"):
        for x, y in ((140, 180), (200, 170), (260, 180), (300, 210), (170, 216)):
            sheet.ellipse((x, y), 18, fill="#d7e8f7", outline=BLUE)
    for x in (150, 210, 270):
        sheet.box((x - 12, 354, x + 12, 384), "#c2352b", INK, 1.6)
    with sheet.part("arrow of the messenger"):
        sheet.arrow([(220, 262), (220, 344)], INK, 4, head=16)
    sheet.label((170, 40), "Axon", 20, anchor="rm")
    sheet.callout((352, 120), "Vesicle", (302, 204), 19)
    sheet.label((110, 306), "Synaptic cleft", 19)
    sheet.callout((320, 330), "Receptor", (276, 362), 19, anchor="lm")
    sheet.label((220, 430), "Next nerve cell", 20)
    sheet.label((236, 290), "Messenger", 19, anchor="lm")
    return sheet


def stomata() -> Canvas:
    """A pore of a leaf, open and closed, one above the other."""
    sheet = Canvas(440, 640)
    for top, mark, name, gap in ((0, "(a)", "Open", 34.0), (320, "(b)", "Closed", 6.0)):
        sheet.box((0, top, 440, top + 316), "#eef6da" if top else "#f4fae8", None)
        sheet.label((14, top + 26), mark, 19, anchor="lm")
        sheet.label((120, top + 26), name, 22)
        with sheet.part("guard cells"):
            for side in (-1, 1):
                sheet.ellipse((220 + side * (gap + 26), top + 170), 34, 96, "#7cb66b", "#4d7f3f", 3)
        sheet.label((60, top + 170), "Guard cell", 18, anchor="mm")
    with sheet.part("arrows of water vapour"):
        for x in (208, 232):
            sheet.arrow([(x, 220), (x, 90)], BLUE, 4, head=15)
    sheet.callout((356, 84), "Water vapour", (236, 130), 18, anchor="ms")
    sheet.callout((372, 240), "Pore", (226, 200), 18, anchor="lm")
    return sheet
