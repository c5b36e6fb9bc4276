"""Makes the picture of a reproduction's document from a run on fake services.

``python -m tests.docs.reproduce_picture`` writes docs/images/reproduce.png.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image

from tests.cli.invoke import limner
from tests.docs.blocks import ROOT
from tests.end_to_end.shop import BilledImages, write_toml
from tests.fakes.examiner import ExaminerServer

TABLE = "Strict (Str) and relaxed (Rel) scores by subject"
SCALE = 1.35
COLOURS = 64


def main() -> None:
    """Make GenExam's paper anew on its sample, with two painters, and show the page with the paper's main table."""
    with tempfile.TemporaryDirectory() as folder, BilledImages() as images, ExaminerServer() as examiner:
        os.chdir(folder)
        facts = {"input_price": 2.0, "output_price": 8.0}
        drawing = {"base_url": images.base_url, "image_shape": "openai-images", "seeds": True}
        sections: dict[str, dict[str, Any]] = {
            "providers.drawing": drawing,
            "providers.judging": {"base_url": examiner.base_url},
        }
        sections |= {"models.judging/judge": facts, "painters.drawing/one": {"image_price": 0.01}}
        write_toml(Path(folder), sections)
        painters = [f"{name}=drawing/one" for name in ("GPT-Image-1.5", "Nano Banana Pro")]
        words = [word for painter in painters for word in ("--painter", painter)]
        limner(
            "reproduce",
            "sample/genexam",
            *words,
            "--judge",
            "judging/judge",
            "--run",
            "--budget",
            "9",
            "-o",
            "paper",
            "--pdf",
        )
        save(Path("paper/index.pdf"), ROOT / "docs" / "images" / "reproduce.png")
        os.chdir(ROOT)


def save(document: Path, path: Path) -> None:
    """The page with the table, as a small picture."""
    for page in list(pypdfium2.PdfDocument(document))[1:]:
        if TABLE in " ".join(page.get_textpage().get_text_range().split()):
            picture: Image.Image = page.render(scale=SCALE).to_pil()
            picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
            return
    raise SystemExit(f"{document} has no page with {TABLE}")


if __name__ == "__main__":
    main()
