"""One rule on which questions painters stand: for terminal, JSON, Python, tables, plots and site alike."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import limner
from limner import api
from limner.core.errors import UsageError
from limner.core.evaluator import Evaluator
from limner.exams import kind
from limner.report.plots.source import PlotChoice, load_source
from limner.report.site import build
from limner.scoring import Comparable, Entry, Group, comparable, compare
from limner.store import Store
from limner.store.records import Drawing
from tests.cli.invoke import limner as command
from tests.report.site.reading import parts
from tests.scoring.compare.desk import Desk

EXAM = "sample/genexam"


def put(desk: Desk, painter: str, places: dict[int, bool | None]) -> None:
    """Question by place -> wholly right, wholly wrong, or refused by the judge."""
    for place, right in places.items():
        question = desk.exam.questions[place]
        marks = None if right is None else desk.marks(question, lambda top, right=right: top if right else 0)  # type: ignore[misc]
        desk.put(painter, question, marks)


@pytest.fixture
def three(store: Store) -> Desk:
    """Painters a with four questions, b with two of them, c with nothing but replies that nobody could read."""
    desk = Desk(store, EXAM)
    put(desk, "a", {0: True, 1: False, 2: True, 3: True})
    put(desk, "b", {0: True, 1: True})
    put(desk, "c", dict.fromkeys(range(4)))
    return desk


@pytest.mark.slow
def test_all_commands_report_same_scores(three: Desk, tmp_path: Path) -> None:
    wanted = {"b": 100.0, "a": 50.0, "c": None}
    store = three.store.url
    python = limner.scores(EXAM, store=three.store)
    assert {row.painter: row.scores["strict"].value for row in python} == wanted
    assert [row.painter for row in python] == ["b", "a", "c"]
    found = command("scores", EXAM, "--store", store, "--format", "json").json()
    assert [row["painter"] for row in found] == ["b", "a", "c"]
    assert {row["painter"]: (row["common"] or {}).get("n") for row in found} == {"a": 2, "b": 2, "c": None}
    assert {row["painter"]: row["scores"]["strict"]["value"] for row in found} == {"a": 75.0, "b": 100.0, "c": None}
    lines = csv.DictReader(io.StringIO(command("scores", EXAM, "--store", store, "--format", "csv").out))
    strict = {line["painter"]: line["value"] for line in lines if line["score"] == "strict"}
    assert strict == {"a": "50.0", "b": "100.0", "c": ""}
    (one,) = command("compare", EXAM, "--store", store, "--format", "json").json()
    assert {place["painter"]: place["score"]["value"] for place in one["places"]} == wanted
    assert one["questions"] == 2
    assert one["compared"]["left_out"] == {"c": "4 refusal"}
    source = load_source(EXAM, PlotChoice(store=three.store))
    assert dict(zip(source.names, (values["strict"] for values in source.field.values), strict=True)) == {
        "a": 50.0,
        "b": 100.0,
    }
    built = build(tmp_path / "site", store=three.store, workers=1)
    (data,) = (built.index.parent / "exams").glob("*/data")
    (body,) = parts(data, "exam")
    (way,) = body["ways"]
    names = [painter["name"] for painter in body["painters"]]
    common = {names[row["p"]]: row["views"]["common"] for row in way["rows"]}
    assert {name: view and view["scores"]["strict"][0] for name, view in common.items()} == wanted
    table = command("table", "genexam:table2", "--store", store, "--exam", EXAM, "--format", "csv", "--no-published")
    assert "50.0" in table.out
    assert "75.0" not in table.out


def test_first_line_names_painter_cutting_common_questions(three: Desk) -> None:
    lines = command("scores", EXAM, "--store", three.store.url).out.splitlines()
    assert lines[1] == "b cuts the common questions from 4 to 2; --without b compares the others"
    assert any("left out, having no score: c (4 refusal)" in line for line in lines)
    alone = command("scores", EXAM, "--store", three.store.url, "--without", "b").out
    assert "cuts the common questions" not in alone
    assert "75.0" in alone
    with pytest.raises(UsageError, match="--without nobody: choose from a, b, c"):
        api.scores(EXAM, store=three.store, without=["nobody"])


def test_painter_with_only_failed_drawings_has_row(store: Store) -> None:
    desk = Desk(store, EXAM)
    put(desk, "a", {0: True})
    question = desk.exam.questions[0]
    failed = Drawing("f" * 64, EXAM, question.id, question.hash, "x", "lab/x", "direct", 0, "failed", fault="refusal")
    from limner.store.records import save_drawing

    save_drawing(store, failed).result()
    rows = {row.painter: row for row in api.scores(EXAM, store=store)}
    assert (rows["x"].n, rows["x"].coverage, rows["x"].failures) == (0, 0.0, {"refusal": 1})
    assert rows["a"].numbers.n == 1
    (one,) = compare.painters(EXAM, store=store)
    assert {place.painter: place.reason for place in one.places} == {"a": None, "x": "no score"}


def test_secondary_score_of_only_some_painters_does_not_rank(store: Store) -> None:
    """What the judge could settle for one painter alone says nothing of the others: then the share met decides."""
    desk = Desk(store, "sample/aibench")
    for question in desk.exam.questions:
        names = [criterion.id for criterion in desk.protocol.criteria(question)]
        known = [name for name in names if name.startswith("component/")]
        desk.put("settled", question, {name: 0 if name in known else None for name in names})
        desk.put("better", question, {name: 1 if name == known[0] else None for name in names})
    better, settled = api.scores("sample/aibench", store=store)
    assert (better.painter, settled.painter) == ("better", "settled")
    assert settled.numbers.value("component") == 0
    assert better.numbers.value("component") is None


KIND = kind("genexam")
QUESTIONS = KIND.read(KIND.sample, "x").questions if KIND.sample else ()


def group(name: str, ids: set[int], *, control: bool = False) -> Group:
    spec = "control/x" if control else "lab/x"
    tried = [
        Entry(
            QUESTIONS[n],
            Drawing(f"{name}{n}", "x", QUESTIONS[n].id, QUESTIONS[n].hash, name, spec, "direct", 0, "done"),
            None,
            scores={"strict": 0.0},
            status="done" if n in ids else "unreadable",
        )
        for n in range(len(QUESTIONS))
    ]
    return Group(name, "direct", Evaluator("e", {"judge": "j"}), tuple(tried))


def made(sets: list[set[int]], **how: Any) -> Comparable:
    return comparable([group(f"p{n}", ids) for n, ids in enumerate(sets)], KIND.protocol, **how)


ids = st.sets(st.integers(0, len(QUESTIONS) - 1))


@given(st.lists(ids, min_size=1, max_size=5), st.randoms())
def test_comparable_ignores_order_and_painters_without_scores(sets: list[set[int]], chance: Any) -> None:
    groups = [group(f"p{n}", some) for n, some in enumerate(sets)]
    mixed = list(groups)
    chance.shuffle(mixed)
    found, other = comparable(groups, KIND.protocol), comparable(mixed, KIND.protocol)
    assert (found.questions, found.names, found.cut) == (other.questions, other.names, other.cut)
    scored = [some for some in sets if some]
    common = set.intersection(*scored) if scored else set()
    assert found.questions == {QUESTIONS[n].id for n in common}
    assert len(found.left_out) == len(sets) - len(scored)
    for entries in found.inside:
        assert {entry.question.id for entry in entries} == found.questions
    assert sorted(each.name for each in found.everyone) == sorted(each.name for each in groups)


@given(st.lists(ids.filter(bool), min_size=2, max_size=5))
def test_named_painter_cuts_more_than_fifth_of_questions(sets: list[set[int]]) -> None:
    found = made(sets)
    if found.cut is None:
        for n in range(len(sets)):
            rest = set.intersection(*(some for m, some in enumerate(sets) if m != n))
            assert len(found.questions) >= 0.8 * len(rest)
        return
    others = [some for n, some in enumerate(sets) if f"p{n}" not in found.cut.painters]
    assert found.cut.without == len(set.intersection(*others))
    assert found.cut.questions == len(found.questions) < 0.8 * found.cut.without


def test_painters_cutting_together_are_both_named() -> None:
    found = made([{0, 1, 2, 3}, {0, 1, 2, 3}, {0}, {0}])
    assert found.cut is not None
    assert (found.cut.painters, found.cut.without) == (("p2", "p3"), 4)


def test_controls_do_not_cut_questions_of_painters() -> None:
    control = group("control/reference", {0}, control=True)
    found = comparable([group("a", {0, 1}), group("b", {0, 1}), control], KIND.protocol)
    assert (len(found.questions), [each.name for each in found.beside], found.cut) == (2, ["control/reference"], None)
    assert [entry.question.id for entry in found.common(control)] == [QUESTIONS[0].id]
    alone = comparable([control, replace(control, painter="control/text")], KIND.protocol)
    assert len(alone.questions) == 1
