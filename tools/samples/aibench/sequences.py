"""Figures of invented methods for sound, text and measured series."""

from __future__ import annotations

import math

from tools.samples.aibench.parts import Figure
from tools.samples.genexam.canvas import BLUE, INK, Canvas


def tidewatch() -> Canvas:
    """Two encoders side by side, fused, then a forecast."""
    figure = Figure(640, 350)
    figure.stage("Encoding", (158, 40, 330, 315))
    figure.stage("Forecasting", (356, 40, 626, 315))
    figure.part("River/Gauges", (76, 118), "data", (112, 62))
    figure.part("Rain Radar", (76, 246), "data", (124, 46))
    figure.taper("Gauge/Encoder", (244, 118), (124, 92))
    figure.taper("Radar/Encoder", (244, 246), (124, 92))
    figure.part("Fusion/Block", (420, 182))
    figure.part("Forecast/Head", (556, 120), "head")
    figure.part("Water/Level", (556, 246), "data", (104, 62))
    figure.link("River Gauges", "Gauge Encoder")
    figure.link("Rain Radar", "Radar Encoder")
    figure.link("Gauge Encoder", "Fusion Block", "rt", [(420, 118)])
    figure.link("Radar Encoder", "Fusion Block", "rb", [(420, 246)])
    figure.link("Fusion Block", "Forecast Head", "rb", [(518, 182)], (0, -38))
    figure.link("Forecast Head", "Water Level", "bt", shift=(20, 20))
    return figure.sheet


def songlark() -> Canvas:
    """A sound becomes a picture of itself; its code looks up a memory and both reach the head."""
    figure = Figure(640, 400)
    sheet = figure.sheet
    figure.stage("Listening", (14, 26, 216, 384))
    figure.stage("Recalling", (234, 26, 434, 384))
    figure.stage("Naming", (452, 26, 626, 384))
    wave = [(50 + step * 2.6, 92 + 22 * math.sin(step / 2.2) * math.sin(step / 16)) for step in range(51)]
    sheet.line(wave, BLUE, 2)
    figure.part("Audio Clip", (115, 150), "data", (126, 44))
    for row in range(6):
        for column in range(13):
            shade = (row * 5 + column * 7 + row * column) % 9
            color = f"#{240 - shade * 22:02x}{244 - shade * 18:02x}{250 - shade * 8:02x}"
            sheet.box((57 + column * 9, 236 + row * 9, 66 + column * 9, 245 + row * 9), color, None, 0)
    sheet.box((57, 236, 174, 290), None, INK, 1.6)
    figure.part("Spectrogram", (115, 324), "data", (142, 44))
    figure.taper("Patch/Encoder", (334, 324), (124, 92))
    figure.part("Call/Memory", (334, 150))
    figure.part("Species/Head", (540, 324), "head")
    figure.part("Bird/Species", (570, 150), "data", (98, 62))
    sheet.arrow([(115, 174), (115, 232)], INK, 2.2, head=11)
    figure.link("Spectrogram", "Patch Encoder")
    figure.link("Patch Encoder", "Call Memory", "tb")
    figure.link("Patch Encoder", "Species Head")
    figure.link("Call Memory", "Species Head", "rt", [(505, 150)], (0, -35))
    figure.link("Species Head", "Bird Species", "tb", shift=(30, 0))
    figure.note((346, 236), "Query", "lm")
    return sheet


def loopdraft() -> Canvas:
    """Plan, write, criticise, and round again."""
    figure = Figure(640, 330)
    figure.stage("Drafting", (150, 30, 446, 190))
    figure.part("Task/Brief", (70, 112), "data", (96, 62))
    figure.part("Planner", (218, 112), size=(104, 50))
    figure.part("Writer", (374, 112), size=(104, 50))
    figure.part("Critic", (538, 112), "loss", (104, 50))
    figure.part("Final Draft", (538, 270), "data", (132, 46))
    figure.link("Task Brief", "Planner")
    figure.link("Planner", "Writer")
    figure.link("Writer", "Critic")
    figure.link("Critic", "Final Draft", "bt", shift=(20, 20))
    figure.link("Critic", "Planner", "bb", [(514, 220), (218, 220)], (-24, 0))
    figure.note((360, 238), "Revision Notes")
    figure.note((568, 192), "Accept", "lm")
    return figure.sheet


