"""Valid files of many kinds, made by hand or by tools; how each looks is kept in one sheet of thumbnails.

``python -m tests.strategies.svg.corpus.thumbnails`` draws the sheet again. Look at it afterwards.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
CORPUS = {
    f"{file.parent.name}/{file.stem}": file.read_text("utf-8")
    for file in sorted(HERE.glob("*/*.svg"), key=lambda file: (file.parent.name, file.stem))
}
"""Whole files by folder and name."""


def page(body: str) -> str:
    """Return a whole file of 120 by 90 around a body."""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 90">{body}</svg>'
