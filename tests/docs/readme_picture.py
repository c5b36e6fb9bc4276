"""Makes the picture that leads the README, from the demo: ``python -m tests.docs.readme_picture``.

A leaderboard above, a drawing with its marks below, both as the demo's site shows them.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser import started
from tests.cli.invoke import limner
from tests.docs.blocks import ROOT
from tests.report.site.reading import keys

EXAM, QUESTION, PAINTER = "sample/mmmg", "preschool_Biology_1", "one label wrong"
WIDTH, HEIGHT, GAP, PAPER = 1080, 700, 14, (222, 220, 212)


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
        page.locator("article.drawing", has_text=PAINTER).locator(".look").click()
        page.locator("dialog[open]").wait_for()
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
    """Run the demo and take the picture of its site."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        limner("demo")
        small = composed(shots(Path("demo-site").absolute())).quantize(128, kmeans=2, dither=Image.Dither.NONE)
        small.save(ROOT / "docs" / "images" / "readme.png", optimize=True)


if __name__ == "__main__":
    main()
