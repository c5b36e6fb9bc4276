"""Agreement with people on the page of judges: the numbers of ``limner agree``, and nothing where nobody was asked."""

from __future__ import annotations

from typing import Any

import pytest

import limner
from limner.store import Store
from tests.report.site.conftest import Site, built
from tests.report.site.reading import parts
from tests.report.site.visiting import Browser, overflow
from tests.study import made

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("studied")
    with Store(folder / "store") as store:
        made.fill(store, "genexam", judges=("fake/judge", "ocr"))
        made.make(store)
        made.answer(store)
    return built(folder)


def test_numbers_match_agree_command(studied: Site, site: Site) -> None:
    exam = parts(studied.data(), "exam")[0]
    names = {way["number"]: way["name"] for way in exam["ways"]}
    shown = {
        (names[row["way"]], row["people"], name, each["score"]): (each["value"], each["low"], each["high"], each["n"])
        for row in exam["people"]
        for name, each in row["measures"].items()
    }
    numbers: dict[tuple[str, ...], Any] = {
        (one.first, one.second, one.measure, one.score): (one.value, one.low, one.high, one.n)
        for one in limner.agree("genexam", store=studied.store).numbers
        if one.unit == "drawing"
    }
    there = {(judge, people, measure) for judge, people, measure, _ in shown}
    assert {("fake/judge", "people/pilot", "kappa"), ("ocr", "people/pilot", "accuracy")} <= there
    assert shown == {key: numbers[key] for key in shown}
    assert "people" not in parts(site.data(), "exam")[0]


def test_agreement_with_people_is_shown_beside_certificate(browser: Browser, studied: Site, site: Site) -> None:
    page = browser.open(studied.exam() / "judges.html")
    page.locator("tbody tr", has_text="fake/judge").first.wait_for()
    heads = page.locator("thead th").all_inner_texts()
    assert [head.strip("↕▲▼ \n") for head in heads[1:3]] == ["Certificate", "With people"]
    row = page.locator("tbody tr", has_text="fake/judge").first
    assert "people/pilot" in row.inner_text()
    assert "Cohen's kappa" in row.inner_text()
    assert overflow(page) <= 0
    page = browser.open(site.exam() / "judges.html")
    assert "With people" not in page.locator("thead").first.inner_text()


def test_judge_is_named_with_certificate_and_agreement(browser: Browser, studied: Site) -> None:
    home = studied.exam()
    painters = parts(studied.data(), "exam")[0]["painters"]
    pages = [(studied.folder / "index.html", ""), (home / "index.html", "")]
    pages += [(home / "painter.html", f"#p={painters[0]['key']}"), (home / "compare.html", "#what=painters")]
    for file, part in pages:
        page = browser.open(file, part)
        said = page.locator("p", has_text="agrees with people/pilot on").first.inner_text()
        assert "fake/judge" in said
        assert "not examined, agrees with people/pilot on" in said
        assert "(kappa " in said
        assert overflow(page) <= 0
