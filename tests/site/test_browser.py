"""The site in a browser, opened from disk without a network: what a reader does, by mouse, keyboard and phone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import comes
from tests.site.conftest import Site
from tests.site.reading import keys, parts
from tests.site.visiting import Browser, faint, overflow, unnamed

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


def visit(browser: Browser, site: Site, kind: str, **how: Any) -> Any:
    file, after = addresses(site)[kind]
    page = browser.open(site.folder / file, after, **how)
    page.locator("main h1").first.wait_for()
    return page


def choice(page: Any, name: str) -> Any:
    return page.get_by_role("combobox", name=name, exact=True)


def column(page: Any, number: int) -> list[str]:
    return [cell.inner_text() for cell in page.locator(f"tbody tr > *:nth-child({number})").all()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_page_is_quiet_readable_and_named(browser: Browser, site: Site, kind: str, scheme: Any) -> None:
    page = visit(browser, site, kind, scheme=scheme)
    assert faint(page) == []
    assert unnamed(page) == []
    assert page.locator("h1").count() == 1
    assert page.locator("header, main, footer").count() >= 3
    assert "Limner" in page.locator("footer summary").inner_text()
    missing = page.evaluate("[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)")
    assert missing == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_page_fits_a_phone(browser: Browser, site: Site, kind: str) -> None:
    page = visit(browser, site, kind, width=390, height=844)
    assert overflow(page) <= 0
    small = "[...document.querySelectorAll('button, select, input[type=search], summary')].filter((e) => "
    small += "e.checkVisibility() && !e.closest('th') && e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)"
    assert page.evaluate(small) == []


def test_a_table_sorts_by_mouse_and_by_keyboard(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "leaderboard")
    strict = page.locator("th", has_text="strict")
    assert strict.get_attribute("aria-sort") == "descending"
    painters = column(page, 1)
    page.get_by_role("button", name="Painter").click()
    assert comes(page, lambda: column(page, 1) == sorted(painters, key=str.casefold))
    assert strict.get_attribute("aria-sort") == "none"
    relaxed = page.get_by_role("button", name="relaxed")
    relaxed.focus()
    page.keyboard.press("Enter")
    assert comes(page, lambda: page.locator("th", has_text="relaxed").get_attribute("aria-sort") == "descending")
    place = page.locator("thead th").all_inner_texts().index(page.locator("th", has_text="relaxed").inner_text()) + 1
    values = [float(text.split()[0]) for text in column(page, place) if "…" not in text and text != "–"]
    assert values == sorted(values, reverse=True)
    page.keyboard.press("Enter")
    assert comes(page, lambda: page.locator("th", has_text="relaxed").get_attribute("aria-sort") == "ascending")


def test_a_leaderboard_filters_and_its_address_remembers(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "leaderboard")
    everyone = page.locator("tbody tr").count()
    page.get_by_label("Painter", exact=True).fill("GEMINI")
    assert comes(page, lambda: page.locator("tbody tr").count() < everyone)
    assert all("gemini" in name for name in column(page, 1))
    page.get_by_label("Painter", exact=True).fill("")
    choice(page, "Strategy").select_option("edit")
    assert comes(page, lambda: page.locator("tbody tr").count() == everyone // 2)
    choice(page, "Strategy").select_option("")
    choice(page, "Judge").select_option("1")
    assert comes(page, lambda: "Judge ocr" in page.locator(".lead").inner_text())
    choice(page, "Category").select_option(label="easy")
    page.locator("td", has_text="4").first.wait_for()
    again = browser.open(site.folder / "exams/genexam/index.html", page.evaluate("location.hash"))
    again.locator("tbody tr").first.wait_for()
    assert choice(again, "Judge").input_value() == "1"
    assert "easy" in choice(again, "Category").input_value()


def test_places_and_caption_follow_the_column_and_the_address_keeps_order_and_columns(
    browser: Browser, site: Site
) -> None:
    page = visit(browser, site, "leaderboard")
    page.get_by_role("button", name="relaxed").click()
    assert comes(page, lambda: "Ordered by relaxed" in page.locator(".lead").first.inner_text())
    assert "ordered by relaxed" in page.locator("caption").first.text_content()
    places = [text.split()[0].lstrip("=") for text in page.locator("tbody td.place").all_inner_texts()]
    assert [int(place) for place in places] == sorted(int(place) for place in places)
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("logic").check()
    page.get_by_label("Coverage").uncheck()
    heads = page.locator("thead th").all_inner_texts()
    again = browser.open(site.folder / "exams/genexam/index.html", page.evaluate("location.hash"))
    again.locator("tbody tr").first.wait_for()
    assert again.locator("thead th").all_inner_texts() == heads
    assert any("logic" in head for head in heads)
    assert not any("Coverage" in head for head in heads)
    assert again.locator("th", has_text="relaxed").get_attribute("aria-sort") == "descending"
    again.get_by_role("button", name="Painter").click()
    assert comes(again, lambda: "Ordered by Painter; places by strict" in again.locator(".lead").first.inner_text())


@pytest.mark.parametrize("width", [1280, 1440])
def test_nothing_of_a_leaderboard_is_off_the_screen(browser: Browser, site: Site, odd: Site, width: int) -> None:
    wide = "[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth)"
    for folder in (site.exam(), site.exam("mmmg"), odd.exam()):
        for after in ("", "#way=1"):
            page = browser.open(folder / "index.html", after, width=width)
            page.locator("tbody tr").first.wait_for()
            assert overflow(page) <= 0
            assert page.evaluate(wide) == [0]
            browser.leave(page)


def test_the_first_page_answers(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "index")
    first = page.locator("article").first
    assert "is ahead with" in first.locator(".verdict").inner_text()
    assert "told apart" in first.locator(".said").inner_text()
    assert first.locator("figure img").count() == 4, "the reference, and what three painters made of it"


def test_the_papers_rows_stand_beside_on_demand(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "leaderboard")
    before = page.locator("tbody tr").count()
    assert page.locator("tr.paper").count() == 0
    page.get_by_label("Figures from the paper").check()
    page.locator("tr.paper").first.wait_for()
    assert page.locator("tbody tr").count() == before + page.locator("tr.paper").count()
    # Once from the release's later leaderboard, which says so, and once from the paper.
    of_board, of_paper = page.locator("tr.paper", has_text="Nano Banana Pro").all_inner_texts()
    assert "release board" in of_board
    assert "70.2" in of_paper
    assert "no part of the comparison" in page.locator(".notes").inner_text()


def test_a_reader_gets_from_the_first_page_to_a_reason_by_keyboard_alone(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "index")

    def walk(wanted: str) -> None:
        for _ in range(400):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.innerText || ''").strip().startswith(wanted):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", "what has the focus must be seen"
                return
        raise AssertionError(f"no Tab leads to {wanted}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert comes(page, lambda: page.evaluate("document.activeElement.id") == "main")
    walk("Questions")
    page.keyboard.press("Enter")
    page.wait_for_url("**/questions.html")
    page.wait_for_selector("html[data-ready=yes]")
    walk("Sample_Biology_1-0")
    page.keyboard.press("Enter")
    page.wait_for_url("**/question.html**")
    page.locator("article.drawing").first.wait_for()
    walk("Marks and reasons")
    page.keyboard.press("Enter")
    page.locator("dialog[open]").wait_for()
    assert "seen:" in page.locator("dialog .criteria").inner_text()
    first = page.locator("#closer-title").inner_text()
    page.keyboard.press("ArrowRight")
    page.locator("#closer-title", has_text="2").wait_for()
    assert page.locator("#closer-title").inner_text() != first
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert comes(page, lambda: "d=" not in page.evaluate("location.hash"))


def test_a_criterion_opens_to_every_reason(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "question")
    rows = page.locator(".matrix tbody tr")
    count = rows.count()
    rows.first.get_by_role("button").click()
    assert comes(page, lambda: rows.count() == count + 1)
    assert page.locator(".reasons li").count() == page.locator(".matrix thead th").count() - 1
    rows.first.get_by_role("button").click()
    assert comes(page, lambda: rows.count() == count)


def test_boxes_lie_over_the_picture_where_it_is(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "drawing")
    page.locator("dialog[open]").wait_for()
    assert page.locator("dialog .overlay polygon").count() == 0
    page.locator("dialog").get_by_label("Text that OCR read").check()
    page.locator("dialog .overlay .line").first.wait_for()
    assert page.locator("dialog .overlay .line").count() == 2
    page.locator("dialog").get_by_label("regions").check()
    assert comes(page, lambda: page.locator("dialog .overlay .region").count() == 1)
    image, overlay = (page.locator(f"dialog .drawn .frame {what}").bounding_box() for what in ("img", "svg"))
    assert all(abs(image[side] - overlay[side]) < 1.5 for side in ("x", "y", "width", "height"))
    assert page.locator("dialog .overlay").get_attribute("viewBox") == "0 0 48 36"
    assert "step" in page.locator("dialog").inner_text()
    assert "The stem is bent." in page.locator("dialog .steps").inner_text()


def test_a_graph_shows_what_was_found_and_what_is_missing(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "graph")
    assert page.locator(".graph .node.plain").count() == page.locator(".graph .node").count() > 0
    key = next(iter(keys(site.data("mmmg")).values()))
    page.locator("article.drawing").first.get_by_role("button", name="Marks and reasons").click()
    page.locator("dialog[open] .graph").wait_for()
    drawing = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('d')")
    found = parts(site.data("mmmg"), f"q/{key}")
    marks = next(one["marking"]["marks"] for one in found if one.get("marking", {}).get("d") == drawing)
    criteria = next(one["question"]["criteria"] for one in found if "question" in one)
    entities = [row for row, criterion in zip(marks, criteria, strict=True) if criterion["kind"] == "entity"]
    links = [row for row, criterion in zip(marks, criteria, strict=True) if criterion["kind"] == "dependency"]
    for sort, value in (("met", 1), ("unmet", 0)):
        assert page.locator(f"dialog .node.{sort}").count() == sum(row[1] == value for row in entities)
        assert page.locator(f"dialog .edge.{sort}").count() == sum(row[1] == value for row in links)


def test_the_gallery_searches_filters_and_opens_a_drawing(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "gallery")
    page.locator(".gallery .tile").first.wait_for()
    assert "96 drawings" in page.locator("main > p[role=status]").inner_text()
    page.get_by_label("Search").fill("pollen flower")
    page.locator("main > p[role=status]", has_text="8 drawings").wait_for()
    page.get_by_label("Search").fill("no such word")
    page.locator("main > p[role=status]", has_text="0 drawings").wait_for()
    page.get_by_label("Search").fill("")
    choice(page, "difficulty").select_option("hard")
    page.locator("main > p[role=status]", has_text="32 drawings").wait_for()
    choice(page, "Order").select_option("worst")
    shares = [int(text.split("%")[0]) for text in page.locator(".meter").all_inner_texts()]
    assert shares == sorted(shares)
    page.locator(".gallery .tile").first.click()
    page.wait_for_url("**/question.html**")
    page.locator("dialog[open]").wait_for()


def test_the_gallery_shows_more_as_one_scrolls(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "gallery")
    page.locator(".gallery .tile").first.wait_for()
    assert page.locator(".gallery .tile").count() < 96
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.locator(".gallery .tile").nth(95).wait_for()


def test_differences_and_failures_lead_to_their_drawing(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "differences")
    assert page.locator("table").first.locator("tbody tr").count() == 3
    choice(page, "Between").select_option("judges")
    page.locator("table").last.locator("tbody a").first.click()
    page.locator("dialog[open]").wait_for()
    choice(page, "Show").select_option("differ")
    assert comes(page, lambda: page.locator("dialog .badge", has_text="differs").count() > 0)
    page = visit(browser, site, "failures")
    choice(page, "Stage").select_option("drawing")
    assert comes(page, lambda: set(column(page, 4)) == {"refusal"})


def test_a_painters_page_tells_places_categories_and_faults(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "painter")
    page.locator(".fault").first.wait_for()
    said = page.locator("main").inner_text()
    for words in ("How well, and how sure", "95% of resamples", "Strongest", "Weakest", "Typical faults", "coverage"):
        assert words in said
    before = column(page, 1)
    choice(page, "All categories by").select_option("difficulty")
    assert comes(page, lambda: sorted(column(page, 1)) == ["easy", "hard", "medium"] != sorted(before))
    assert page.locator(".fault img").count() > 0


@pytest.mark.parametrize("after", ["#q=../../../data/site", "#q=nothing-here", "#q=%3Cb%3E", "#p=x&q=a/b"])
def test_an_address_that_names_nothing_is_told_so_and_loads_nothing(browser: Browser, site: Site, after: str) -> None:
    page = browser.open(site.folder / "exams/genexam/question.html", after)
    page.locator(".wrong").wait_for()
    loaded = page.evaluate("[...document.scripts].map((one) => one.src)")
    assert not any("site.js" in src for src in loaded)
    browser.complaints[:] = [what for what in browser.complaints if "nothing-here" not in what]


def test_the_first_page_is_ready_at_once(browser: Browser, site: Site) -> None:
    page = visit(browser, site, "leaderboard")
    ready = page.evaluate("performance.getEntriesByName('limner-ready')[0].startTime")
    assert 0 < ready < 2000
