"""The site in a browser, opened from disk without a network: what a reader does, by mouse, keyboard and phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from limner.report.site import build
from tests.browser import comes, expect
from tests.cli.invoke import limner
from tests.report.site.conftest import Site
from tests.report.site.reading import keys, parts
from tests.report.site.visiting import Browser, faint, overflow, unnamed

pytestmark = pytest.mark.slow


def addresses(site: Site) -> dict[str, tuple[str, str]]:
    """Every kind of page: its file under the site, and what stands behind the #."""
    data = site.data()
    painter = parts(data, "exam")[0]["painters"][0]["key"]
    key = next(iter(keys(data).values()))
    drawing = next(one for one in parts(data, f"q/{key}") if one.get("drawing", {}).get("steps"))["drawing"]["d"]
    graph = next(iter(keys(site.data("mmmg")).values()))
    exam = "exams/genexam"
    return {
        "index": ("index.html", ""),
        "leaderboard": (f"{exam}/index.html", ""),
        "judges": (f"{exam}/judges.html", ""),
        "painters": (f"{exam}/painter.html", ""),
        "questions": (f"{exam}/questions.html", ""),
        "gallery": (f"{exam}/gallery.html", ""),
        "differences": (f"{exam}/differences.html", ""),
        "failures": (f"{exam}/failures.html", ""),
        "painter": (f"{exam}/painter.html", f"#p={painter}"),
        "question": (f"{exam}/question.html", f"#q={key}"),
        "drawing": (f"{exam}/question.html", f"#q={key}&d={drawing}"),
        "graph": ("exams/mmmg/question.html", f"#q={graph}"),
    }


KINDS = (
    "index", "leaderboard", "judges", "painters", "questions", "gallery", "differences", "failures",
    "painter", "question", "drawing", "graph",
)  # fmt: skip


def visit(browser: Browser, site: Site, kind: str, after: str = "", **how: Any) -> Any:
    file, usual = addresses(site)[kind]
    page = browser.open(site.folder / file, after or usual, **how)
    page.locator("main h1").first.wait_for()
    expect(page.locator(".wait")).to_have_count(0)
    if "d=" in (after or usual):
        page.locator("dialog[open]").wait_for()
    return page


def choice(page: Any, name: str) -> Any:
    return page.get_by_role("combobox", name=name, exact=True)


def column(page: Any, number: int) -> list[str]:
    """A column as it stands now, read at once: rows that are drawn anew are never read half."""
    found: list[str] = page.locator(f"tbody tr > *:nth-child({number})").all_inner_texts()
    return found


def hash_of(page: Any) -> str:
    return str(page.evaluate("location.hash"))


@pytest.mark.parametrize(
    ("kind", "scheme"), [*((kind, "light") for kind in KINDS), ("leaderboard", "dark"), ("drawing", "dark")]
)
def test_every_page_is_error_free_accessible_and_fits_phone(
    browser: Browser, site: Site, kind: str, scheme: Any
) -> None:
    page = visit(browser, site, kind, scheme=scheme)
    assert faint(page) == []
    assert unnamed(page) == []
    assert page.locator("h1").count() == 1
    assert page.locator("header, main, footer").count() >= 3
    assert "Limner" in page.locator("footer summary").inner_text()
    missing = page.evaluate("[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)")
    assert missing == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert comes(page, lambda: overflow(page) <= 0)
    small = "[...document.querySelectorAll('button, select, input[type=search], summary')].filter((e) => "
    small += "e.checkVisibility() && !e.closest('th') && e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)"
    assert page.evaluate(small) == []


def test_table_sorts_by_mouse_and_keyboard(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "leaderboard")
    strict = page.locator("th", has_text="strict")
    assert strict.get_attribute("aria-sort") == "descending"
    painters = column(page, 1)
    page.get_by_role("button", name="Painter").click()
    assert comes(page, lambda: column(page, 1) == sorted(painters, key=str.casefold))
    expect(strict).to_have_attribute("aria-sort", "none")
    relaxed = page.get_by_role("button", name="relaxed")
    relaxed.focus()
    page.keyboard.press("Enter")
    expect(page.locator("th", has_text="relaxed")).to_have_attribute("aria-sort", "descending")
    place = page.locator("thead th").all_inner_texts().index(page.locator("th", has_text="relaxed").inner_text()) + 1

    def values() -> list[float]:
        return [float(text.split()[0]) for text in column(page, place) if "…" not in text and text != "–"]

    assert comes(page, lambda: values() == sorted(values(), reverse=True))
    page.keyboard.press("Enter")
    expect(page.locator("th", has_text="relaxed")).to_have_attribute("aria-sort", "ascending")
    assert comes(page, lambda: values() == sorted(values()))


