"""Makes the picture that leads the README, from the bundled sample: ``python -m tests.docs.readme_picture``.

A leaderboard above, a drawing with its marks below, both as ``limner report`` shows them. Beside the controls stands
`mine`, a folder of drawings: the references with a label rubbed out of each.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import limner
from limner.core.images import decode
from limner.evidence.ocr import RapidOcr
from limner.exams import read, resolve
from limner.painters.controls.faults import FAULTS
from limner.report.site import build
from tests.browser import started
from tests.docs.blocks import ROOT
from tests.report.site.reading import keys

EXAM, QUESTION, SEED = "sample/genexam", "Sample_Biology_1", 7
CONTROLS = [f"control/{name}" for name in ("reference", "swapped", "erased", "text", "blank")]
WIDTH, HEIGHT, GAP, PAPER = 1080, 700, 14, (222, 220, 212)


def draw(folder: Path) -> None:
    """The references, each with one label gone."""
    folder.mkdir()
    erase = FAULTS["erase"].make
    assert erase is not None
    reader = RapidOcr()
    for question in read(resolve(EXAM)).questions:
        data = question.reference.read() if question.reference else None
        assert data is not None
        image = decode(data)
        made = erase(image, reader.read(image), 1, SEED)
        (made.image if made else image).save(folder / f"{question.id}.png")


def shots(site: Path) -> list[Image.Image]:
    """The head of the leaderboard down to the last row, and the drawing with its marks."""
    home = site / "exams" / EXAM.replace("/", "-")
    with started() as browser:
        window: Any = {"viewport": {"width": WIDTH, "height": HEIGHT}}
        board = browser.new_context(**window).new_page()
        board.goto((home / "index.html").as_uri())
        board.wait_for_selector("html[data-ready=yes]")
        box = board.locator("table").first.bounding_box()
        assert box is not None
        clip: Any = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + GAP}
        taken = [board.screenshot(clip=clip, full_page=True)]
        page = browser.new_context(**window).new_page()
        page.goto((home / "question.html").as_uri() + f"#q={keys(home / 'data')[QUESTION]}")
        page.wait_for_selector("html[data-ready=yes]")
        page.locator("article.drawing", has_text="mine").locator(".look").click()
        page.locator("dialog[open]").wait_for()
        page.locator("dialog").get_by_label("Text read by OCR").check()
        page.locator("dialog .overlay").first.wait_for()
        page.wait_for_load_state("networkidle")
        taken.append(page.locator("dialog[open]").screenshot())
    return [Image.open(io.BytesIO(each)).convert("RGB") for each in taken]


def composed(images: list[Image.Image]) -> Image.Image:
    """One below the other on a darker ground, each with a thin edge."""
    width = max(image.width for image in images) + 2 * GAP
    sheet = Image.new("RGB", (width, sum(image.height + GAP for image in images) + GAP), PAPER)
    top = GAP
    for image in images:
        sheet.paste(image, ((width - image.width) // 2, top))
        top += image.height + GAP
    return sheet


def main() -> None:
    """Draw, mark, build the site, and take the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw(folder / "imgs")
        painters = [f"mine=folder/{folder}/imgs", *CONTROLS]
        limner.run(EXAM, painters=painters, judges=["ocr"], store=folder / "store")
        build(folder / "site", store=folder / "store")
        small = composed(shots(folder / "site")).quantize(128, kmeans=2, dither=Image.Dither.NONE)
        small.save(ROOT / "docs" / "images" / "readme.png", optimize=True)


if __name__ == "__main__":
    main()
