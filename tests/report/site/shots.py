"""Pictures of the site for the documentation, from bundled samples: ``python -m tests.report.site.shots``."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

import limner
from limner.core.exam import Selection
from limner.report.site import build
from tests.browser import new_context, new_page, started
from tests.docs.blocks import ROOT
from tests.report.site.reading import keys, parts

PAINTERS = [f"control/{name}" for name in ("reference", "erased", "swapped", "text", "blank")]
WIDTH = 1100
QUESTIONS = 6
"""Of each sample: enough for intervals."""


def shoot(page: Any, name: str, whole: bool = False) -> None:
    """Write what the window shows, or the whole page, as a small PNG."""
    image = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    image.quantize(64, dither=Image.Dither.NONE).save(ROOT / "docs" / "images" / name, optimize=True)


def take(browser: Any, site: Path) -> None:
    """Take pictures of two painters compared, a question with what OCR read, and a graph."""

    def opened(exam: str, file: str, after: str = "", height: int = 760, scheme: Any = "light") -> Any:
        page = new_page(new_context(browser, width=WIDTH, height=height, color_scheme=scheme))
        page.goto((site / "exams" / exam / file).as_uri() + after)
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_load_state("networkidle")
        return page

    listed = {
        one["row"]: one["key"] for one in parts(site / "exams" / "sample-genexam" / "data", "exam")[0]["painters"]
    }
    two = f"#a={listed['control/reference']}&b={listed['control/erased']}"
    page = opened("sample-genexam", "compare.html", two)
    page.locator(".glass .frame img").nth(2).wait_for()
    shoot(page, "site-compare.png", whole=True)
    question = keys(site / "exams" / "sample-genexam" / "data")["Sample_Biology_1"]
    page = opened("sample-genexam", "question.html", f"#q={question}", 1150)
    page.get_by_label("Text read by OCR").check()
    page.locator(".overlay").first.wait_for()
    shoot(page, "site-question.png")
    graph = keys(site / "exams" / "sample-mmmg" / "data")["primaryschool_Geography_1"]
    page = opened("sample-mmmg", "question.html", f"#q={graph}", 820, "dark")
    page.locator("article.drawing", has_text="control/reference").locator(".look").click()
    page.locator("dialog[open]").wait_for()
    page.locator("dialog").get_by_label("Text read by OCR").check()
    page.locator("dialog .overlay").first.wait_for()
    page.locator(".closer-picture").evaluate("(one) => one.scrollTo(0, 110)")
    shoot(page, "site-graph.png")


def main() -> None:
    """Run the samples with controls, build the site and take the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        with limner.Store(Path(folder) / "store") as store:
            some = Selection(limit=QUESTIONS)
            judges = ["ocr", "ocr/mentions"]
            limner.run("sample/genexam", painters=PAINTERS, judges=judges, store=store, selection=some)
            limner.run("sample/mmmg", painters=[PAINTERS[0], PAINTERS[4]], judges=["ocr"], store=store, selection=some)
        site = Path(folder) / "site"
        build(site, store=Path(folder) / "store")
        with started() as browser:
            take(browser, site)


if __name__ == "__main__":
    main()
