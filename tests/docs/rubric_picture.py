"""Makes the picture of the page on rubrics: ``python -m tests.docs.rubric_picture``."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser import started
from tests.cli.invoke import limner
from tests.docs.blocks import ROOT

SAMPLE = ROOT / "src" / "limner" / "exams" / "genexam" / "sample"
BAD = ("Is the label 'Reverse side' written?", "Does the drawing follow the instructions?")


def main() -> None:
    """The page of a proof: two bad criteria in the rubric of the flower, and what the OCR examiner saw."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shutil.copytree(SAMPLE, folder / "data")
        path = folder / "data" / "annotations" / "All_Subjects.jsonl"
        row, *rest = (json.loads(line) for line in path.read_text("utf-8").splitlines())
        texts = [*(point["question"] for point in row["scoring_points"][:6]), *BAD]
        row["scoring_points"] = [{"question": text, "score": 0.125} for text in texts]
        path.write_text("".join(json.dumps(each) + "\n" for each in (row, *rest)), "utf-8")
        words = ("--data", folder / "data", "--judge", "ocr", "--limit", "1", "--store", folder / "store")
        limner("exam", "prove", "genexam", *words, "-o", folder / "page.html")
        with started() as browser:
            page = browser.new_page(viewport={"width": 1000, "height": 910})
            page.goto((folder / "page.html").as_uri())
            page.evaluate("document.querySelector('h2').previousElementSibling.scrollIntoView()")
            image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            image.quantize(64, dither=Image.Dither.NONE).save(ROOT / "docs" / "images" / "rubric.png", optimize=True)


if __name__ == "__main__":
    main()
