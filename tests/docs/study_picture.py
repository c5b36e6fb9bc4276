"""Makes the picture of a study's page from the bundled sample: ``python -m tests.docs.study_picture``."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image

import limner
from limner.study.new import create_study
from tests.browser import started
from tests.docs.blocks import ROOT
from tests.study.page.serving import StudyServer

EXAM = "sample/genexam"
FILE = "study.png"


def main() -> None:
    """Draw the sample, serve a study of it, and take the picture."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        with limner.Store(place) as store:
            limner.run(EXAM, painters=["control/erased"], store=store)
            made = create_study(store, "pilot", EXAM, "genexam", painters=["control/erased"], raters=["anna"])
        with StudyServer(str(place), Path(folder)) as server, started() as browser:
            page = browser.new_context(viewport={"width": 1180, "height": 760}, device_scale_factor=1).new_page()
            page.goto(f"{server.address}/r/{made.links['anna']}")
            if (button := page.get_by_role("button", name="I agree")).count():
                button.click()
            page.wait_for_load_state("networkidle")
            page.keyboard.press("6")
            page.keyboard.press("y")
            page.wait_for_selector("html[data-waiting='0']")
            shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            shot.quantize(64, dither=Image.Dither.NONE).save(ROOT / "docs" / "images" / FILE, optimize=True)


if __name__ == "__main__":
    main()
