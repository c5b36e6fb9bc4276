"""Cells worked out once more from the rows of the store and the papers' rules alone: no score of the program helps."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from statistics import mean
from typing import Any

import pytest

from limner.report.paper import TableChoice, build, find
from limner.report.tables.model import Table, TableRow
from limner.store import Store
from tests.report.tables import synthetic

Body = dict[str, Any]
Marks = dict[str, int | None]
LAYOUT = ("panel_structure", "panel_count", "global_layout")
PARTS = {
    "visual": ("present", "count", "location"),
    "text": ("exact", "readable", "attached"),
    "relation": ("satisfied", "type", "direction"),
}


def drawn(store: Store, painter: str, strategy: str = "direct") -> dict[str, tuple[Body, Marks]]:
    """Question id -> the question as stored and the marks of the painter's drawing, where it has any."""
    assert store.file is not None
    query = """
        SELECT q.id, q.body, m.marks FROM markings m JOIN drawings d ON d.id = m.drawing
        JOIN questions q ON q.hash = d.question_hash AND q.exam = d.exam
        WHERE d.painter = ? AND d.strategy = ? AND m.status = 'done'
    """
    with sqlite3.connect(store.file) as connection:
        found = connection.execute(query, (painter, strategy)).fetchall()
    return {
        id: (json.loads(body), {mark["criterion"]: mark["value"] for mark in json.loads(marks)})
        for id, body, marks in found
    }


_MADE: dict[tuple[str, str, str, str], Table] = {}


def table(store: Store, key: str, painter: str, **choice: Any) -> Table:
    """The table of one painter alone; made once, for it takes a while."""
    name = (store.url, key, painter, repr(choice))
    if name not in _MADE:
        _MADE[name] = build(find(key), store, TableChoice(which={"painters": [painter]}, **choice))
    return _MADE[name]


def line(store: Store, key: str, label: str, **choice: Any) -> TableRow:
    (sheet,) = table(store, key, label.partition(" + ")[0], **choice).flat
    (found,) = [line for line in sheet.rows() if not line.published and line.label == label]
    return found


def cell(store: Store, key: str, label: str, path: str, **choice: Any) -> str:
    (sheet,) = table(store, key, label.partition(" + ")[0], **choice).flat
    (place,) = [n for n, column in enumerate(sheet.columns) if column.path == path]
    return line(store, key, label, **choice).cells[place].text


def relaxed(body: Body, marks: Marks) -> float:
    points = body["rubric"]["scoring_points"]
    semantic = sum(point["score"] for n, point in enumerate(points, 1) if marks[f"point/{n}"])
    ratings = sum(marks[name] or 0 for name in ("spelling", "readability", "logic"))
    return float(round(100 * (0.7 * semantic + 0.05 * ratings), 1))


def strict(body: Body, marks: Marks) -> float:
    return 100.0 * all(value == (1 if name.startswith("point/") else 2) for name, value in marks.items())


@pytest.mark.slow
@pytest.mark.parametrize("painter", ["openai/gpt-image-1", "gemini/gemini-3-pro-image-preview", "BAGEL"])
def test_genexam(filled: dict[str, Store], painter: str) -> None:
    store = filled["genexam"]
    rows = drawn(store, painter)

    def told(score: Callable[[Body, Marks], float], where: Callable[[Body], bool]) -> float:
        return mean(score(body, marks) for body, marks in rows.values() if where(body))

    for path, where in {
        "Phy": lambda body: body["tags"]["subject"] == "Physics",
        "Comp": lambda body: body["tags"]["subject"] == "Computer_Science",
        "Overall": lambda body: True,
    }.items():
        for head, score in {"Str": strict, "Rel": relaxed}.items():
            wanted = told(score, where)
            assert float(cell(store, "genexam:table2", painter, f"{path} · {head}")) == pytest.approx(wanted, abs=0.051)
    hard = told(relaxed, lambda body: body["tags"]["difficulty"] == "hard")
    assert float(cell(store, "genexam:table6", painter, "Hard · Rel")) == pytest.approx(hard, abs=0.051)
    maps = told(relaxed, lambda body: body["tags"]["img_type"] == "plots and charts")
    assert float(cell(store, "genexam:table7", painter, "Plots & Charts · Rel")) == pytest.approx(maps, abs=0.051)
    optics = told(relaxed, lambda body: body["tags"]["taxonomy2"] == "Optics_and_Waves")
    assert float(cell(store, "genexam:table8", painter, "Physics/Optics_and_Waves")) == pytest.approx(optics, abs=0.051)
    spelling = told(lambda _, marks: float(marks["spelling"] or 0), lambda body: body["tags"]["subject"] == "Music")
    assert float(cell(store, "genexam:table9", painter, "Music · Spelling")) == pytest.approx(spelling, abs=0.0051)


def test_painters_on_common_questions(filled: dict[str, Store]) -> None:
    store = filled["genexam"]
    names = ["openai/gpt-image-1", "BAGEL", "Show-o2-7B"]
    rows = {name: drawn(store, name) for name in names}
    common = set.intersection(*(set(found) for found in rows.values()))
    found = build(find("genexam:table2"), store, TableChoice(which={"painters": names}))
    mine = {line.label: line for sheet in found.flat for line in sheet.rows() if not line.published}
    for name in names:
        wanted = mean(relaxed(*rows[name][id]) for id in common)
        assert float(mine[name].cells[-1].text) == pytest.approx(wanted, abs=0.051)
        assert mine[name].coverage == pytest.approx(len(rows[name]) / 80)


