"""What the first page says of an exam."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limner.report.site import build
from limner.store import Store
from tests.browser import expect
from tests.report.site.reading import parts
from tests.report.site.visiting import Browser
from tests.report.tables import synthetic
from tests.scoring.compare.desk import Desk

EXAM = "sample/genexam"


def said(folder: Path) -> tuple[str, str, dict[str, Any]]:
    """The sentences as they are read, and the answer."""
    (site,) = parts(folder / "data", "site")
    exam = site["exams"][0]
    rows = [painter["row"] for painter in exam["painters"]]
    words = [
        "".join(rows[word] if isinstance(word, int) else word for word in exam["answer"][name])
        for name in ("said", "sure")
    ]
    return words[0], words[1], exam["answer"]


def put(desk: Desk, painter: str, right: list[int], relaxed: int = 1) -> None:
    """Right on some questions; on the others every point but the first is met, or nothing."""
    for n, question in enumerate(desk.exam.questions):
        first = desk.protocol.criteria(question)[0].id
        marks = desk.marks(question, lambda top: top * relaxed)
        desk.put(painter, question, desk.marks(question, lambda top: top) if n in right else marks | {first: 0})


def test_leader_differs_significantly_from_others(store: Store, tmp_path: Path) -> None:
    desk = Desk(store, EXAM)
    put(desk, "best", list(range(13)))
    put(desk, "poor", [], 0)
    build(tmp_path / "out", store=store, images=False)
    words, sure, answer = said(tmp_path / "out")
    assert words.startswith("best is ahead with 100.0 strict [")
    assert sure.startswith("best beats poor on strict by 100.0 points (95% CI ")
    assert "13 questions; p < 0.001)" in sure or "13 questions; p = 0.00" in sure
    assert [row["place"] for row in answer["rows"]] == [1, 2]
    assert len(answer["drawn"]["drawings"]) == 2
    assert answer["drawn"]["reference"]


def test_leader_does_not_differ_from_second(store: Store, tmp_path: Path) -> None:
    desk = Desk(store, EXAM)
    put(desk, "one", [0, 1, 2])
    put(desk, "two", [0, 1])
    put(desk, "three", [], 0)
    build(tmp_path / "out", store=store, images=False)
    words, sure, _ = said(tmp_path / "out")
    assert words.startswith("one is ahead with 23.1 strict")
    assert sure.startswith("one and two cannot be told apart on strict with 13 questions; about ")
    assert sure.endswith("questions would be needed; one beats none of the 2 other painters.")


@pytest.mark.parametrize(("others", "wanted"), [(["control/blank"], "relaxed"), (["control/reference"], "strict")])
def test_score_reached_by_controls_is_not_headline(
    store: Store, tmp_path: Path, others: list[str], wanted: str
) -> None:
    """No painter and no control has a fully correct drawing: the next score becomes the headline."""
    desk = Desk(store, EXAM)
    put(desk, "mine", [])
    put(desk, "other", [], 0)
    for control in others:
        put(desk, control, [], 0)
    build(tmp_path / "out", store=store, images=False)
    words, _, answer = said(tmp_path / "out")
    assert answer["score"] == wanted
    assert ("mine is ahead" in words) == (wanted == "relaxed")


def test_painter_below_its_only_control_is_no_result(store: Store, tmp_path: Path) -> None:
    desk = Desk(store, EXAM)
    put(desk, "mine", [0])
    put(desk, "control/blank", [0, 1])
    build(tmp_path / "out", store=store, images=False)
    words, _, _ = said(tmp_path / "out")
    assert words == "No result yet: by strict, no painter is above the controls (control/blank)."


def test_answer_for_controls_only_and_for_single_painter(store: Store, tmp_path: Path) -> None:
    desk = Desk(store, EXAM)
    put(desk, "control/reference", list(range(13)))
    put(desk, "control/blank", [], 0)
    build(tmp_path / "out", store=store, images=False)
    words, _, _ = said(tmp_path / "out")
    assert words.startswith("control/reference gets 100.0 strict [")
    put(desk, "mine", [1])
    build(tmp_path / "out", store=store, images=False)
    words, sure, _ = said(tmp_path / "out")
    assert words.startswith("mine gets 7.7 strict [")
    assert sure == "There is no other painter to compare it with."


def test_lenient_judge_warning_is_shown_beside_leader(store: Store, tmp_path: Path) -> None:
    desk = Desk(store, EXAM)
    put(desk, "alpha", list(range(12)))
    put(desk, "beta", [])
    put(desk, "control/reference", list(range(13)))
    put(desk, "control/shuffled", [])
    build(tmp_path / "out", store=store, images=False)
    words, _, answer = said(tmp_path / "out")
    assert words.startswith("alpha is ahead")
    assert answer["passes_wrong_drawings"] is None
    put(desk, "control/shuffled", list(range(12)))
    build(tmp_path / "out", store=store, images=False)
    words, _, answer = said(tmp_path / "out")
    assert words.startswith("alpha is ahead")
    line = "This judge passes wrong drawings: another question's drawing scores 92.3, the reference 100.0."
    assert answer["passes_wrong_drawings"]["words"] == line
    (exam,) = parts(tmp_path / "out" / "exams" / "sample-genexam" / "data", "exam")
    assert [way["passes_wrong_drawings"]["words"] for way in exam["ways"]] == [line]


@pytest.mark.slow
def test_pages_with_scores_show_lenient_judge_warning(store: Store, tmp_path: Path, browser: Browser) -> None:
    desk = Desk(store, EXAM)
    for painter in ("alpha", "beta", "control/reference", "control/shuffled"):
        put(desk, painter, list(range(12)) if painter != "beta" else [])
    build(tmp_path / "out", store=store, images=False)
    home = tmp_path / "out" / "exams" / "sample-genexam"
    (exam,) = parts(home / "data", "exam")
    alpha = next(painter["key"] for painter in exam["painters"] if painter["row"] == "alpha")
    for file, after in (
        (tmp_path / "out" / "index.html", ""), (home / "index.html", ""), (home / "compare.html", ""),
        (home / "compare.html", "#what=painters"), (home / "painter.html", f"#p={alpha}"), (home / "judges.html", ""),
    ):  # fmt: skip
        page = browser.open(file, after)
        expect(page.get_by_text("This judge passes wrong drawings: another question's drawing")).to_have_count(1)


def test_first_page_has_costs_controls_and_the_best_and_worst_drawings(store: Store, tmp_path: Path) -> None:
    synthetic.fill(store, "genexam", painters=2, questions=12, controls=("control/reference",), faults=False)
    build(tmp_path / "out", store=store, images=False)
    (site,) = parts(tmp_path / "out" / "data", "site")
    (exam,) = site["exams"]
    answer, rows = exam["answer"], [painter["row"] for painter in exam["painters"]]
    assert [rows[row["p"]] for row in answer["rows"]][-1] == "control/reference"
    assert answer["rows"][0]["cost"] == pytest.approx(0.21)
    assert len(answer["drawn"]["drawings"]) == 3
    assert len(answer["best"]) == len(answer["worst"]) == 4
    assert min(one["met"] for one in answer["best"]) >= max(one["met"] for one in answer["worst"])
    assert {rows[one["p"]] for one in (*answer["best"], *answer["worst"])} <= {rows[0], rows[1]}
    page = (tmp_path / "out" / "exams" / "genexam" / "index.html").read_text("utf-8")
    linked = [name for name in ("judges", "compare", "differences", "failures") if f'"{name}.html"' in page]
    assert linked == ["judges", "compare"], "pages without content are not linked"
