"""A table in a browser: published figures are grey, the best bold, and nothing sticks out of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.report.paper import build, find
from limner.report.tables import html
from limner.store import Store
from tests.browser import new_context, new_page, started


@pytest.mark.slow
def test_page_is_styled_as_rendered_by_browser(filled: dict[str, Store], tmp_path: Path) -> None:
    path = tmp_path / "table.html"
    path.write_text(html.page(build(find("genexam:table6"), filled["genexam"])), "utf-8")
    with started() as browser:
        page = new_page(new_context(browser, width=1300, height=800))
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