def routeforge() -> Canvas:
    """A router shares work among three experts; its gate weighs their sum."""
    figure = Figure(640, 380)
    figure.stage("Experts", (252, 12, 432, 308))
    figure.part("Token/Features", (72, 172), "data", (116, 62))
    figure.part("Router", (192, 172), "loss", (86, 52))
    for row, name in enumerate(("Grammar/Expert", "Number/Expert", "Dialogue/Expert")):
        figure.part(name, (342, 88 + row * 84), size=(116, 60))
        whole = name.replace("/", " ")
        figure.link("Router", whole, "rl", shift=((row - 1) * 14, 0))
    figure.part("Weighted/Sum", (540, 170), "head", (118, 62))
    for row, name in enumerate(("Grammar Expert", "Number Expert", "Dialogue Expert")):
        figure.link(name, "Weighted Sum", "rl", shift=(0, (row - 1) * 16))
    figure.part("Output/Features", (540, 304), "data", (116, 62))
    figure.link("Token Features", "Router")
    figure.link("Weighted Sum", "Output Features", "bt", shift=(24, 24))
    figure.link("Router", "Weighted Sum", "bb", [(192, 338), (460, 338), (460, 240), (512, 240)], (0, -28))
    figure.note((322, 356), "Gate Weights")
    return figure.sheet


def mailsort() -> Canvas:
    """A letter is read, its address matched, and a belt chosen; doubtful ones go to people."""
    figure = Figure(640, 340)
    figure.stage("Reading", (150, 30, 430, 150))
    figure.stage("Sorting", (230, 176, 626, 322))
    figure.part("Letter/Scan", (72, 100), "data", (100, 62))
    figure.part("Text/Finder", (222, 100), size=(110, 58))
    figure.part("Address/Reader", (354, 100), size=(124, 58))
    figure.part("Belt/Chooser", (552, 258), "head", (116, 62))
    figure.part("Street/Index", (314, 258), size=(116, 62))
    figure.part("Human/Desk", (552, 100), "loss", (104, 62))
    figure.link("Letter Scan", "Text Finder")
    figure.link("Text Finder", "Address Reader")
    figure.link("Address Reader", "Street Index", "bt", shift=(-20, 20))
    figure.link("Street Index", "Belt Chooser")
    figure.link("Belt Chooser", "Human Desk", "tb")
    figure.note((562, 153), "Doubtful", "lm")
    return figure.sheet


def gridcast() -> Canvas:
    """The load of a power grid from weather and calendar, corrected by its last error."""
    figure = Figure(640, 360)
    figure.stage("Encoding", (156, 30, 330, 240))
    figure.part("Weather/Report", (76, 92), "data", (108, 62))
    figure.part("Calendar", (76, 186), "data", (108, 46))
    figure.taper("Weather/Encoder", (244, 98), (124, 84))
    figure.taper("Calendar/Encoder", (244, 190), (124, 84))
    figure.part("Gated/Mixer", (412, 142), size=(110, 62))
    figure.part("Load/Forecast", (556, 142), "head", (116, 62))
    figure.part("Error/Memory", (412, 302), "loss", (110, 62))
    figure.link("Weather Report", "Weather Encoder")
    figure.link("Calendar", "Calendar Encoder")
    figure.link("Weather Encoder", "Gated Mixer", "rt", [(412, 98)])
    figure.link("Calendar Encoder", "Gated Mixer", "rb", [(390, 190)], (0, -22))
    figure.link("Gated Mixer", "Load Forecast")
    figure.link("Load Forecast", "Error Memory", "br", [(556, 302)])
    figure.link("Error Memory", "Gated Mixer", "tb", shift=(20, 20))
    return figure.sheet
