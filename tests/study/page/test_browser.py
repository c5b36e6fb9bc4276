"""A real browser answers studies: by keys, by mouse, on a phone, without a network, with a server that is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="servers come with limner[web]")

from limner.store import Store
from limner.store.markings import load_comparisons, load_markings, load_ratings
from limner.study.records import load_answers
from tests.browser import comes, expect, new_context, new_page
from tests.report.site.visiting import WATCH, faint, overflow, unnamed
from tests.study.made import fill, make
from tests.study.page.serving import StudyServer

pytestmark = pytest.mark.slow
PLAIN = {"repeats": 0.0, "attention": 0}
SAVED = "html[data-waiting='0']"


class Rater:
    """A browser window at a rater's link; whatever the page complains of is a failure."""

    def __init__(self, chromium: Any, link: str, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        self.context = new_context(chromium, width=width, height=height, color_scheme=scheme)
        self.context.add_init_script(WATCH)
        self.page = new_page(self.context)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(link)
        button = self.page.get_by_role("button", name="I agree and want to begin")
        if button.count():
            button.click()
        self.ready(None)

    def ready(self, n: int | None) -> None:
        self.page.wait_for_selector("html[data-ready]" if n is None else f"html[data-ready='{n}']")

    def saved(self) -> None:
        self.page.wait_for_selector(SAVED)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def close(self) -> None:
        assert self.page.evaluate("window.refused") == []
        assert self.complaints == []
        self.context.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store


def served(store: Store, tmp_path: Path, design: str, questions: int = 3, **more: Any) -> tuple[StudyServer, str]:
    exam = "aibench" if design.startswith("aibench") else design
    fill(store, exam, questions=questions, judges=())
    made = make(store, design, raters=["anna"], changes=PLAIN | more)
    return StudyServer(str(tmp_path / "store"), tmp_path), f"/r/{made.links['anna']}"


def values(store: Store) -> dict[tuple[int, str], Any]:
    return {(one.item, one.field): one.value for one in load_answers(store, "pilot") if one.value is not None}


def test_killed_server_keeps_every_acknowledged_answer(chromium: Any, kept: Store, tmp_path: Path) -> None:
    from playwright.sync_api import Error

    server, path = served(kept, tmp_path, "genexam")
    with server:
        rater = Rater(chromium, server.address + path)
        kills = {4: "before", 6: "after"}
        """The answer with which it is killed, and whether before the request arrives or while it is at work."""
        now: list[str] = []
        acknowledged: set[str] = set()

        def sending(route: Any) -> None:
            how = now.pop() if now else ""
            if how == "before":  # It must wait on the page.
                server.kill()
            route.continue_()
            if how == "after":  # Whether it was kept or not, it must not be lost.
                server.kill()

        def answered(response: Any) -> None:
            if response.url.endswith("/answers") and response.ok:
                with suppress(Error):  # Its end was cut off.
                    acknowledged.update(one["id"] for one in response.json()["saved"])

        rater.page.route("**/answers", sending)
        rater.page.on("response", answered)
        fields = rater.page.locator(".field").count()
        rater.press("7")
        rater.saved()
        before = values(kept)
        assert list(before.values()) == [7]
        asked, killed = 1, 0
        assert fields > max(kills)
        while asked < fields:
            asked += 1
            now[:] = [kills[asked]] if asked in kills else []
            rater.press("y" if rater.page.locator(".field.now [data-key=y]").count() else "2")
            if asked in kills:
                assert comes(rater.page, lambda: server._process is None)
                killed += 1
                assert values(kept).items() >= before.items()
                server.start()
            rater.saved()
            assert len(values(kept)) == asked  # Everything that was clicked is there, once.
            assert values(kept).items() >= before.items()
            before = values(kept)
        assert killed == 2
        assert comes(rater.page, lambda: len(acknowledged) >= asked - 1)
        (marking,) = [one for one in load_markings(kept, "genexam") if one.origin == "study"]
        assert len(marking.marks or []) == fields - 1
        rater.press("Enter")
        rater.ready(2)
        rater.page.unroute_all(behavior="ignoreErrors")
        rater.close()


def test_offline_answers_are_queued_and_sent_later(chromium: Any, kept: Store, tmp_path: Path) -> None:
    server, path = served(kept, tmp_path, "mmmg")
    with server:
        rater = Rater(chromium, server.address + path)
        rater.page.wait_for_load_state("networkidle")
        rater.context.set_offline(True)
        rater.press("1", "2", "3")
        expect(rater.page.locator("#state.waits")).to_contain_text("3 answers are stored on this device")
        assert values(kept) == {}
        rater.press("t", "Enter")  # The next page was fetched ahead.
        rater.ready(2)
        rater.press("5")
        again = rater.page.locator("#progress").get_attribute("value")
        rater.context.set_offline(False)
        rater.saved()
        assert sorted(values(kept).values()) == [1, 2, 3, 5, 10]
        assert again is not None
        # Another device finds all of it.
        other = Rater(chromium, server.address + path)
        assert other.page.url.endswith("/2")
        assert other.page.locator("input:checked").evaluate_all("(all) => all.map((one) => one.value)") == ["5"]
        other.close()
        rater.close()


def test_queued_answers_survive_page_reload(chromium: Any, kept: Store, tmp_path: Path) -> None:
    server, path = served(kept, tmp_path, "mmmg")
    with server:
        rater = Rater(chromium, server.address + path)
        server.kill()
        rater.press("4")
        rater.page.wait_for_selector("#state.waits")
        rater.page.close(run_before_unload=False)
        server.start()
        rater.page = new_page(rater.context)
        rater.page.goto(server.address + path)
        rater.ready(1)
        rater.saved()
        assert list(values(kept).values()) == [4]
        expect(rater.page.locator("input:checked")).to_have_count(1)
        rater.context.close()


def test_rater_faster_than_network_loses_no_answers(chromium: Any, kept: Store, tmp_path: Path) -> None:
    server, path = served(kept, tmp_path, "mmmg", questions=2)
    with server:
        rater = Rater(chromium, server.address + path)
        page = rater.page
        held: list[Any] = []
        page.route("**/answers", lambda route: held.append(route))

        def sent() -> None:
            assert comes(page, lambda: bool(held))
            held.pop().continue_()

        last = int(page.locator("#study").get_attribute("data-of"))
        page.goto(f"{server.address}{path}/{last}")
        rater.ready(last)
        rater.press("5")
        with page.expect_response(f"**/{last}"):  # It is fetched ahead before the answer has arrived.
            page.locator("#back").click()
            rater.ready(last - 1)
        sent()
        rater.saved()
        rater.press("Enter")
        rater.ready(last)
        assert page.locator("input:checked").evaluate_all("(all) => all.map((one) => one.value)") == ["5"]
        rater.press("1", "2", "3", "Enter")  # The last page is left before its answers have arrived: it waits for them.
        for _ in range(2):
            sent()
        page.wait_for_url("**/end")
        assert len(values(kept)) == 4
        page.unroute_all(behavior="ignoreErrors")
        rater.context.close()


def test_undo_skip_zoom_and_toggles(chromium: Any, kept: Store, tmp_path: Path) -> None:
    server, path = served(kept, tmp_path, "genexam")
    with server:
        rater = Rater(chromium, server.address + path)
        page = rater.page
        expect(page.locator("#rest")).to_be_hidden()  # The overall rating comes before the criteria are seen.
        rater.press("3")
        expect(page.locator("#rest")).to_be_visible()
        rater.press("y")
        rater.saved()
        assert len(values(kept)) == 2
        rater.press("u")
        rater.saved()
        assert list(values(kept).values()) == [3]
        rater.press("9")  # The field it was taken back from is no scale of ten: the key means nothing there.
        page.locator("#reference img").wait_for()
        rater.press("r")
        expect(page.locator("#reference img")).to_be_hidden()
        rater.press("h")
        expect(page.locator("#guidelines .text")).to_be_visible()
        rater.press("h", "z")
        page.locator("#large").wait_for()
        before = page.locator("#large img").bounding_box()["width"]
        rater.press("+")
        page.wait_for_function(
            "(old) => document.querySelector('#large img')?.getBoundingClientRect().width !== old", arg=before
        )
        rater.press("Escape")
        expect(page.locator("#large")).to_be_hidden()
        rater.press("s")
        expect(page.locator("#reason")).to_be_focused()
        page.keyboard.type("I cannot see it")
        page.get_by_role("button", name="Skip this one").click()
        page.get_by_role("button", name="Skipped: undo").wait_for()
        rater.saved()
        assert [one.reason for one in load_answers(kept, "pilot") if one.field == "skip"] == ["I cannot see it"]
        expect(page.locator("#progress")).to_have_js_property("value", 1)
        rater.press("Enter")
        rater.ready(2)
        page.locator("#undo").click()  # Leads back to where it was.
        rater.ready(1)
        rater.saved()
        assert all(one.value is None for one in load_answers(kept, "pilot") if one.field == "skip")
        rater.close()


def test_no_to_a_thing_answers_its_parts_and_one_undo_takes_all_back(
    chromium: Any, kept: Store, tmp_path: Path
) -> None:
    server, path = served(kept, tmp_path, "fepbench", questions=1, size=None)
    with server:
        rater = Rater(chromium, server.address + path)
        gate = rater.page.locator("[data-field$='/present']").first
        name = gate.get_attribute("data-field").removesuffix("/present")
        gate.locator("label", has_text="no").click()
        rater.saved()
        assert {field: value for (_, field), value in values(kept).items()} == {
            f"{name}/{part}": 0 for part in ("present", "count", "location")
        }
        rater.press("u")
        rater.saved()
        assert values(kept) == {}
        rater.close()


def test_pairs_ranks_and_lists_are_answered_by_keyboard(chromium: Any, kept: Store, tmp_path: Path) -> None:
    server, path = served(kept, tmp_path, "aibench-pairs")
    with server:
        rater = Rater(chromium, server.address + path)
        rater.press("a", "Enter")
        rater.ready(2)
        rater.press("e", "Enter")
        rater.ready(3)
        rater.saved()
        assert sorted(str(one.choice) for one in load_comparisons(kept, "aibench"))[-1] == "tie"
        assert len(list(load_comparisons(kept, "aibench"))) == 2
        rater.close()
    fill(kept, "fepbench", questions=2, judges=())
    with Store(tmp_path / "rank") as other:
        server, path = served(other, tmp_path, "aibench-aesthetics")
        server._store = str(tmp_path / "rank")
        with server:
            rater = Rater(chromium, server.address + path)
            rater.press("2", "2", "1")  # The second 2 takes it from the first figure.
            rater.saved()
            assert sorted(values(other).values()) == [1, 2]
            rater.press("3", "4")
            rater.saved()
            assert sorted(one.value or 0 for one in load_ratings(other, "aibench")) == [1.0, 2.0, 3.0, 4.0]
            rater.close()


@pytest.mark.parametrize("design", ["genexam", "fepbench", "aibench-pairs"])
def test_every_page_is_accessible_and_fits(chromium: Any, kept: Store, tmp_path: Path, design: str) -> None:
    server, path = served(kept, tmp_path, design)
    with server:
        for width, height, scheme in ((390, 844, "light"), (1280, 900, "dark")):
            rater = Rater(chromium, server.address + path, width, height, scheme)
            rater.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert overflow(rater.page) <= 0
            assert faint(rater.page) == []
            assert unnamed(rater.page) == []
            small = (
                "[...document.querySelectorAll('button, summary, select, input:not([type=radio]), .option')].filter("
            )
            small += "(e) => e.checkVisibility() && e.getBoundingClientRect().height < 40).map((e) => e.outerHTML)"
            assert rater.page.evaluate(small) == []
            rater.close()
