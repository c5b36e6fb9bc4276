"""Tables: what a reader must know stands with the numbers, and names are shown as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.core.evaluator import Evaluator
from limner.exams import kind
from limner.report.tables.render import show
from limner.report.tables.scores import COLUMNS, Standings, details, notes, standing_tables
from limner.scoring import Comparable, Group, Numbers, Standing
from limner.scoring.stats import Interval

SETUP = {"judge": "judge", "variant": "release", "options": {"reference": "image"}, "templates": "abc"}
ALL = ("strict", "relaxed", "semantic", "spelling", "readability", "logic")
PROTOCOL = kind("genexam").protocol


def numbers(n: int, value: float | None, names: tuple[str, ...] = ALL, **more: Any) -> Numbers:
    interval = Interval(value, value, value, n) if value is not None else Interval(None, None, None, 0)
    return Numbers(n, dict.fromkeys(names, interval), **{"decided": {"share": 1.0, "met": 0.5}, **more})


def beside(setup: Mapping[str, Any] = SETUP, questions: int = 0, **how: Any) -> Comparable:
    evaluator = Evaluator(repr(setup), setup, str(setup["judge"]))
    groups = tuple(Group(name, "direct", evaluator, ()) for name in how.pop("painters", ("a", "b")))
    common = frozenset(f"q{n}" for n in range(questions))
    return Comparable(evaluator, groups, tuple(() for _ in groups), common, PROTOCOL, **how)


def standing(painter: str = "mine", value: float | None = 50.0, n: int = 5, **fields: Any) -> Standing:
    setup = fields.pop("setup", SETUP)
    more = {name: fields.pop(name) for name in ("bounds", "decided") if name in fields}
    plain: dict[str, Any] = {
        "exam": "exam", "reading": "careful", "painter": painter, "strategy": "direct", "name": painter,
        "evaluator": Evaluator(repr(setup), setup, str(setup["judge"])), "all": numbers(n, value, **more),
        "common": None, "pessimistic": Numbers(), "compared": beside(setup, painters=("a",), questions=n),
        "expected": 5, "coverage": 1.0, "cost": 0.0,
    }  # fmt: skip
    return Standing(**plain | fields)


def printed(capsys: pytest.CaptureFixture[str], *standings: Standing) -> str:
    show("table", lambda: standing_tables(standings, "genexam"))
    return capsys.readouterr().out


def test_scores_of_unmarked_store(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == "nothing is marked yet; `limner run` draws and marks\n"


def test_unmarked_drawings_are_not_counted_as_failed(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = standing(failures={"unmarked": 3}, coverage=0.4)
    out = printed(capsys, waiting)
    assert "not marked" in out
    assert "failed" not in out
    assert "failures" not in out
    out = printed(capsys, waiting, standing("other", failures={"unmarked": 1, "refusal": 2}))
    assert "failed" in out
    assert "not marked" in out
    assert "2 refusal" in out
    assert "unmarked" not in out


def test_single_painter_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, standing(failures={"missing": 2}, coverage=0.5714))
    assert "exam · judge judge (not examined) · reading careful" in out
    assert "50.0 [50.0, 50.0]" in printed(capsys, standing())
    assert "57%" in out
    assert "2 missing" in out
    assert "failures are left out, never zeros" in out
    (table,) = standing_tables([standing(failures={"missing": 2}, coverage=0.5714)], "genexam")
    assert len(table.notes) <= 3
    assert "asked: variant release, options reference=image" in table.details


def test_several_painters_are_shown_on_common_questions(capsys: pytest.CaptureFixture[str]) -> None:
    compared = beside(questions=3)
    one = standing("a", 50.0, common=numbers(3, 20.0), compared=compared)
    out = printed(capsys, one, standing("b", 60.0, n=3, common=numbers(3, 60.0), compared=compared))
    assert "20.0" in out
    assert "50.0" not in out
    assert "compared on the 3 questions that all painters have; --on all: on their own" in out


def test_each_judge_setup_has_its_own_table() -> None:
    rows = [standing("a"), standing("b", setup={**SETUP, "variant": "paper"}), standing("c")]
    tables = standing_tables(rows, "genexam")
    assert [[row.label for row in table.sheets[0].rows()] for table in tables] == [["a", "c"], ["b"]]
    for table, variant in zip(tables, ("release", "paper"), strict=True):
        assert any(note.startswith(f"asked: variant {variant}") for note in table.details)


def test_undecided_scores_are_shown_as_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    found = standing(value=None, bounds={"strict": (0.0, 75.0)}, decided={"share": 0.4, "met": 0.9})
    out = printed(capsys, found)
    assert "0.0 … 75.0" in out
    assert "40%" in out
    assert "90%" in out
    assert "no score for relaxed, semantic, spelling, readability, logic: this judge decides too few criteria" in out
    assert "least … most: its lowest and its highest possible value" in out
    assert "95%" not in out


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_every_score_is_shown_in_full_at_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [standing(f"a painter with a long name {n}", place=n) for n in (1, 2)]
    out = printed(capsys, *rows)
    assert [name for name in ALL if f" {name}" in out] == list(ALL)
    assert max(map(len, out.splitlines())) <= width
    # Two of the scores have two decimals.
    assert out.count("50.0 [50.0, 50.0]") + out.count("50.00 [50.00, 50.00]") == 2 * len(ALL)


def test_few_questions_give_value_without_interval(capsys: pytest.CaptureFixture[str]) -> None:
    few = Numbers(4, {name: Interval(50.0, None, None, 4) for name in ALL})
    out = printed(capsys, standing(all=few))
    assert "[" not in out
    assert "(n=" not in out
    assert "no interval: fewer than 5 questions are too few for one" in out


def test_ties_share_rank_and_controls_are_not_ranked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [standing("a", place=1), standing("b", place=1), standing("c", place=3), standing("x", control=True)]
    cells = [line.split("│")[1:3] for line in printed(capsys, *rows).splitlines() if line.startswith("│")]
    places = [(place.strip(), name.strip()) for place, name in cells if name.strip()]
    # All six scores need two blocks, which name their rows both.
    assert places == [("=1", "a"), ("=1", "b"), ("3", "c"), ("control", "x")] * 2


def test_line_above_controls_is_explained_unless_the_place_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    told = "below the line: controls, whose correct result is known"
    assert told in printed(capsys, standing("a"), standing("x", control=True))
    assert told not in printed(capsys, standing("a", place=1), standing("x", control=True))
    assert told not in printed(capsys, standing("a"), standing("b"))
    assert told not in printed(capsys, standing("x", control=True))


def test_breakdown_is_one_table_of_categories_by_painters() -> None:
    by = {"level": {"easy": numbers(3, 10.0, ("strict", "relaxed")), "hard": numbers(9, 5.0, ("strict",))}}
    rows = [standing("a", by=by), standing("b", by=by)]
    _, table = standing_tables(rows, "genexam")
    assert table.title == "strict by level"
    (sheet,) = table.sheets
    assert [column.head for column in sheet.columns] == ["n", "a", "b"]
    assert [(row.label, row.cells[0].text) for row in sheet.rows()] == [("easy", "3"), ("hard", "9")]
    _, table = standing_tables(rows, "genexam", score="relaxed")
    assert table.title == "relaxed by level"
    with pytest.raises(UsageError, match="--score beauty: choose from strict"):
        standing_tables(rows, "genexam", score="beauty")


def test_detailed_breakdown_notes_when_limited_to_common_questions() -> None:
    by = {"level": {"easy": numbers(3, 10.0, ("strict",))}}
    rows = [standing("a", by=by, common=numbers(3, 20.0)), standing("b", common=numbers(3, 20.0))]
    assert standing_tables(rows, "genexam", detail=True)[1].title == "a by level · on the 3 common questions"
    assert standing_tables([standing("a", by=by)], "genexam", detail=True)[1].title == "a by level"


def test_notes_appear_only_where_relevant() -> None:
    assert not any("coverage" in note for note in notes([standing()]))
    assert not any("compared" in note for note in notes([standing("a", common=numbers(5, 1.0))]))
    assert not any("asked" in note for note in details([standing(setup={"judge": "human"})]))


def test_csv_contains_every_number() -> None:
    by = {"subject": {"Art, or not": Numbers(2, {"strict": Interval(10.0, 5.0, 15.0, 2)})}}
    unsure = standing("b", None, bounds={"strict": (5.0, 25.0)})
    rows = list(csv.DictReader(io.StringIO(Standings([standing(by=by), unsure], "genexam").to_csv())))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 2 * len(ALL) + 1
    (part,) = [row for row in rows if row["by"]]
    assert (part["category"], part["value"], part["low"], part["high"], part["n"]) == (
        "Art, or not",
        "10.0",
        "5.0",
        "15.0",
        "2",
    )
    assert {row["value"] for row in rows if row["painter"] == "b"} == {""}
    ends = {row["score"]: (row["least"], row["most"]) for row in rows if row["painter"] == "b"}
    assert (ends["strict"], ends["relaxed"]) == (("5.0", "25.0"), ("", ""))
