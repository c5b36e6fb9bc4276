"""Figures of invented methods for pictures, pages and shapes."""

from __future__ import annotations

from tools.samples.aibench.parts import Figure
from tools.samples.genexam.canvas import BLUE, GREEN, GREY, INK, Canvas
from tools.samples.genexam.paths import Point, smooth


def leafscan() -> Canvas:
    """A teacher labels what a student must see in a harder view; the student's weights flow back."""
    figure = Figure(640, 440)
    sheet = figure.sheet
    figure.stage("Views", (132, 24, 312, 424))
    figure.stage("Training", (330, 24, 626, 424))
    leaf = smooth([(18, 190), (22, 156), (44, 134), (86, 122), (80, 160), (60, 182)], closed=True)
    sheet.polygon(leaf, "#cfe6c4", GREEN, 2)
    sheet.line([(14, 196), (48, 158), (78, 130)], GREEN, 1.8)
    for x, y, dx, dy in ((34, 174, -2, -14), (34, 174, 18, 4), (52, 154, -2, -14), (52, 154, 20, 0)):
        sheet.line([(x, y), (x + dx, y + dy)], GREEN, 1.2)
    figure.part("Leaf Photo", (66, 226), "data", (116, 44))
    figure.part("Weak/Augmentation", (222, 122), size=(150, 62))
    figure.part("Strong/Augmentation", (222, 330), size=(150, 62))
    figure.taper("Teacher", (406, 122), (108, 70))
    figure.taper("Student", (406, 330), (108, 70))
    figure.part("Pseudo/Labels", (550, 122), "data", (110, 62))
    figure.part("Consistency/Loss", (550, 330), "loss", (124, 62))
    figure.link("Leaf Photo", "Weak Augmentation", "tl", [(106, 122)], (40, 0))
    figure.link("Leaf Photo", "Strong Augmentation", "bl", [(106, 330)], (40, 0))
    figure.link("Weak Augmentation", "Teacher")
    figure.link("Strong Augmentation", "Student")
    figure.link("Teacher", "Pseudo Labels")
    figure.link("Student", "Consistency Loss")
    figure.link("Pseudo Labels", "Consistency Loss", "bt")
    sheet.dashes([(406, 298), (406, 168)], GREY, 2.2)
    sheet.arrow([(406, 176), (406, 154)], GREY, 2.2, head=11)
    sheet.stacked((470, 225), "Moving/Average", 16, BLUE, 22)
    return sheet


def twinscope() -> Canvas:
    """Two views, one encoder, matched into depth."""
    figure = Figure(640, 350)
    sheet = figure.sheet
    figure.stage("Matching", (310, 52, 626, 236))
    for y, name in ((74, "Left/Image"), (216, "Right/Image")):
        _scene(sheet, (60, y - 6), 0 if y < 100 else 12)
        figure.part(name.replace("/", " "), (72, y + 62), "data", (128, 42))
    figure.taper("Shared/Encoder", (228, 172), (114, 104))
    for layer in range(4):
        x, y = 374 + layer * 7, 122 - layer * 7
        sheet.box((x - 22, y - 14, x + 22, y + 22), "#dfeaf7", BLUE, 1.6)
    figure.part("Cost/Volume", (384, 178), size=(92, 58))
    figure.part("Disparity/Decoder", (544, 178), size=(120, 62))
    figure.part("Depth Map", (544, 298), "head", (118, 46))
    figure.link("Left Image", "Shared Encoder", "rl", shift=(0, -18))
    figure.link("Right Image", "Shared Encoder", "rl", shift=(0, 18))
    figure.link("Shared Encoder", "Cost Volume", shift=(6, 0))
    figure.link("Cost Volume", "Disparity Decoder", "rl")
    figure.link("Disparity Decoder", "Depth Map", "bt")
    return sheet


def _scene(sheet: Canvas, at: Point, move: float) -> None:
    """A small landscape, seen from a little further left or right."""
    x, y = at
    sheet.box((x - 40, y - 30, x + 64, y + 34), "#e8f2fb", INK, 1.6)
    sheet.polygon([(x - 38, y + 32), (x + 4 - move, y - 14), (x + 36 - move, y + 32)], "#b9cfae", None)
    sheet.polygon([(x + 14 - move, y + 32), (x + 44 - move, y + 2), (x + 62, y + 32)], "#93b58a", None)
    sheet.dot((x + 40 - move / 2, y - 14), 7, "#f0c34e")


