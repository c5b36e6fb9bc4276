"""Chains of things that lead to one another: food, power, laws, proteins."""

from __future__ import annotations

from tools.samples.aibench.parts import Figure
from tools.samples.genexam.canvas import GREEN, GREY, Canvas
from tools.samples.genexam.paths import polar, smooth


def food_chain() -> Canvas:
    """What lives on what in a pond, up to the heron."""
    figure = Figure(640, 330)
    sheet = figure.sheet
    for turn in range(0, 360, 30):
        sheet.line([polar((90, 66), 30, turn), polar((90, 66), 40, turn)], "#e3a008", 3)
    sheet.ellipse((90, 66), 26, fill="#ffd54a", outline="#e3a008")
    figure.part("Sun", (90, 134), "data", (80, 40))
    sheet.box((20, 196, 620, 318), "#d6ebf7", None)
    for x in (58, 74, 92, 110):
        sheet.line(smooth([(x, 310.0), (x + 6, 296.0), (x - 3, 284.0)]), GREEN, 4)
    figure.part("Algae", (90, 250), "head", (92, 44))
    figure.part("Water flea", (260, 250), "head", (128, 44))
    figure.part("Small fish", (450, 250), "head", (128, 44))
    figure.part("Heron", (450, 110), "head", (104, 44))
    sheet.line(smooth([(530, 196), (528, 150), (540, 110), (526, 84), (540, 64)]), GREY, 5)
    sheet.polygon([(536, 58), (580, 66), (538, 72)], "#e0a526", None)
    figure.link("Sun", "Algae", "bt")
    figure.link("Algae", "Water flea")
    figure.link("Water flea", "Small fish")
    figure.link("Small fish", "Heron", "tb")
    return sheet


def steam_power() -> Canvas:
    """The closed circle of water and steam in a power plant, with the generator beside it."""
    figure = Figure(640, 360)
    figure.part("Boiler", (100, 90), "loss", (120, 56))
    figure.part("Steam", (310, 90), "data", (110, 46))
    figure.part("Turbine", (520, 90), size=(120, 56))
    figure.part("Generator", (520, 196), "head", (130, 48))
    figure.part("Condenser", (310, 290), size=(130, 56))
    figure.part("Pump", (100, 290), size=(100, 50))
    figure.link("Boiler", "Steam")
    figure.link("Steam", "Turbine")
    figure.link("Turbine", "Generator", "bt")
    figure.link("Turbine", "Condenser", "rr", [(612, 90), (612, 290)])
    figure.link("Condenser", "Pump", "lr")
    figure.link("Pump", "Boiler", "tb")
    return figure.sheet


def state_powers() -> Canvas:
    """Voters, parliament, government and courts, joined by elections and laws."""
    figure = Figure(640, 360)
    figure.part("Voters", (110, 60), "data", (150, 46))
    figure.part("Parliament", (320, 60), size=(130, 52))
    figure.part("Laws", (320, 184), "data", (100, 46))
    figure.part("Government", (130, 300), "head", (140, 52))
    figure.part("Courts", (510, 300), "loss", (120, 52))
    figure.link("Voters", "Parliament")
    figure.link("Parliament", "Laws", "bt")
    figure.link("Laws", "Government", "lt", [(130, 184)])
    figure.link("Laws", "Courts", "rt", [(510, 184)])
    figure.link("Courts", "Government", "lr")
    return figure.sheet


def gene_expression() -> Canvas:
    """From DNA through messenger RNA to protein."""
    figure = Figure(640, 340)
    figure.stage("In the nucleus", (14, 20, 626, 150))
    figure.stage("In the cytoplasm", (14, 184, 626, 324))
    figure.part("DNA", (90, 98), "data", (90, 46))
    figure.part("Transcription", (300, 98), size=(160, 50))
    figure.part("Messenger RNA", (520, 98), "data", (164, 46))
    figure.part("Ribosome", (550, 266), "loss", (120, 50))
    figure.part("Translation", (380, 266), size=(140, 50))
    figure.part("Protein", (90, 266), "head", (110, 46))
    figure.link("DNA", "Transcription")
    figure.link("Transcription", "Messenger RNA")
    figure.link("Messenger RNA", "Translation", "bt", [(520, 168), (420, 168)], (0, 40))
    figure.link("Ribosome", "Translation", "lr")
    figure.link("Translation", "Protein", "lr")
    return figure.sheet