def test_leaderboard_filters_are_kept_in_url(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "leaderboard")
    rows = page.locator("tbody tr")
    everyone = rows.count()
    named = sum("gemini" in name for name in column(page, 1))
    assert 0 < named < everyone
    page.get_by_label("Painter", exact=True).fill("GEMINI")
    expect(rows).to_have_count(named)
    assert all("gemini" in name for name in column(page, 1))
    page.get_by_label("Painter", exact=True).fill("")
    choice(page, "Strategy").select_option("edit")
    expect(rows).to_have_count(everyone // 2)
    assert comes(page, lambda: hash_of(page) == "#strategy=edit")
    choice(page, "Strategy").select_option("")
    choice(page, "Judge").select_option("1")
    expect(page.locator(".lead")).to_contain_text("Judge ocr")
    choice(page, "Category").select_option(label="easy")
    page.locator("td", has_text="4").first.wait_for()
    expect(choice(page, "Category")).to_have_value(re.compile("easy"))
    assert comes(page, lambda: "value=easy" in hash_of(page))
    again = browser.open(site.folder / "exams/genexam/index.html", hash_of(page))
    again.locator("tbody tr").first.wait_for()
    expect(choice(again, "Judge")).to_have_value("1")
    expect(choice(again, "Category")).to_have_value(re.compile("easy"))


def test_browser_history_and_edited_url_open_right_drawing(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "question")
    page.locator("article.drawing .look").first.click()
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("#closer-title", has_text="2").wait_for()
    page.go_back()
    page.locator("dialog").wait_for(state="detached")
    page.go_forward()
    page.locator("#closer-title", has_text="2").wait_for()
    other = list(keys(site.data()))[1]
    page.evaluate("(key) => { location.hash = 'q=' + key; }", keys(site.data())[other])
    page.locator("h1", has_text=other).wait_for()
    expect(page.locator("dialog")).to_have_count(0)


def test_places_and_caption_follow_sort_column_and_url_keeps_view(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "leaderboard")
    page.get_by_role("button", name="relaxed").click()
    expect(page.locator(".lead").first).to_contain_text("Ordered by relaxed")
    expect(page.locator("caption").first).to_contain_text("ordered by relaxed")
    places = [text.split()[0].lstrip("=") for text in page.locator("tbody td.place").all_inner_texts()]
    assert [int(place) for place in places] == sorted(int(place) for place in places)
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("logic").check()
    page.get_by_label("Coverage").uncheck()
    expect(page.locator("thead th", has_text="logic")).to_have_count(1)
    expect(page.locator("thead th", has_text="Coverage")).to_have_count(0)
    heads = page.locator("thead th").all_inner_texts()
    again = browser.open(site.folder / "exams/genexam/index.html", hash_of(page))
    again.locator("tbody tr").first.wait_for()
    assert again.locator("thead th").all_inner_texts() == heads
    expect(again.locator("th", has_text="relaxed")).to_have_attribute("aria-sort", "descending")
    again.get_by_role("button", name="Painter").click()
    expect(again.locator(".lead").first).to_contain_text("Ordered by Painter; ranks by strict")


def test_keyboard_navigates_from_first_page_to_reason(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "index")

    def walk(wanted: str) -> None:
        for _ in range(400):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement?.innerText || ''").strip().startswith(wanted):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", "what has the focus must be seen"
                return
        raise AssertionError(f"no Tab leads to {wanted}")

    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    walk("Questions")
    page.keyboard.press("Enter")
    page.wait_for_url("**/questions.html")
    page.wait_for_selector("html[data-ready=yes]")
    page.locator("tbody a", has_text="Sample_Biology_1-0").first.wait_for()
    walk("Sample_Biology_1-0")
    page.keyboard.press("Enter")
    page.wait_for_url("**/question.html**")
    page.locator("article.drawing").first.wait_for()
    walk("Look closer")
    page.keyboard.press("Enter")
    page.locator("dialog[open]").wait_for()
    expect(page.locator("dialog .criteria")).to_contain_text("seen:")
    first = page.locator("#closer-title").inner_text()
    page.keyboard.press("ArrowRight")
    page.locator("#closer-title", has_text="2").wait_for()
    expect(page.locator("#closer-title")).not_to_have_text(first)
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert comes(page, lambda: "d=" not in hash_of(page))


def test_graph_shows_found_and_missing_parts(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "graph")
    page.locator(".graph .node").first.wait_for()
    assert page.locator(".graph .node.plain").count() == page.locator(".graph .node").count() > 0
    key = next(iter(keys(site.data("mmmg")).values()))
    page.locator("article.drawing").first.get_by_role("button", name="Look closer").click()
    page.locator("dialog[open] .graph").wait_for()
    drawing = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('d')")
    assert drawing
    found = parts(site.data("mmmg"), f"q/{key}")
    marks = next(one["marking"]["marks"] for one in found if one.get("marking", {}).get("d") == drawing)
    criteria = next(one["question"]["criteria"] for one in found if "question" in one)
    entities = [row for row, criterion in zip(marks, criteria, strict=True) if criterion["kind"] == "entity"]
    links = [row for row, criterion in zip(marks, criteria, strict=True) if criterion["kind"] == "dependency"]
    for sort, value in (("met", 1), ("unmet", 0)):
        expect(page.locator(f"dialog .node.{sort}")).to_have_count(sum(row[1] == value for row in entities))
        expect(page.locator(f"dialog .edge.{sort}")).to_have_count(sum(row[1] == value for row in links))


def test_gallery_searches_filters_and_opens_drawing(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "gallery")
    page.locator(".gallery .tile").first.wait_for()
    expect(page.locator("main > p[role=status]")).to_contain_text("96 drawings")
    page.get_by_label("Search").fill("pollen flower")
    page.locator("main > p[role=status]", has_text="8 drawings").wait_for()
    page.get_by_label("Search").fill("no such word")
    page.locator("main > p[role=status]", has_text="0 drawings").wait_for()
    page.get_by_label("Search").fill("")
    choice(page, "difficulty").select_option("hard")
    page.locator("main > p[role=status]", has_text="32 drawings").wait_for()
    choice(page, "Order").select_option("worst")

    def shares() -> list[int]:
        return [int(text.split("%")[0]) for text in page.locator(".meter").all_inner_texts()]

    assert comes(page, lambda: len(shares()) > 0 and shares() == sorted(shares()) and "order=worst" in hash_of(page))
    page.locator(".gallery .tile").first.click()
    page.wait_for_url("**/question.html**")
    page.locator("dialog[open]").wait_for()


def test_differences_and_failures_link_to_their_drawing(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "differences")
    assert page.locator("table").first.locator("tbody tr").count() == 3
    choice(page, "Between").select_option("judges")
    between = page.locator("table").last.locator("tbody tr > :nth-child(6)")
    assert comes(page, lambda: all("judges" in words for words in between.all_inner_texts()))
    page.locator("table").last.locator("tbody a").first.click()
    page.locator("dialog[open]").wait_for()
    choice(page, "Show").select_option("differ")
    page.locator("dialog .badge", has_text="differs").first.wait_for()
    page = visit(browser, site, "failures")
    choice(page, "Stage").select_option("drawing")
    assert comes(page, lambda: set(column(page, 4)) == {"refusal"})


@pytest.mark.parametrize("after", ["#q=../../../data/site", "#q=nothing-here"])
def test_unknown_url_is_reported_and_loads_no_data(browser: Browser, site: Site, after: str) -> None:
    page = browser.open(site.folder / "exams/genexam/question.html", after)
    page.locator(".wrong").wait_for()
    loaded = page.evaluate("[...document.scripts].map((one) => one.src)")
    assert not any("site.js" in src for src in loaded)
    browser.complaints[:] = [what for what in browser.complaints if "nothing-here" not in what]


def test_question_page_shows_reasons_and_pictures_of_equal_width(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "question", width=1440)
    card = page.locator("article.drawing").first
    expect(card.locator(".verdicts .why").first).to_be_visible()
    reference, drawing = (page.locator(one).first.bounding_box() for one in (".still", "article.drawing .look"))
    assert abs(reference["width"] - drawing["width"]) < 40
    assert reference["x"] + reference["width"] <= drawing["x"]


def test_next_question_is_the_next_drawn_one(browser: Browser, tmp_path: Path) -> None:
    drawn = ("--ids", "Sample_Biology_1,Sample_Chemistry_1", "--painter", "control/reference")
    limner("draw", "sample/genexam", *drawn, "--store", tmp_path / "store")
    build(tmp_path / "out", store=tmp_path / "store", images=False)
    folder = tmp_path / "out" / "exams" / "sample-genexam"
    page = browser.open(folder / "question.html", f"#q={keys(folder / 'data')['Sample_Biology_1']}")
    page.get_by_text("Next question").click()
    page.locator("h1", has_text="Sample_Chemistry_1").wait_for()
    expect(page.locator(".neighbours")).to_contain_text("2 of 2 drawn")


def test_lists_show_pictures_and_prompts(browser: Browser, site: Site) -> None:
    for kind in ("questions", "differences", "failures"):
        page = visit(browser, site, kind)
        first = page.locator("tbody .listed").first
        assert len(first.locator(".clip").inner_text()) > 20
        expect(first.locator("img, .nopic")).to_have_count(1)