def test_worldgenbench(filled: dict[str, Store]) -> None:
    store = filled["worldgenbench"]
    rows = drawn(store, "Janus-Pro")

    def told(tag: str, value: str) -> float:
        return mean(
            100 * mean(mark or 0 for mark in marks.values())
            for body, marks in rows.values()
            if body["tags"].get(tag) == value
        )

    for key, path, tag, value in (
        ("worldgenbench:table1", "EU", "continent", "EU"),
        ("worldgenbench:table1", "Avg.", "domain", "humanities"),
        ("worldgenbench:table2", "BIO&MED", "discipline", "BIO&MED"),
        ("worldgenbench:table2", "Avg.", "domain", "nature"),
    ):
        assert float(cell(store, key, "Janus-Pro", path)) == pytest.approx(told(tag, value), abs=0.0051)


def test_fepbench(filled: dict[str, Store]) -> None:
    store, painter = filled["fepbench"], "dashscope/qwen-image"
    rows = drawn(store, painter)

    def layout(regime: str | None) -> float:
        return mean(
            mean(marks[f"layout/{part}"] or 0 for part in LAYOUT)
            for body, marks in rows.values()
            if regime in (None, body["tags"]["regime"])
        )

    assert float(cell(store, "fepbench:table2", painter, "Instruction Faithfulness · IF l")) == pytest.approx(
        layout(None), abs=0.00051
    )

    def match(marks: Marks, modality: str, atom: str) -> float:
        gate, one, other = (marks[f"{modality}/{atom}/{part}"] or 0 for part in PARTS[modality])
        return gate * (one + other) / 2

    def faithful(regime: str) -> float:
        found = []
        for body, marks in rows.values():
            if body["tags"]["regime"] != regime:
                continue
            means = [
                mean(match(marks, one, atom["id"]) for atom in body["rubric"][one] if atom["role"] == "instruction")
                for one in PARTS
            ]
            found.append(mean([*means, mean(marks[f"layout/{part}"] or 0 for part in LAYOUT)]))
        return mean(found)

    free, structured = table(store, "fepbench:table3", painter, published=False).flat[0].blocks
    for group, regime in ((free, "free"), (structured, "structured")):
        assert float(group.rows[0].cells[9].text) == pytest.approx(faithful(regime), abs=0.00051)


def test_aibench(filled: dict[str, Store]) -> None:
    store, painter = filled["aibench"], "openai/gpt-image-1"
    for strategy, label in (("direct", painter), ("rewrite", f"{painter} + rewrite")):
        rows = drawn(store, painter, strategy)
        topology = [mark for _, marks in rows.values() for name, mark in marks.items() if name.startswith("topology/")]
        found = cell(store, "aibench:table4", label, "Topology", on="all")
        assert float(found) == pytest.approx(100 * mean(mark or 0 for mark in topology), abs=0.0051)
    # What an import has cost is not known.
    assert cell(store, "aibench:table4", painter, "$ per drawing") == "–"


@pytest.mark.slow
def test_dollars_per_drawing(store: Store) -> None:
    ways = ("direct", "best-of-n")
    synthetic.fill(store, "aibench", painters=4, questions=30, strategies=ways)
    (sheet,) = build(find("aibench:table4"), store, TableChoice(published=False)).flat
    shown = {line.label: line.cells[-1].text for line in sheet.rows()}
    assert store.file is not None
    with sqlite3.connect(store.file) as connection:
        query = "SELECT painter, strategy, sum(cost), sum(status = 'done') FROM drawings GROUP BY painter, strategy"
        costs = {(painter, strategy): (cost, done) for painter, strategy, cost, done in connection.execute(query)}
    assert len(costs) == 8
    for (painter, strategy), (cost, done) in costs.items():
        label = painter if strategy == "direct" else f"{painter} + {strategy}"
        # Refused drawings were paid for too.
        assert shown[label] == ("–" if cost is None else f"{cost / done:.4f}")
    assert any(done < 30 for _, done in costs.values())


def test_mmmg_average_is_mean_of_levels(filled: dict[str, Store]) -> None:
    for key in ("mmmg:table2", "mmmg:table5"):
        found = line(filled["mmmg"], key, "openai/gpt-image-1")
        *levels, average = [float(cell.text) for cell in found.cells[2:]]
        assert average == pytest.approx(mean(levels), abs=0.011)


def test_statistics_of_the_stored_exam(filled: dict[str, Store]) -> None:
    def told(key: str) -> dict[str, str]:
        exam = key.partition(":")[0]
        (sheet,) = build(find(key), filled[exam]).flat
        (found,) = [line for line in sheet.rows() if not line.published]
        return {column.path: cell.text for column, cell in zip(sheet.columns, found.cells, strict=True)}

    genexam = told("genexam:table1")
    assert genexam["Taxonomy nodes, level 1"] == "10"
    assert genexam["Taxonomy nodes, level 2"] == "40"
    assert genexam["Taxonomy nodes, level 3"] == "–"
    assert genexam["Subject knowledge difficulty: hard (%)"] == "32"
    fepbench = told("fepbench:table5")
    assert sum(int(text) for path, text in fepbench.items() if path.endswith("· N")) == 12
    mmmg = told("mmmg:table3")
    assert {text for path, text in mmmg.items() if "ratio" in path} == {"16.67"}
    tokens = [float(text) for path, text in mmmg.items() if "tokens" in path]
    assert len(tokens) == 6
    assert all(5 < number < 100 for number in tokens)
