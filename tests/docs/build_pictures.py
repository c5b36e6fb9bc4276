"""Makes the pictures of the page on building: ``python -m tests.docs.build_pictures``."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from limner.build.engine import Spending, new_build, with_models
from limner.core import settings
from limner.report.plots.rows import plot_funnel
from limner.report.tables.status import funnel_rows
from limner.store.store import open_store
from tests.browser import started
from tests.build.annotator import routes
from tests.build.papers import ABSENT, write_papers
from tests.build.review_page.desk import TOKENS
from tests.build.scripted import scripted, write_provider
from tests.docs.blocks import ROOT

IMAGES = ROOT / "docs" / "images"
ROLES = dict.fromkeys(("annotator", "checker", "expert"), "fake/llm")


def small(data: bytes, name: str, width: int) -> None:
    """A picture of few bytes."""
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    picture.thumbnail((width, 10_000), Image.Resampling.LANCZOS)
    picture.quantize(64, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)


def made(folder: Path) -> None:
    """Draw the funnel of a small build."""
    write_papers(folder / "papers")
    with scripted(*routes()) as llm, open_store(str(folder / "store"), create=True) as store:
        write_provider(folder, llm)
        os.chdir(folder)
        chosen = ["sources.folder=papers", "review.reviewers=0", ABSENT]
        builder = with_models(new_build(store, "mine", "questions", settings=chosen, roles=ROLES), settings.load())
        builder.run(Spending())
        counts, _ = builder.look()
        plot_funnel("mine", builder.recipe, funnel_rows(builder.recipe, counts), folder / "funnel.png")
        small((folder / "funnel.png").read_bytes(), "build-funnel.png", 1000)


def reviewed(folder: Path) -> None:
    """The page of a review, with another reviewer's version."""
    command = [sys.executable, "-m", "tests.build.review_page.desk", str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    with started() as browser:
        for who in ("anna", "ben"):
            page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
            page.goto(f"{address}/r/{TOKENS[who]}/item/CVPR_2025/paper1")
            page.locator("#form textarea").first.wait_for()
            if who == "anna":
                page.get_by_label("Question", exact=True).first.fill("Is Part 1 where the flow begins?")
                page.get_by_role("button", name="Save my changes").click()
            else:
                page.get_by_role("button", name="Accept as it is").click()
            page.locator("#notice.done").wait_for()
        page.locator("#others").scroll_into_view_if_needed()
        small(page.screenshot(), "build-review.png", 1000)
    process.terminate()
    process.wait()


def main() -> None:
    """Make all of them."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "review").mkdir()
        reviewed(Path(folder) / "review")
        made(Path(folder))
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