def paperlens() -> Canvas:
    """Words and figures are brought into one space and compared pair by pair."""
    figure = Figure(640, 360)
    sheet = figure.sheet
    figure.stage("Embedding", (158, 34, 330, 330))
    figure.stage("Comparing", (352, 34, 626, 330))
    figure.part("Query/Text", (78, 122), "data", (104, 62))
    figure.part("Figure/Image", (78, 254), "data", (112, 62))
    figure.taper("Text/Encoder", (244, 122), (122, 92))
    figure.taper("Image/Encoder", (244, 254), (122, 92))
    for row in range(4):
        for column in range(4):
            left, top = 392 + column * 18, 92 + row * 18
            sheet.box((left, top, left + 18, top + 18), "#9cc0e6" if row == column else "#eef3f9", BLUE, 1.2)
    figure.part("Similarity/Matrix", (430, 204), size=(124, 62))
    figure.part("Contrastive/Loss", (556, 278), "loss", (126, 62))
    figure.link("Query Text", "Text Encoder")
    figure.link("Figure Image", "Image Encoder")
    figure.link("Text Encoder", "Similarity Matrix", "rl", [(346, 122), (346, 192)], (0, -12))
    figure.link("Image Encoder", "Similarity Matrix", "rl", [(346, 254), (346, 216)], (0, 12))
    figure.link("Similarity Matrix", "Contrastive Loss", "rt", [(556, 204)])
    return sheet


def claymesh() -> Canvas:
    """Words pick shapes from a codebook; what is drawn of them teaches the codebook."""
    figure = Figure(640, 400)
    sheet = figure.sheet
    figure.stage("Shaping", (14, 24, 430, 220))
    figure.stage("Checking", (448, 24, 626, 384))
    figure.part("Text/Prompt", (70, 132), "data", (96, 62))
    figure.taper("Prompt/Encoder", (198, 132), (116, 92))
    figure.part("Shape/Codebook", (348, 132), size=(126, 62))
    figure.part("Mesh/Decoder", (540, 108), size=(110, 62))
    figure.part("Renderer", (540, 216), size=(112, 46))
    figure.part("Render/Loss", (540, 324), "loss", (104, 62))
    corners: list[Point] = [(170, 268), (222, 246), (262, 282), (244, 338), (184, 348), (150, 308)]
    sheet.polygon(corners, "#ead9c7", "#8a6d1b", 1.8)
    for corner in corners:
        sheet.line([(208, 298), corner], "#8a6d1b", 1.4)
    figure.part("Reference/Render", (330, 342), "data", (130, 62))
    figure.link("Text Prompt", "Prompt Encoder")
    figure.link("Prompt Encoder", "Shape Codebook")
    figure.link("Shape Codebook", "Mesh Decoder", "rl", shift=(-12, 12))
    figure.link("Mesh Decoder", "Renderer", "bt")
    figure.link("Renderer", "Render Loss", "bt")
    figure.link("Reference Render", "Render Loss", "rl", shift=(0, 18))
    figure.link("Render Loss", "Shape Codebook", "lb", [(348, 306)], (-18, 0))
    figure.note((398, 290), "Update")
    return sheet


def shelfbot() -> Canvas:
    """A camera and a stock list guide a gripper; what it felt corrects the next grasp."""
    figure = Figure(640, 360)
    figure.stage("Seeing", (150, 24, 330, 250))
    figure.part("Shelf/Camera", (74, 88), "data", (108, 62))
    figure.part("Stock/List", (74, 196), "data", (100, 62))
    figure.taper("Object/Detector", (240, 88), (124, 84))
    figure.part("Item/Matcher", (240, 200), size=(116, 62))
    figure.part("Grasp/Planner", (430, 142), size=(116, 62))
    figure.part("Robot/Arm", (566, 142), "head", (96, 62))
    figure.part("Touch/Sensor", (566, 302), "loss", (110, 62))
    figure.link("Shelf Camera", "Object Detector")
    figure.link("Stock List", "Item Matcher")
    figure.link("Object Detector", "Item Matcher", "bt")
    figure.link("Item Matcher", "Grasp Planner", "rb", [(430, 200)])
    figure.link("Grasp Planner", "Robot Arm")
    figure.link("Robot Arm", "Touch Sensor", "bt")
    figure.link("Touch Sensor", "Grasp Planner", "lb", [(400, 302)], (0, -30))
    return figure.sheet


def skyweave() -> Canvas:
    """Three bands of a satellite picture become one map of land use."""
    figure = Figure(640, 360)
    figure.stage("Aligning", (150, 24, 316, 336))
    for row, band in enumerate(("Red/Band", "Green/Band", "Infrared/Band")):
        figure.part(band, (74, 84 + row * 98), "data", (108, 62))
    figure.part("Band/Aligner", (232, 182), size=(116, 70))
    for band, shift in (("Red Band", -20), ("Green Band", 0), ("Infrared Band", 20)):
        figure.link(band, "Band Aligner", shift=(0, shift))
    figure.part("Patch/Mixer", (392, 182), size=(104, 62))
    figure.part("Land/Classifier", (554, 182), "head", (124, 62))
    figure.part("Land/Map", (554, 306), "data", (96, 62))
    figure.link("Band Aligner", "Patch Mixer")
    figure.link("Patch Mixer", "Land Classifier")
    figure.link("Land Classifier", "Land Map", "bt")
    return figure.sheet
