"""A table in a browser: published figures are grey, the best bold, and nothing sticks out of the page."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from limner.store import Store
from limner.tables.paper import build, find
from limner.tables.render import html
from tests.needs import need

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.slow
def test_a_page_as_it_is_seen(filled: dict[str, Store], tmp_path: Path) -> None:
    there = CHROMIUM is not None and importlib.util.find_spec("playwright") is not None
    need("chromium", there, "chromium and playwright are not installed")
    from playwright.sync_api import sync_playwright

    path = tmp_path / "table.html"
    path.write_text(html.page(build(find("genexam:table6"), filled["genexam"])), "utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 800})
        page.goto(path.as_uri())
        colours = "rows => [...new Set(rows.map(row => getComputedStyle(row.querySelector('td')).color))]"
        assert page.eval_on_selector_all("tbody tr.published", colours) == ["rgb(119, 119, 119)"]
        own = "tbody tr:not(.published):not(.group)"
        assert page.eval_on_selector_all(own, colours) == ["rgb(0, 0, 0)"]
        weights = "cells => [...new Set(cells.map(cell => getComputedStyle(cell).fontWeight))]"
        assert page.eval_on_selector_all("td.best", weights) == ["700"]
        edges = "cells => [...new Set(cells.map(cell => Math.round(cell.getBoundingClientRect().right)))]"
        assert len(page.eval_on_selector_all("tbody td:nth-child(4), thead tr:last-child th:nth-child(4)", edges)) == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        browser.close()
