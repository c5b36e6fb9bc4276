"""The page that compares, and a drawing looked at closely, in a browser: zoom, keys, mouse, touch, addresses."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser import comes, expect
from tests.report.site.conftest import Site
from tests.report.site.reading import keys, parts
from tests.report.site.visiting import Browser, faint, lies_over, overflow, unnamed

pytestmark = pytest.mark.slow

VIEW = """[...document.querySelectorAll('.glass')].map((one) => { const box = one.getBoundingClientRect();
  const { x, y, width, height } = (one.querySelector('.frame') || one).getBoundingClientRect();
  const middle = [(box.x + box.width / 2 - x) / width, (box.y + box.height / 2 - y) / height];
  return middle.map((n) => n.toFixed(3)).join(); })"""
"""Which point of each picture, in shares of its sides, is in the middle of its pane."""
SCALES = "[...document.querySelectorAll('.glass')].map((one) => one.dataset.scale)"
"""How far each picture is enlarged."""
WIDTHS: list[tuple[int, Any]] = [(390, "light"), (1440, "dark")]


def compare(browser: Browser, site: Site, after: str = "", **how: Any) -> Any:
    page = browser.open(site.exam() / "compare.html", after, **how)
    page.locator(".stage .pane").first.wait_for()
    return page


def choice(page: Any, name: str) -> Any:
    return page.get_by_role("combobox", name=name, exact=True)


def scaled(page: Any, scale: str) -> bool:
    """Whether all pictures are, or soon will be, enlarged so far: they are in step."""
    return comes(page, lambda: set(page.evaluate(SCALES)) == {scale})


def pictures(page: Any, count: int) -> None:
    """Wait until so many pictures are there and have their sizes."""
    there = "(many) => { const all = [...document.querySelectorAll('.glass .frame img')]; "
    there += "return all.length === many && all.every((one) => one.complete && one.naturalWidth); }"
    page.wait_for_function(there, arg=count)


def in_step(page: Any, count: int = 3) -> str:
    """The point that all pictures have in their middle."""
    found: list[str] = []

    def same() -> bool:
        found[:] = page.evaluate(VIEW)
        return len(found) == count and len(set(found)) == 1

    assert comes(page, same), found
    return found[0]


@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
def test_compare_page_is_error_free_readable_and_fits(browser: Browser, site: Site, width: int, scheme: Any) -> None:
    page = compare(browser, site, width=width, scheme=scheme)
    page.locator(".stage h3", has_text="Criteria").wait_for()
    assert overflow(page) <= 0
    assert faint(page) == []
    assert unnamed(page) == []
    assert page.locator("nav a[aria-current=page]").inner_text() == "Compare"
    pictures(page, 3)
    panes = [pane.bounding_box() for pane in page.locator(".glass").all()]
    assert len(panes) == 3
    assert all(pane["x"] >= 0 and pane["x"] + pane["width"] <= width for pane in panes)
    page.goto((site.exam() / "question.html").as_uri() + f"#q={next(iter(keys(site.data()).values()))}")
    page.locator(".look").first.click()
    page.locator("dialog .glass").nth(1).wait_for()
    pictures(page, 2)
    inside = [pane.bounding_box() for pane in page.locator("dialog .glass").all()]
    assert all(pane["x"] >= 0 and pane["x"] + pane["width"] <= width for pane in inside)
    assert overflow(page) <= 0
    assert faint(page) == []
    assert unnamed(page) == []


def test_keys_navigate_swap_zoom_and_pan_pictures_together(browser: Browser, site: Site) -> None:
    page = compare(browser, site)
    expect(page.locator(".keys")).to_contain_text("swap A and B")
    gaps = []
    for _ in range(4):
        gaps.append(
            abs(float(page.locator(".stage h3 .soft").first.inner_text().split()[-1].replace("−", "-").strip("±")))
        )
        before = page.locator(".stage h3 a").inner_text()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".stage h3 a")).not_to_have_text(before)
    assert gaps == sorted(gaps, reverse=True), "the widest apart come first"
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".stage h3 a")).to_have_text(before)
    pictures(page, 3)
    assert scaled(page, "1")
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert scaled(page, "2.25"), "two presses, of which the first already brings it near"
    middle = in_step(page)
    page.keyboard.press("Shift+ArrowRight")
    assert comes(page, lambda: in_step(page) != middle)
    page.keyboard.press("0")
    assert scaled(page, "1")
    first, second = (choice(page, name).input_value() for name in ("First", "Second"))
    number = page.locator(".middle .worth").inner_text()
    page.keyboard.press("s")
    page.keyboard.press("r")  # At once: nothing is away while the sides change.
    expect(page.locator(".middle .worth")).not_to_have_text(number)
    expect(page.locator(".glass")).to_have_count(2)
    for name, wanted in (("First", second), ("Second", first)):
        expect(choice(page, name)).to_have_value(wanted)
    assert comes(page, lambda: f"a={second}" in page.evaluate("location.hash"))
    again = compare(browser, site, page.evaluate("location.hash"))
    for name, wanted in (("First", second), ("Second", first)):
        expect(choice(again, name)).to_have_value(wanted)
    expect(again.locator(".stage h3 a")).to_have_text(page.locator(".stage h3 a").inner_text())


def test_mouse_and_touch_zoom_at_pointer_and_drag(browser: Browser, site: Site) -> None:
    page = compare(browser, site)
    glass = page.locator(".glass").nth(1)
    pictures(page, 3)
    glass.scroll_into_view_if_needed()
    box = glass.bounding_box()
    x, y = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
    # The point under the pointer stays there.
    point = """([x, y]) => { const img = document.querySelectorAll('.glass')[1].querySelector('img');
      const r = img.getBoundingClientRect();
      return [(x - r.x) / r.width, (y - r.y) / r.height]; }"""
    page.mouse.move(x, y)
    top = page.evaluate("scrollY")
    assert top > 0
    page.mouse.wheel(0, -200)
    assert comes(page, lambda: abs(page.evaluate("scrollY") - max(0, top - 200)) < 1), "a wheel alone scrolls the page"
    assert scaled(page, "1")
    glass.scroll_into_view_if_needed()
    box = glass.bounding_box()
    x, y = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
    at = page.evaluate(point, [x, y])

    def under(x: float, y: float) -> bool:
        return comes(page, lambda: bool(page.evaluate(point, [x, y]) == pytest.approx(at, abs=0.02)))

    page.mouse.dblclick(x, y)
    assert scaled(page, "3")
    assert under(x, y)
    before = in_step(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y, steps=3)
    page.mouse.up()
    assert under(x + 30, y)
    assert in_step(page) != before
    page.mouse.wheel(0, 4000)
    assert comes(page, lambda: all(float(scale) < 3 for scale in page.evaluate(SCALES)))
    page.mouse.dblclick(x, y)
    assert scaled(page, "1")
    pinch = """([x, y]) => { const glass = document.querySelectorAll('.glass')[0];
      const touch = (type, id, dx) => glass.dispatchEvent(new PointerEvent(type, {pointerId: id, pointerType: 'touch',
        clientX: x + dx, clientY: y, bubbles: true, button: 0}));
      glass.setPointerCapture = () => {};
      touch('pointerdown', 11, -20); touch('pointerdown', 12, 20);
      touch('pointermove', 11, -40); touch('pointermove', 12, 40);
      touch('pointerup', 11, -40); touch('pointerup', 12, 40); }"""
    box = page.locator(".glass").first.bounding_box()
    page.evaluate(pinch, [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    assert scaled(page, "2")


def test_drawings_are_filtered_by_category_and_winner(browser: Browser, site: Site) -> None:
    page = compare(browser, site)
    row = page.locator(".wins tbody tr").first
    name, n = row.locator("th").inner_text(), int(row.locator("td").nth(4).inner_text())
    row.get_by_role("button").click()
    expect(choice(page, "subject")).to_have_value(name)
    assert int(page.locator(".stage [role=status]").first.inner_text().split()[-1]) >= n
    choice(page, "subject").select_option("")
    choice(page, "Show").select_option("b")
    better = int(page.locator(".verdict b").nth(2).inner_text())
    expect(page.locator(".stage [role=status]").first).to_have_text(re.compile(f"of {better}$"))
    page.locator("details.box summary").last.click()
    expect(page.locator(".pairlist li")).to_have_count(better)
    choice(page, "By").select_option("difficulty")
    page.locator(".wins th.first", has_text="easy").wait_for()


@pytest.mark.parametrize("after", ["#a=nobody&b=../../x", "#way=9&q=nothing&score=none&by=x"])
def test_url_with_unknown_names_shows_existing_pair(browser: Browser, site: Site, after: str) -> None:
    page = compare(browser, site, after)
    assert page.locator(".middle .worth").inner_text()


def test_drawing_and_reference_are_shown_with_their_boxes(browser: Browser, site: Site) -> None:
    data = site.data()
    key = next(iter(keys(data).values()))
    drawing = next(one for one in parts(data, f"q/{key}") if one.get("drawing", {}).get("steps"))["drawing"]["d"]
    page = browser.open(site.exam() / "question.html", f"#q={key}&d={drawing}")
    page.locator("dialog .glass").nth(1).wait_for()
    expect(page.locator("dialog .pane figcaption")).to_have_text(["Drawing Full size", "Reference Full size"])
    page.keyboard.press("t")
    page.locator("dialog .overlay .line").first.wait_for()
    page.keyboard.press("+")
    assert scaled(page, "1.5")
    assert comes(page, lambda: lies_over(page)), "boxes zoom with it"
    page.get_by_label("Show reference").uncheck()
    expect(page.locator("dialog .glass")).to_have_count(1)
    title = page.locator("#closer-title").inner_text()
    page.keyboard.press("ArrowLeft" if page.get_by_label("Next drawing").is_disabled() else "ArrowRight")
    expect(page.locator("#closer-title")).not_to_have_text(title)
    assert scaled(page, "1"), "another drawing is shown whole"
