"""Valid files of many kinds, made by code or saved from tools; how each looks is kept in one sheet of thumbnails.

``python -m tests.svg.corpus`` draws the sheet anew. Look at it afterwards.
"""

from __future__ import annotations

from pathlib import Path

from tests.svg.corpus.paint import PAINT
from tests.svg.corpus.shapes import SHAPES
from tests.svg.corpus.structure import STRUCTURE
from tests.svg.corpus.words import FAR_EASTERN, WORDS

HERE = Path(__file__).parent
TOOLS = {name: (HERE / f"{name}.svg").read_text("utf-8") for name in ("graphviz", "plot")}
PARTS = {
    "shapes": SHAPES,
    "paint": PAINT,
    "structure": STRUCTURE,
    "words": WORDS,
    "tools": TOOLS,
    "far-eastern": FAR_EASTERN,
}
CORPUS = {f"{part}/{name}": svg for part, files in PARTS.items() for name, svg in files.items()}
