"""Makes the picture of a strategy's steps from a run with a fake chooser and a stand-in painter.

``python -m tests.docs.steps`` writes docs/images/steps-best-of-n.png.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from PIL import Image

import limner
from limner.core.exam import Selection
from limner.report.tables.question import cards, sheet
from limner.running.setup import load_exam_or_data
from limner.store.records import load_drawings
from tests.docs.blocks import ROOT
from tests.fakes.studio import StudioServer

PAINTER = "sketch=python/tests.docs.sketch:draw"
EXAM, QUESTION = "sample/genexam", "Sample_Biology_1"


def main() -> None:
    """Draw one question four times, keep one drawing and write the steps."""
    with tempfile.TemporaryDirectory() as folder, StudioServer() as server:
        os.chdir(folder)
        Path("limner.toml").write_text(f'[providers.home]\nbase_url = "{server.base_url}"\n', "utf-8")
        with limner.Store("steps") as store:
            limner.run(
                EXAM,
                painters=[PAINTER],
                store=store,
                selection=Selection(ids=(QUESTION,)),
                strategies=["best-of-4"],
                strategy_options={"chooser": "home/mind"},
            )
            (drawing,) = load_drawings(store, EXAM)
            assert drawing.status == "done", drawing.detail
            whole = load_exam_or_data(EXAM, None, store)[1]
            prompt = next(question.prompt for question in whole.questions if question.id == QUESTION)
            made = sheet(cards(prompt, (drawing.notes or {})["steps"], drawing.image, store.blobs))
        small = made.quantize(48, dither=Image.Dither.NONE)
        small.save(ROOT / "docs" / "images" / "steps-best-of-n.png", optimize=True)


if __name__ == "__main__":
    main()
