"""Tables about evaluators, filled from a store with the published figures beside."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

import pytest
from scipy import stats

from limner.report.paper import TableChoice, build, find
from limner.report.tables.model import MISSING, Table, TableRow
from limner.store.store import open_store
from tests.scoring.compare.desk import Desk
from tests.scoring.compare.studied import CHANCE, STUDY, Studied

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studied]:
    with open_store(tmp_path_factory.mktemp("studied") / "store", create=True) as store:
        yield Studied(store)


def made(studied: Studied, key: str) -> Table:
    return build(find(key), studied.desk.store, TableChoice(exam="sample/genexam"))


def own(table: Table) -> dict[str, TableRow]:
    return {row.label: row for sheet in table.flat for row in sheet.rows() if not row.published}


def copies(studied: Studied, values: dict[str, float]) -> list[float]:
    return [value for id, value in sorted(values.items()) for _ in range(round(1 / CHANCE[studied.painter[id]]))]


def error(studied: Studied, judge: str, score: str) -> float:
    mine, theirs = studied.of(judge, score), studied.of("people", score)
    return mean(copies(studied, {id: abs(mine[id] - theirs[id]) for id in mine}))


def test_judge_errors_are_shown_beside_published_ones(studied: Studied) -> None:
    table = made(studied, "genexam:table3a")
    row = own(table)["gpt"]
    expected = [error(studied, "gpt", score) for score in ("semantic", "spelling", "logic", "readability")]
    assert [cell.text for cell in row.cells] == [f"{value:.2f}" for value in expected]
    assert row.cells[0].low is not None
    published = [row for sheet in table.flat for row in sheet.rows() if row.published]
    assert [cell.text for cell in published[0].cells] == ["0.10", "0.11", "0.28", "0.20"]
    assert f"people/{STUDY}: 3 people, 39 drawings" in table.caption[-1]


def test_correlations_with_overall_rating(studied: Studied) -> None:
    table = made(studied, "genexam:table3b")
    rows = own(table)
    assert {"relaxed by gpt", "semantic by gpt", "relaxed by other", "metric/clip"} <= set(rows)
    overall = copies(studied, studied.of("people", "overall"))
    mine = copies(studied, studied.of("gpt", "relaxed"))
    row = rows["relaxed by gpt"]
    assert row.cells[0].text == f"{stats.kendalltau(mine, overall).statistic:.4f}"
    assert row.cells[2].text == f"{stats.spearmanr(mine, overall).statistic:.4f}"
    assert row.cells[4].text == f"{stats.pearsonr(mine, overall).statistic:.4f}"
    assert row.cells[1].text != MISSING
    printed = {
        row.label: [cell.text for cell in row.cells] for sheet in table.flat for row in sheet.rows() if row.published
    }
    assert printed["CLIP Score"] == ["0.1158", "0.0072", "0.1620", "0.0103", "0.1647", "0.0091"]
    assert printed["Relaxed Score by GPT-5 low"][1] == "<0.0001"


def test_judges_with_accuracy_and_plausibility(studied: Studied) -> None:
    row = own(made(studied, "genexam:table4"))["gpt"]
    plausibility = mean(error(studied, "gpt", score) for score in ("spelling", "logic", "readability"))
    assert row.cells[2].text == f"{plausibility:.2f}"
    assert 60 < float(row.cells[1].text) < 100
    assert row.cells[3].text != MISSING


def test_judge_and_people_pairs(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open_store(tmp_path_factory.mktemp("fep") / "store", create=True) as store:
        desk = Desk(store, "sample/fepbench")
        for painter, skill in (("poor", 0.3), ("good", 0.9)):
            for question in desk.exam.questions:
                for judge in ("gpt", "qwen"):
                    desk.put(painter, question, desk.random(question, skill, painter, judge), judge=judge)
        without = own(build(find("fepbench:table4"), store, TableChoice(exam="sample/fepbench")))
        assert set(without) == {"gpt vs qwen ρ"}
        for painter, skill in (("poor", 0.3), ("good", 0.9)):
            for question in desk.exam.questions:
                for person in ("anna", "ben", "cleo"):
                    marks = desk.random(question, skill, painter, person)
                    desk.put(painter, question, marks, judge=f"person/{person}", kind="person", study="s")
        table = build(find("fepbench:table4"), store, TableChoice(exam="sample/fepbench"))
    rows = own(table)
    assert set(rows) == {"Human-Human ICC(2,1)", "gpt-Human ρ", "qwen-Human ρ", "gpt vs qwen ρ"}
    assert rows["gpt vs qwen ρ"].cells[0].value == without["gpt vs qwen ρ"].cells[0].value
    for row in rows.values():
        assert [cell.value is None for cell in row.cells] == [False, False, True]  # Nothing unexpected: SP is always 1.
        assert all(-1 <= (cell.value or 0) <= 1 for cell in row.cells)


def test_people_who_rated_different_drawings_have_one_way_icc(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open_store(tmp_path_factory.mktemp("many") / "store", create=True) as store:
        desk, people = Desk(store, "sample/fepbench"), ["anna", "ben", "cleo", "dan", "eva"]
        for place, question in enumerate(desk.exam.questions):
            for person in (people[(place + turn) % 5] for turn in range(3)):
                marks = desk.random(question, 0.6, "one", person)
                desk.put("one", question, marks, judge=f"person/{person}", kind="person", study="s")
        rows = own(build(find("fepbench:table4"), store, TableChoice(exam="sample/fepbench")))
    assert set(rows) == {"Human-Human ICC(1,1)"}
    assert [cell.value is None for cell in rows["Human-Human ICC(1,1)"].cells] == [False, False, True]


def test_painters_without_a_common_question_are_each_compared_with_people(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with open_store(tmp_path_factory.mktemp("apart") / "store", create=True) as store:
        desk = Desk(store, "sample/genexam")
        for place, question in enumerate(desk.exam.questions):
            painter, marks = ("one", "two")[place % 2], desk.random(question, 0.6, "any")
            id = desk.put(painter, question, marks, judge="gpt")
            for person in ("anna", "ben"):
                desk.put(painter, question, marks, judge=f"person/{person}", kind="person", study="s")
                desk.rate(id, 5 + place, judge=f"person/{person}", scale="overall", study="s")
        table = build(find("genexam:table5"), store, TableChoice(exam="sample/genexam"))
    assert "judge gpt (not examined); people/s: 2 people, 13 drawings" in table.caption[-1]
    assert "0 questions" not in " ".join((*table.caption, *table.notes, *table.footnotes))
    assert [note.rpartition("; ")[2] for note in table.footnotes] == ["13 rated drawings where the paper has 500"]
    for row in own(table).values():
        assert not row.covered
        assert [(cell.value, cell.low, cell.high) for cell in row.cells[:2]] == [(0.0, None, None)] * 2


def test_aesthetic_metrics_and_ranks(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open_store(tmp_path_factory.mktemp("ai") / "store", create=True) as store:
        desk = Desk(store, "sample/aibench")
        for place, painter in enumerate(("one", "two", "three"), 1):
            for number, question in enumerate(desk.exam.questions):
                id = desk.put(painter, question, desk.random(question, 0.5, painter))
                desk.rate(id, 20 + place + number, judge="metric/pickscore", scale="pickscore", kind="metric")
                for person in ("anna", "ben"):
                    desk.rate(id, 4 - place, judge=f"person/{person}", scale="rank", study="looks")
        table = build(find("aibench:table2"), store, TableChoice(exam="sample/aibench"))
        count = len(desk.exam.questions)
    rows = own(table)
    assert {name: row.cells[5].text for name, row in rows.items()} == {"one": "3", "two": "2", "three": "1"}
    assert rows["two"].cells[1].text == f"{22 + (count - 1) / 2:.3f}"
    assert rows["two"].cells[4].text == MISSING
