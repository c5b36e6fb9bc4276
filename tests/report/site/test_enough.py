"""What is shown only where there is enough of it: questions that are drawn, categories of ten questions or more."""

from __future__ import annotations

import pytest

from limner.store import Store
from limner.store.records import load_drawings
from limner.store.schema import drawings, markings
from tests.report.site.conftest import Site, built
from tests.report.site.reading import parts
from tests.report.site.visiting import Browser
from tests.report.tables import synthetic

pytestmark = pytest.mark.slow
QUESTIONS, FEWEST = 36, 10


@pytest.fixture(scope="module")
def thin(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Many questions, one of which nobody has drawn."""
    folder = tmp_path_factory.mktemp("thin")
    with Store(folder / "store") as store:
        synthetic.fill(store, "genexam", painters=2, questions=QUESTIONS, images=False)
        there = list(load_drawings(store, "genexam"))
        ids = [drawing.id for drawing in there if drawing.question_id == there[0].question_id]
        store.write(lambda connection: connection.execute(markings.delete().where(markings.c.drawing.in_(ids))))
        store.write(lambda connection: connection.execute(drawings.delete().where(drawings.c.id.in_(ids))))
    return built(folder)


def test_strongest_and_weakest_need_ten_questions(browser: Browser, thin: Site, site: Site) -> None:
    painter = parts(thin.data(), "exam")[0]["painters"][0]["key"]
    page = browser.open(thin.exam() / "painter.html", f"#p={painter}")
    ranked = page.locator("ol.ranked li")
    ranked.first.wait_for()
    counts = [int(text.rpartition("n ")[2]) for text in ranked.locator(".soft").all_inner_texts() if "n " in text]
    assert counts
    assert min(counts) >= FEWEST
    by = parts(thin.data(), "by")[0]
    assert min(min(view["n"] for view in values) for values in _views(by)) < FEWEST
    few = parts(site.data(), "exam")[0]["painters"][0]["key"]
    page = browser.open(site.exam() / "painter.html", f"#p={few}")
    page.get_by_text("Too few categories have 10 questions or more.").first.wait_for()
    assert page.locator("ol.ranked").count() == 0


def _views(by: object) -> list[list[dict[str, int]]]:
    """All numbers of a file of categories, wherever they stand in it."""
    if isinstance(by, dict):
        if "n" in by and "scores" in by:
            return [[by]]
        return [found for each in by.values() for found in _views(each)]
    return [found for each in by for found in _views(each)] if isinstance(by, list) else []
