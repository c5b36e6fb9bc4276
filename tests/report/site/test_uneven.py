"""Painters with unlike questions, with none at all, and one judge at two efforts: what the data and the pages say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.core.errors import UsageError
from limner.report.site import build
from limner.store import Store
from tests.browser import comes, expect
from tests.cli.invoke import limner
from tests.report.site import uneven
from tests.report.site.conftest import Site
from tests.report.site.reading import parts
from tests.report.site.visiting import Browser, faint

LABELS = ["gpt-5 · reasoning_effort=high", "gpt-5 · reasoning_effort=low"]
CUT = "lab/cutter cuts the common questions from 12 to 4; --without lab/cutter compares the others"
LEFT_OUT = "left out, having no score: lab/garbled (12 unreadable), lab/refused (12 refusal)"


def exam_of(folder: Path, name: str = "genexam") -> dict[str, Any]:
    exam: dict[str, Any]
    (exam,) = parts(folder / "exams" / name / "data", "exam")
    assert isinstance(exam, dict)
    return exam


def rows_of(exam: dict[str, Any], way: int = 0) -> dict[str, dict[str, Any]]:
    return {exam["painters"][row["p"]]["row"]: row for row in exam["ways"][way]["rows"]}


def test_every_evaluator_has_its_own_table_and_label(odd: Site) -> None:
    exam = exam_of(odd.folder)
    assert [way["name"] for way in exam["ways"]] == LABELS
    assert [way["setup"]["args"]["reasoning_effort"] for way in exam["ways"]] == ["high", "low"]
    scores = [rows_of(exam, n)["lab/even"]["views"]["all"]["scores"]["relaxed"][0] for n in (0, 1)]
    assert scores[0] != scores[1]
    assert LABELS[1] in (odd.exam() / "index.html").read_text("utf-8"), "the foot names evaluators by their labels"


def test_notes_name_low_coverage_and_omitted_painters(odd: Site) -> None:
    exam = exam_of(odd.folder)
    for way in exam["ways"]:
        assert way["notes"]["common"][:2] == [CUT, LEFT_OUT]
        assert LEFT_OUT in way["notes"]["all"]
        assert CUT not in way["notes"]["all"]


def test_painters_without_score_are_listed_without_rank(odd: Site) -> None:
    rows = rows_of(exam_of(odd.folder))
    assert list(rows)[-3:] == ["lab/garbled", "lab/refused", "control/reference"], "controls stand apart, at the end"
    for name, what in ((uneven.REFUSED, "refusal"), (uneven.GARBLED, "unreadable")):
        row = rows[name]
        assert (row["n"], row["coverage"], row["place"], row["ranks"]) == (0, 0, None, {})
        assert row["failures"] == {what: 12}
    assert rows["control/reference"]["place"] is None
    assert rows["lab/even"]["place"] == rows["lab/twin"]["place"]
    assert (rows["lab/cutter"]["n"], rows["lab/cutter"]["expected"]) == (4, 12)
    assert rows["lab/cutter"]["coverage"] == pytest.approx(1 / 3, abs=1e-4)


@pytest.mark.slow
def test_excluded_painter_is_absent_from_site(tmp_path: Path, odd: Site) -> None:
    build(tmp_path / "out", store=odd.store, without=["lab/cutter"], images=False)
    exam = exam_of(tmp_path / "out")
    assert "lab/cutter" not in [painter["row"] for painter in exam["painters"]]
    assert exam["counts"]["drawings"] == 72
    assert exam["ways"][0]["notes"]["common"] == [LEFT_OUT]
    assert rows_of(exam)["lab/even"]["views"]["common"]["n"] == 12
    with pytest.raises(UsageError, match=r"--without lab/cuter: choose from .*lab/cutter"):
        build(tmp_path / "out", store=odd.store, without=["lab/cuter"])


@pytest.mark.parametrize("word", ["openai/gpt-5?reasoning_effort=low", LABELS[1]])
def test_report_command_accepts_same_options_as_others(tmp_path: Path, odd: Site, word: str) -> None:
    words = ("report", "-o", tmp_path / "out", "--store", odd.store, "--no-images", "--on", "all")
    limner(*words, "--judge", word)
    exam = exam_of(tmp_path / "out")
    assert ([way["judge"] for way in exam["ways"]], exam["on"]) == ([uneven.JUDGE], "all")
    assert exam["ways"][0]["setup"]["args"] == {"reasoning_effort": "low"}
    assert "no constant 'n_max'" in limner(*words, "-O", "n_max=3", code=2).err


def board(browser: Browser, site: Site, after: str = "", **how: Any) -> Any:
    page = browser.open(site.exam() / "index.html", after, **how)
    page.locator("tbody tr").first.wait_for()
    return page


def names(page: Any) -> list[str]:
    found: list[str] = page.locator("tbody th").all_inner_texts()
    return found


@pytest.mark.slow
def test_leaderboard_describes_comparison_above_numbers(browser: Browser, odd: Site) -> None:
    page = board(browser, odd)
    loud, *rest = (" ".join(text.split()) for text in page.locator(".loud > span, .compared li").all_inner_texts())
    assert loud == "lab/cutter cuts the common questions from 12 to 4: all numbers below are based on those 4."
    assert rest[0] == LEFT_OUT
    cut, above, table = (page.locator(what).first.bounding_box() for what in (".loud", ".compared", "table"))
    assert cut["y"] < above["y"] < table["y"]
    places = dict(zip(names(page), page.locator("tbody td:nth-child(2)").all_inner_texts(), strict=True))
    assert places["lab/even"] == places["lab/twin"]
    assert places["lab/even"].startswith("=")
    assert (places["lab/refused"], places["control/reference"]) == ("–", "control")
    assert page.locator("tr", has_text="lab/even").locator(".ends").all_inner_texts() == ["n 4"]
    for words in ("of the exam's questions", "fewer than five questions", "not ranked"):
        assert words in page.locator(".notes").inner_text()
    page.get_by_role("combobox", name="Numbers on").select_option("all")
    expect(page.locator(".loud")).to_have_count(0)  # Whoever stands on its own cuts nobody's questions.
    expect(page.locator(".compared li").first).to_have_text(LEFT_OUT)
    expect(page.locator(".notes")).to_contain_text("95% interval")
    assert faint(page) == []


@pytest.mark.slow
def test_low_coverage_painter_can_be_excluded_and_restored(browser: Browser, odd: Site) -> None:
    page = board(browser, odd)
    relaxed = page.locator("thead th").all_inner_texts().index(page.locator("th", has_text="relaxed").inner_text()) + 1

    def shown() -> list[str]:
        return [
            text.split()[0]
            for text in page.locator(f"tbody tr:not(.blockhead) > :nth-child({relaxed})").all_inner_texts()
        ]

    before = shown()
    page.get_by_role("button", name="Leave it out").click()
    page.locator(".loud.calm").wait_for()
    assert comes(page, lambda: "lab/cutter" not in names(page))
    with Store(odd.store, create=False) as store:
        rows = api.scores("genexam", store=store, judges=[LABELS[0]], without=["lab/cutter"])
    assert comes(page, lambda: names(page) == [row.name for row in rows])
    wanted = [row.numbers.value("relaxed") for row in rows]
    assert comes(page, lambda: shown() == ["–" if value is None else f"{value:.1f}" for value in wanted])
    assert page.locator("td.lanes .lane.on").count() > 1, "who cannot be told apart is drawn"
    assert comes(page, lambda: "without=" in page.evaluate("location.hash"))
    again = browser.open(odd.exam() / "index.html", page.evaluate("location.hash"))
    again.locator(".loud.calm").wait_for()
    assert comes(again, lambda: names(again) == names(page)), "the address remembers"
    page.get_by_role("button", name="Put back").click()
    page.locator(".loud:not(.calm)").wait_for()
    assert comes(page, lambda: shown() == before)
