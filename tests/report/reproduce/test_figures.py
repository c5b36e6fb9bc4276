"""Figures: which questions they show, what they need, and when they count as filled."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from limner import exams, run
from limner.core.exam import Selection
from limner.report.plots import find_plot
from limner.report.reproduce import Reproduction, make_checklist
from limner.report.reproduce.items import figures_of, shown_questions, why_not_made
from limner.report.reproduce.request import PaperPlot, paper_list
from limner.report.reproduce.rows import RowFinder
from limner.running.setup import Asking
from limner.store import Store
from tests.report.plots import made_up


def exam(kind: str) -> Any:
    return exams.read(exams.resolve(f"sample/{kind}"))


def item(kind: str, name: str) -> Any:
    return next(each for each in paper_list(kind).items if name in each.numbers)


def test_figures_of_one_paper_show_different_questions() -> None:
    shown = [
        shown_questions(item("aibench", name), exam("aibench")) for name in ("Figure A5", "Figure A6", "Figure A7")
    ]
    assert len(set(shown)) == 3
    whole = exam("worldgenbench")
    tags = {question.id: question.tags["domain"] for question in whole.questions}
    for name, domain in (("Figure 5", "humanities"), ("Figure 6", "nature")):
        assert {tags[id] for id in shown_questions(item("worldgenbench", name), whole)} == {domain}


def test_seven_painters_are_shown_for_each_level_and_discipline() -> None:
    figures = item("mmmg", "Figure 12")
    assert figures.rows == (
        "GPT-4o", "FLUX-Reason (R1)", "HiDream-I1-Full", "FLUX.1-[pro]", "Ideogram V2", "Infinity-8B", "SEED-X",
    )  # fmt: skip
    assert figures.plots == (PaperPlot(plot="graphs", each="level_discipline"),)
    whole = exam("mmmg")
    cells = {question.tags["level_discipline"] for question in whole.questions}
    assert len(shown_questions(figures, whole)) == len(cells)


def test_own_painter_is_no_row_of_the_papers_figures(store: Store) -> None:
    asked = Reproduction("sample/genexam", painters=("mine=control/text",), judges=("ocr",), items=("Figure 1",))
    (figure,) = make_checklist(asked, store).to_json()["items"]
    assert figure["cells"]["paper"] == 0
    assert figure["calls"] == 0


def test_figure_of_drawings_is_priced_by_its_question_alone(store: Store) -> None:
    asked = Reproduction("sample/genexam", painters=("Nano Banana Pro",))
    checklist = make_checklist(asked, store)
    items = {each.item.name: each for each in checklist.items}
    figure, table = items["Figure 1"].calls, items["Table 2"].calls
    assert figure == 2
    assert table == 2 * len(exam("genexam").questions)
    # The row is counted once, and its step is for the figures too.
    (step,) = checklist.steps
    assert {"Figure 1", "Table 2"} <= set(step.items)
    only = make_checklist(Reproduction("sample/genexam", painters=("Nano Banana Pro",), items=("Figure 1",)), store)
    assert "--ids " in only.steps[0].command


@pytest.mark.slow
def test_figure_shows_no_other_strategies_of_its_painters(store: Store, tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text(
        "".join(f'{{"id": "{each.id}", "reply": "Paint it."}}\n' for each in exam("worldgenbench").questions)
    )
    paper = Asking(preset="paper", judges=("ocr",))
    how: dict[str, Any] = {"painters": ["GPT-4o=control/text"], "store": store, "asking": paper}
    options = {"planner": f"replay/{replies}"}
    run("sample/worldgenbench", strategies=["direct", "rewrite"], strategy_options=options, **how)
    checklist = make_checklist(
        Reproduction("sample/worldgenbench", painters=tuple(how["painters"]), judges=("ocr",)), store
    )
    assert len({group.name for group in checklist.groups}) == 2
    items = {each.item.name: each for each in checklist.items}
    for name in ("Figure 5", "Figure 7"):
        (figure,) = figures_of(checklist, items[name])
        assert figure.choice.loaded is not None
        assert [group.name for group in figure.choice.loaded[1]] == ["GPT-4o"]
        columns = find_plot(figure.plot.plot).frame("sample/worldgenbench", figure.choice).columns
        assert [name for name in columns if name != "reference"] == ["GPT-4o"]


@pytest.mark.slow
def test_rows_made_before_their_model_was_gone_count(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Reproduction("sample/worldgenbench", painters=("GPT-4o=control/text",), judges=("ocr",))
    monkeypatch.setattr(RowFinder, "_marker", lambda *_: "the judge has been gone since yesterday")
    names = ("Table 1", "Figure 7")
    before = {each["name"]: each["cells"] for each in make_checklist(asked, store).to_json()["items"]}
    assert [before[name]["filled"] for name in names] == [0, 0]
    run(
        "sample/worldgenbench", painters=["GPT-4o=control/text"], store=store,
        asking=Asking(preset="paper", judges=("ocr",)),
    )  # fmt: skip
    checklist = make_checklist(asked, store)
    after = {each["name"]: each["cells"] for each in checklist.to_json()["items"]}
    assert [after[name]["filled"] for name in names] == [6, 1]
    assert checklist.runnable == []


def test_figure_of_people_needs_all_of_the_papers_metrics(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Reproduction("mmmg", items=("Figure 8",))
    made_up.rated(store, painters=3, questions=12)
    checklist = make_checklist(asked, store)
    assert why_not_made(checklist, checklist.items[0]) is None
    monkeypatch.setattr(sys.modules["limner.scoring.compare.judges"], "load_painter_metrics", lambda *_: [])
    assert why_not_made(checklist, checklist.items[0]) == "it has no numbers of FID yet"


@pytest.mark.slow
def test_figure_counts_as_filled_only_when_it_can_be_made(store: Store, tmp_path: Path) -> None:
    whole = exam("worldgenbench")
    human = next(question.id for question in whole.questions if question.tags["domain"] == "humanities")
    run(
        "sample/worldgenbench", painters=["GPT-4o=control/text"], store=store,
        asking=Asking(preset="paper", judges=("ocr",)), selection=Selection(ids=(human,)),
    )  # fmt: skip
    asked = Reproduction("sample/worldgenbench", painters=("GPT-4o=control/text",), judges=("ocr",))
    items = make_checklist(asked, store).to_json()["items"]
    cells = {each["name"]: each["cells"] for each in items}
    filled = [cells[name]["filled"] for name in ("Figure 4", "Figure 5", "Figure 6", "Figure 7")]
    assert (filled, cells["Figure 6"]["missing"]) == ([1, 1, 0, 1], 1)
