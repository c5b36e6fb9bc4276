"""Words that mean harm, on every page and in every field: shown as they are, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser import expect
from tests.report.site.conftest import Site
from tests.report.site.hostile import EXAM, WORDS, bad
from tests.report.site.reading import keys, parts
from tests.report.site.visiting import Browser, overflow

pytestmark = pytest.mark.slow

HARM = (Path(__file__).parent / "harm.js").read_text()
CLEAN: dict[str, Any] = {
    "pwned": None,
    "scripts": [],
    "inline": 0,
    "links": [],
    "images": [],
    "handlers": [],
    "foreign": 0,
}


def home(site: Site) -> Any:
    (folder,) = (site.folder / "exams").iterdir()
    return folder


def addresses(site: Site) -> list[tuple[str, str]]:
    data = home(site) / "data"
    found = [(f"{page}.html", "") for page in ("index", "questions", "gallery", "differences", "failures", "compare")]
    found += [("painter.html", f"#p={painter['key']}") for painter in parts(data, "exam")[0]["painters"][:4]]
    for key in list(keys(data).values())[::4]:
        drawing = next(one["drawing"]["d"] for one in parts(data, f"q/{key}") if one.get("drawing", {}).get("image"))
        found += [("question.html", f"#q={key}"), ("question.html", f"#q={key}&d={drawing}")]
    return found


def seen(word: str) -> str:
    """A word as it is compared: blanks, and the strokes that stand for them in names, run together."""
    return re.sub(r"[\s_]+", " ", word)


def test_hostile_texts_neither_run_nor_break_layout(browser: Browser, evil: Site) -> None:
    for file, after in [("../../index.html", ""), *addresses(evil)]:
        page = browser.open(home(evil) / file, after)
        page.locator("main h1").first.wait_for()
        if "d=" in after:
            page.locator("dialog[open]").wait_for()
            for box in page.locator("dialog .check input").all():
                box.check()
        for row in page.locator(".matrix button").all()[:2]:
            row.evaluate("(one) => one.click()")
            expect(row).to_have_attribute("aria-expanded", "true")
        page.mouse.move(400, 400)
        assert page.evaluate(HARM) == CLEAN, after
        assert overflow(page) <= 0, f"{file}{after}"
        page.set_viewport_size({"width": 390, "height": 800})
        page.wait_for_function("() => innerWidth === 390")
        assert overflow(page) <= 0, f"{file}{after} on a phone"
        browser.leave(page)


def test_hostile_texts_are_shown_verbatim(browser: Browser, evil: Site) -> None:
    data = home(evil) / "data"
    for number, (id, key) in enumerate(keys(data).items()):
        page = browser.open(home(evil) / "question.html", f"#q={key}")
        page.locator("article.drawing").first.wait_for()
        shown = seen(page.locator("main").text_content())
        for word in (id, bad(number, f"prompt {number}"), bad(number, f"point {number}.0"), bad(number, "subject")):
            assert seen(word) in shown, word
        browser.leave(page)
    page = browser.open(home(evil) / "index.html")
    page.locator("tbody tr").first.wait_for()
    shown = seen(page.locator("main").text_content())
    assert all(seen(bad(number, "painter")) in shown for number in range(len(WORDS)))
    assert seen(EXAM) in shown
    assert page.evaluate("Object.keys(Object.prototype).length") == 0


def test_file_names_are_safe_with_hostile_texts(evil: Site) -> None:
    for path in evil.folder.rglob("*"):
        name = path.name
        assert name.isascii()
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."), name
        assert len(name) < 100
