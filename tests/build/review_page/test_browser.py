"""The page of a review in a browser: what reviewers do by mouse and keyboard, at a desk and on a phone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from limner.build.records import load_reviews
from limner.store.store import open_store
from tests.browser import comes, expect, new_context, new_page
from tests.build.review_page.desk import TOKENS
from tests.report.site.visiting import WATCH, faint, overflow, unnamed

pytestmark = pytest.mark.slow
ONE, TWO = "CVPR_2025/paper1", "CVPR_2025/paper2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("review")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.build.review_page.desk", str(folder)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(timeout=20)


class Desk:
    """Opens pages of the review; whatever they complain of is a failure."""

    def __init__(self, chromium: Any, address: str) -> None:
        self.chromium, self.address = chromium, address
        self.complaints: list[str] = []

    def open(
        self, who: str, path: str = "", width: int = 1400, height: int = 900, scheme: Literal["light", "dark"] = "light"
    ) -> Any:
        context = new_context(self.chromium, width=width, height=height, color_scheme=scheme)
        context.add_init_script(WATCH)
        page = new_page(context)
        page.on("console", lambda said: self.complaints.append(said.text) if "409" not in said.text else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(f"{self.address}/r/{TOKENS[who]}/{path}")
        if path:
            page.locator("#form textarea").first.wait_for()
        return page

    def press(self, page: Any, name: str) -> None:
        page.get_by_role("button", name=name, exact=True).first.click()
        page.locator("#notice:not([hidden])").wait_for()


@pytest.fixture
def desk(chromium: Any, address: str) -> Iterator[Desk]:
    found = Desk(chromium, address)
    yield found
    assert found.complaints == []


def test_item_is_edited_extended_and_dispute_settled(desk: Desk, folder: Path) -> None:
    listed = desk.open("anna")
    listed.get_by_role("link", name=ONE).last.click()
    anna = listed
    anna.locator("#form textarea").first.wait_for()
    expect(anna.locator("#standing")).to_contain_text("It is waiting: 0 of 2 have judged")
    expect(anna.get_by_role("button", name="Save my changes")).to_be_disabled()
    anna.get_by_label("Question", exact=True).first.fill("Is Part 1 drawn where the flow begins?")
    anna.get_by_role("button", name="Add to Questions").click()
    anna.get_by_label("Question", exact=True).last.fill("Does Part 3 come after Part 2?")
    options = anna.locator("fieldset.list .card").last.locator(".pairs input")
    options.nth(0).fill("Yes")
    options.nth(1).fill("No")
    anna.locator("#comment").fill("made harder")
    desk.press(anna, "Save my changes")
    expect(anna.locator("#notice")).to_contain_text("Saved")
    ben = desk.open("ben", f"item/{ONE}")
    assert "Part 1 drawn where" not in ben.content()
    desk.press(ben, "Accept as it is")
    expect(ben.locator("#standing")).to_contain_text("Reviewers disagree")
    expect(ben.locator("#others")).to_contain_text("Chosen by anna")
    expect(ben.locator("#others ins").get_by_text("Is Part 1 drawn where the flow begins?", exact=True)).to_have_count(
        1
    )
    carla = desk.open("carla", f"item/{ONE}")
    version = carla.locator(".version", has_text="anna")
    version.get_by_role("button", name="Decide for this version").click()
    carla.locator("#notice.done").wait_for()
    expect(carla.locator("#standing")).to_contain_text("It is accepted")
    with open_store(str(folder / "store")) as store:
        kept = load_reviews(store, "mine")[ONE]
    assert [(one.reviewer, one.action) for one in kept] == [("anna", "edit"), ("ben", "accept"), ("carla", "settle")]
    added = (kept[0].body or {})["checklist"][-1]
    assert (added["id"], added["options"]) == (4, {"A": "Yes", "B": "No"})


def test_text_typed_during_request_is_kept(desk: Desk) -> None:
    page = desk.open("carla", f"item/{TWO}")
    held: list[Any] = []
    page.route("**/act/**", lambda route: held.append(route))
    page.locator("#comment").fill("the first")
    page.get_by_role("button", name="Only comment").click()
    expect(page.get_by_role("button", name="Reject", exact=True)).to_be_disabled()
    page.get_by_label("Question", exact=True).first.fill("What I wrote meanwhile?")
    page.locator("#comment").fill("the second")
    expect(page.get_by_role("button", name="Save my changes")).to_be_disabled()  # One thing at a time is sent.
    assert comes(page, lambda: len(held) == 1)
    held[0].continue_()
    page.locator("#notice.done").wait_for()
    expect(page.get_by_label("Question", exact=True).first).to_have_value("What I wrote meanwhile?")
    expect(page.locator("#comment")).to_have_value("the second")
    expect(page.get_by_role("button", name="Save my changes")).to_be_enabled()
    page.reload()
    expect(page.get_by_label("Question", exact=True).first).to_have_value("What I wrote meanwhile?")
    page.get_by_role("button", name="Undo my changes").click()
    expect(page.get_by_role("button", name="Undo my changes")).to_have_count(0)


def test_text_survives_a_reload(desk: Desk) -> None:
    page = desk.open("ben", f"item/{TWO}")
    page.get_by_label("Why").first.fill("a reason half written")
    page.reload()
    expect(page.get_by_label("Why").first).to_have_value("a reason half written")
    page.get_by_role("button", name="Undo my changes").click()
    expect(page.get_by_role("button", name="Undo my changes")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Why").first).to_have_value("it is a node")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_pages_are_readable_and_fit(desk: Desk, width: int, scheme: Literal["light", "dark"], tmp_path: Path) -> None:
    for path in ("", f"item/{TWO}"):
        page = desk.open("ben", path, width=width, scheme=scheme)
        assert overflow(page) <= 0
        assert faint(page) == []
        assert unnamed(page) == []
        assert page.evaluate("window.refused") == []
        page.wait_for_function("() => [...document.images].every((one) => one.complete && one.naturalWidth)")
        page.screenshot(path=str(tmp_path / f"{width}{'-item' if path else ''}.png"), full_page=True)
