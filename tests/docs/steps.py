"""Makes the pictures of strategies' steps from runs with a fake planner and a stand-in painter.

``python -m tests.docs.steps`` writes docs/images/steps-*.png.
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
from limner.strategies import known_options
from tests.docs.blocks import ROOT
from tests.fakes.studio import StudioServer

PAINTER = "sketch=python/tests.docs.sketch:draw"
RUNS = {
    "rewrite": ("sample/aibench", "Sample_2025/tidewatch", "rewrite"),
    "structure": ("sample/fepbench", "Sample_Physics_1/free", "structure"),
    "recaption": ("sample/mmmg", "preschool_Biology_1", "recaption"),
    "reason": ("sample/mmmg", "preschool_Biology_1", "reason"),
    "svg": ("sample/genexam", "Sample_Biology_1", "svg"),
    "svg-prior": ("sample/genexam", "Sample_Biology_1", "svg-prior"),
    "best-of-n": ("sample/genexam", "Sample_Biology_1", "best-of-4"),
    "edit": ("sample/genexam", "Sample_Biology_1", "edit"),
}
SEEDS = {"edit": 1}
"""Where the first drawing would leave nothing to show."""


def main() -> None:
    """Draw one question by each strategy and write its steps."""
    with tempfile.TemporaryDirectory() as folder, StudioServer() as server:
        os.chdir(folder)
        Path("limner.toml").write_text(f'[providers.home]\nbase_url = "{server.base_url}"\n', "utf-8")
        minds = dict.fromkeys(("planner", "coder", "chooser", "critic"), "home/mind")
        for name, (exam, id, word) in RUNS.items():
            given = {role: mind for role, mind in minds.items() if role in known_options([word], {})}
            with limner.Store(name) as store:
                limner.run(
                    exam,
                    painters=[] if word == "svg" else [PAINTER],
                    store=store,
                    selection=Selection(ids=(id,)),
                    strategies=[word],
                    strategy_options=given,
                    first_seed=SEEDS.get(name, 0),
                )
                (drawing,) = load_drawings(store, exam)
                assert drawing.status == "done", drawing.detail
                whole = load_exam_or_data(exam, None, store)[1]
                prompt = next(question.prompt for question in whole.questions if question.id == id)
                made = sheet(cards(prompt, (drawing.notes or {})["steps"], drawing.image, store.blobs))
            small = made.quantize(48, dither=Image.Dither.NONE)
            small.save(ROOT / "docs" / "images" / f"steps-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
