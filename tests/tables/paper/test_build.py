"""Every table from a made-up store: who stands where, with what, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.core.errors import UsageError
from limner.store import Store, schema
from limner.store.certificates import CERTIFICATE, save_certificate
from limner.tables.model import MISSING, Table, TableRow
from limner.tables.paper import TableChoice, build, find
from tests.tables import synthetic
from tests.tables.shipped import LAYOUTS

KEYS = list(LAYOUTS)
PAINTERS = [painter.name for painter in synthetic.cast(9)]
UNDECIDED = PAINTERS[synthetic.ABSTAINS]
OF_A_BUILD = "mmmg:table4"
WITH_PEOPLE = {"aibench:table2", "fepbench:table4", "genexam:table3a", "genexam:table3b", "genexam:table5"}
"""Their rows need people or several judges; see test_agreements.py."""
WITH_PAINTERS = [
    key
    for key, layout in LAYOUTS.items()
    if layout.rows == "painters" and layout.only is None and not layout.apart and key not in WITH_PEOPLE
]


def own(table: Table) -> list[TableRow]:
    return [line for sheet in table.flat for line in sheet.rows() if not line.published]


_MADE: dict[tuple[str, str], Table] = {}


def made(filled: dict[str, Store], key: str, **choice: Any) -> Table:
    """The table from the made-up store of its exam; made once, for it takes a while."""
    layout, name = find(key), (key, repr(choice))
    if name not in _MADE:
        _MADE[name] = build(layout, filled[layout.exam], TableChoice(**choice))
    return _MADE[name]


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in KEYS if key not in {*WITH_PEOPLE, OF_A_BUILD}])
def test_every_table_has_rows_of_the_store(filled: dict[str, Store], key: str) -> None:
    table = made(filled, key)
    assert own(table)
    for line in own(table):
        # Of the painter whose marks are not all there, a score that no bounds are known of has nothing to show.
        assert any(cell.text != MISSING for cell in line.cells) or line.label == UNDECIDED, line.label
    for sheet in table.sheets:
        assert len({column.path for column in sheet.columns}) == len(sheet.columns) or find(key).turn == "columns"
        assert all(len(line.cells) == len(sheet.columns) for line in sheet.rows())


@pytest.mark.slow
@pytest.mark.parametrize("key", ["fepbench:table4", "genexam:table3a", "genexam:table3b", "genexam:table5"])
def test_without_people_there_is_nothing_of_the_store(filled: dict[str, Store], key: str) -> None:
    assert own(made(filled, key)) == []


@pytest.mark.parametrize("key", WITH_PAINTERS)
def test_every_painter_has_its_rows(filled: dict[str, Store], key: str) -> None:
    table = made(filled, key)
    sections = len(find(key).sections) or 1
    ways = 2 if key.startswith("aibench") else 1
    for painter in [*PAINTERS, "control/reference"]:
        rows = [line for line in own(table) if line.about["painter"] == painter]
        assert len(rows) == sections * ways, painter


def test_a_stores_rows_come_after_the_published_ones_best_first(filled: dict[str, Store]) -> None:
    (sheet,) = made(filled, "genexam:table2").flat
    for group in sheet.blocks:
        sides = [line.published for line in group.rows]
        assert sides == sorted(sides, reverse=True)
        values = [line.cells[-1].value for line in group.rows if not line.published]
        known_values = [value for value in values if value is not None]
        assert known_values == sorted(known_values, reverse=True)


@pytest.mark.slow
def test_without_the_published_figures(filled: dict[str, Store]) -> None:
    table = made(filled, "genexam:table2", published=False)
    assert not [line for sheet in table.flat for line in sheet.rows() if line.published]
    assert not [said for said in table.caption if "Published" in said]


def test_without_a_store() -> None:
    table = build(find("genexam:table2"))
    assert not own(table)
    assert not table.footnotes
    assert len(table.caption) == 4  # Title, paper, two release boards.


@pytest.mark.slow
def test_intervals_hold_the_number_and_can_be_left_out(filled: dict[str, Store]) -> None:
    for line in own(made(filled, "genexam:table2")):
        for cell in line.cells:
            if cell.low is not None and cell.high is not None and cell.value is not None:
                assert float(cell.low) <= cell.value <= float(cell.high)
    bare = own(made(filled, "genexam:table2", intervals=False))
    assert all(cell.low is None and cell.high is None for line in bare for cell in line.cells)


@pytest.mark.slow
def test_the_caption_names_judge_and_reading(filled: dict[str, Store]) -> None:
    (said,) = [said for said in made(filled, "genexam:table2", reading="paper").caption if said.startswith("This")]
    asked = "judge fake/judge (not examined), reading paper"
    assert said.startswith(f"This store: exam genexam, 64 of its 80 questions scored, {asked}")


def test_the_caption_tells_when_the_judge_was_examined(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=1, questions=2, faults=False)
    with store.reading() as connection:
        (setup,) = set(connection.scalars(sa.select(schema.markings.c.setup)))
    day = save_certificate(store, setup, "genexam", {"kind": CERTIFICATE}).day
    assert f", judge fake/judge (examined {day}), reading careful" in told(build(find("genexam:table2"), store))


def told(table: Table) -> str:
    (said,) = [said for said in table.caption if said.startswith("This store")]
    return said


@pytest.mark.slow
def test_the_caption_tells_the_questions_scored(filled: dict[str, Store], store: Store) -> None:
    common, each = (told(made(filled, "genexam:table2", on=on)) for on in ("common", "all"))
    assert "64 of its 80 questions scored" in common
    assert "; all painters on the same questions;" in common
    assert "74 to 80 of its 80 questions scored" in each
    assert "; each painter on its own questions;" in each
    synthetic.fill(store, "genexam", painters=1, questions=8, faults=False)
    whole = build(find("genexam:table2"), store)
    asked = "judge fake/judge (not examined), reading careful"
    assert told(whole).startswith(f"This store: exam genexam, 8 questions, {asked}; [low")
    store.write(lambda connection: connection.exec_driver_sql("DELETE FROM markings WHERE id > '4'"))
    left = len(_scored_questions(store))
    assert 0 < left < 8
    assert f"{left} of its 8 questions scored" in told(build(find("genexam:table2"), store))
    assert told(build(find("genexam:table4"), store)) == f"This store: exam genexam, {left} of its 8 questions scored."


def _scored_questions(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.scalars(sa.select(schema.markings.c.drawing)))


@pytest.mark.slow
def test_the_caption_counts_the_questions_the_table_is_about(filled: dict[str, Store]) -> None:
    table = made(filled, "worldgenbench:table1", on="all")
    assert "26 to 28 of this table's 28 questions scored (the exam has 56)" in told(table)
    biology = build(find("mmmg:by-discipline"), filled["mmmg"], TableChoice(section="Biology"))
    assert "of this table's 6 questions scored (the exam has 60)" in told(biology)


def test_rows_marked_otherwise_than_in_the_paper_are_footnoted(filled: dict[str, Store]) -> None:
    table = made(filled, "genexam:table2")
    (note,) = {line.notes for line in own(table) if line.about["painter"] not in (UNDECIDED, "control/reference")}
    said = table.footnotes[note[0] - 1]
    for words in (
        "judge fake/judge instead of openai/gpt-5-2025-08-07",
        "reading careful instead of paper",
        "variant release instead of paper",
        "no reasoning_effort=low",
        "prompts in another wording (0123)",
        "64 questions where the paper has 1000",
    ):
        assert words in said


def test_coverage_is_told_where_something_is_missing(filled: dict[str, Store]) -> None:
    table = made(filled, "genexam:table2")
    partly = [line for line in own(table) if line.covered]
    assert partly
    assert all(line.coverage is not None and line.coverage < 1 for line in partly)
    assert any(note.startswith("Covered:") for note in table.notes)


def test_painters_are_compared_on_common_questions(filled: dict[str, Store]) -> None:
    table = made(filled, "genexam:table2")
    assert any("compared on the" in note for note in table.notes)
    painters = [line for line in own(table) if line.label in PAINTERS]
    (n,) = {line.about["n"] for line in painters}
    (control,) = [line for line in own(table) if line.label == "control/reference"]
    assert int(control.about["n"]) < int(n), "a control that lacks some of the questions does not cut them"
    each = [line for line in own(made(filled, "genexam:table2", on="all")) if line.label in PAINTERS]
    assert all(int(line.about["n"]) >= int(n) for line in each)
    assert len({line.about["n"] for line in each}) > 1
    one = made(filled, "genexam:table2", which={"painters": ["BAGEL"]})
    assert not any("compared on" in note for note in one.notes)


def test_what_is_not_decided_is_shown_as_bounds_and_not_ranked(filled: dict[str, Store]) -> None:
    rows = [line for line in own(made(filled, "genexam:table2")) if line.label == UNDECIDED]
    bounded = [cell for line in rows for cell in line.cells if cell.least is not None]
    assert bounded
    for cell in bounded:
        assert cell.text == f"{cell.least} … {cell.most}"
        assert (cell.value, cell.rank) == (None, 0)


@pytest.mark.slow
def test_only_some_painters_or_judges(filled: dict[str, Store], tmp_path: Path) -> None:
    assert {line.label for line in own(made(filled, "genexam:table2", which={"painters": ["BAGEL", "Janus-Pro"]}))} == {
        "BAGEL",
        "Janus-Pro",
    }
    with pytest.raises(UsageError, match="nobody"):
        made(filled, "genexam:table2", which={"painters": ["nobody"]})
    with Store(tmp_path / "two") as store:
        synthetic.fill(store, "genexam", painters=2, judges=("one", "two"), images=False)
        both = own(build(find("genexam:table2"), store))
        assert {line.label.partition(" · ")[2] for line in both} == {"one", "two"}
        assert len(both) == 4
        alone = own(build(find("genexam:table2"), store, TableChoice(which={"judges": ["one"]})))
        assert [line.label for line in alone] == ["openai/gpt-image-1.5", "openai/gpt-image-1"]
        with pytest.raises(UsageError, match="three"):
            build(find("genexam:table2"), store, TableChoice(which={"judges": ["three"]}))


def test_which_of_several_exams(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        synthetic.fill(store, "mmmg", painters=1, images=False)
        # There is nothing of this kind: the published figures stand alone.
        assert not own(build(find("genexam:table2"), store))
        assert own(build(find("mmmg:table2"), store, TableChoice(exam="mmmg")))
        with pytest.raises(UsageError, match="no exam 'other' of kind mmmg; it has: mmmg"):
            build(find("mmmg:table2"), store, TableChoice(exam="other"))


def test_strategies_stand_beside_the_plain_way(filled: dict[str, Store]) -> None:
    table = made(filled, "aibench:table4")
    (sheet,) = table.flat
    (group,) = [group for group in sheet.blocks if group.title == "openai/gpt-image-1"]
    assert [line.label for line in group.rows] == ["openai/gpt-image-1", "openai/gpt-image-1 + rewrite"]
    assert sheet.columns[-1].head == "$ per drawing"
    # Every group has a best of its own, as in the paper.
    assert {cell.rank for line in group.rows for cell in line.cells} == {0, 1}
    assert not any(cell.rank for line in group.rows for cell in line.cells[-1:])


def test_judges_as_rows(filled: dict[str, Store]) -> None:
    (line,) = own(made(filled, "genexam:table4"))
    assert line.label == "fake/judge"
    assert [cell.text for cell in line.cells[:6]] == ["Img", *[MISSING] * 5]
    assert float(line.cells[6].text) == pytest.approx(0.012, rel=0.1)
    assert line.cells[7].text == MISSING, "how long it took elsewhere is not known"


def test_judges_as_lines_of_their_own_sheet(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        synthetic.fill(store, "mmmg", painters=3, questions=24, judges=("one", "two"), images=False, faults=False)
        table = build(find("mmmg:table17"), store)
    published, mine = table.sheets
    assert (published.title, mine.title) == ("As published", "This store")
    assert [line.label for line in mine.rows()] == ["one", "two"]
    assert {column.head for column in mine.columns} == set(PAINTERS[:3])
    assert len({line.cells for line in mine.rows()}) == 2


def test_only_the_references_where_the_paper_has_only_those(filled: dict[str, Store]) -> None:
    (line,) = own(made(filled, "mmmg:table16"))
    assert line.label == "control/reference"
    titles = [group.title for group in made(filled, "mmmg:table16").sheets[0].blocks]
    assert titles[0] == "Reference images"
    assert titles[1].startswith("control/reference")


def test_references_are_not_ranked(filled: dict[str, Store]) -> None:
    (sheet,) = made(filled, "aibench:table3").flat
    first = sheet.blocks[0]
    labels = {"Original Image", "control/reference", "control/reference + rewrite"}
    assert {line.label for line in first.rows} == labels
    assert not any(cell.rank for line in first.rows for cell in line.cells)


def test_every_order_names_a_column() -> None:
    for key, layout in LAYOUTS.items():
        if layout.order is not None:
            assert layout.order in {column.path for sheet in build(layout).flat for column in sheet.columns}, key


def test_a_painter_with_nothing_does_not_keep_the_others_from_being_compared(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=2, images=False, faults=False)
    theirs = "SELECT id FROM drawings WHERE painter = 'openai/gpt-image-1'"
    failed = f"UPDATE markings SET status = 'failed', fault = 'unreadable' WHERE drawing IN ({theirs})"
    store.write(lambda connection: connection.exec_driver_sql(failed))
    lines = {line.label: line for line in own(build(find("genexam:table2"), store))}
    assert {cell.text for cell in lines["openai/gpt-image-1"].cells} == {MISSING}
    assert lines["openai/gpt-image-1"].covered == "0% covered"
    assert lines["openai/gpt-image-1.5"].about["n"] == "13"


EFFORTS = ("low", "medium", "high")
INPUTS = {"image": "Img", "none": "none"}


def gpt5(effort: str | None, reference: str = "image") -> dict[str, Any]:
    args = {"reasoning_effort": effort} if effort else {}
    return {"judge": "openai/gpt-5", "model": "gpt-5", "args": args, "options": {"reference": reference}}


@pytest.mark.slow
def test_one_judge_asked_in_several_ways_has_a_row_for_each(store: Store) -> None:
    ways = [gpt5(effort, reference) for effort in EFFORTS for reference in INPUTS]
    synthetic.fill(store, "genexam", painters=2, judges=ways, images=True, faults=False)
    table = build(find("genexam:table4"), store)
    lines = {line.label: line for line in own(table)}
    assert len(lines) == 6
    for effort in EFFORTS:
        for reference, head in INPUTS.items():
            line = lines[f"gpt-5 · reference={reference} reasoning_effort={effort}"]
            assert line.cells[0].text == head
            assert line.cells[6].text == "0.0120"
            assert 1 <= float(line.cells[7].text) <= 9
            (note,) = line.notes
            told = table.footnotes[note - 1]
            assert (f"reasoning_effort={effort} instead of low" in told) == (effort != "low")
            assert ("reference=none instead of image" in told) == (reference == "none")
            assert "prompts in another wording (0123); 13 questions where the paper has 1000" in told
    few = build(find("genexam:table4"), store, TableChoice(which={"judges": ["openai/gpt-5?reasoning_effort=low"]}))
    assert {line.label.rpartition("=")[2] for line in own(few)} == {"low"}
    few = build(find("genexam:table4"), store, TableChoice(which={"options": {"reference": "none"}}))
    assert len(own(few)) == 3


def test_seconds_are_those_of_the_calls(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=1, faults=False)

    def call(connection: sa.Connection) -> None:
        at = {"created": 0.0, "updated": 0.0, "tries": 2, "accepted": 2}
        row = {"key": "k", "kind": "chat", "target": "x", "request": {}, "status": "done"}
        connection.execute(sa.insert(schema.calls), row | at)
        # Two tries at one call; the time that the marking itself has is that of waiting.
        for n, seconds in ((1, 20.0), (2, 22.0)):
            attempt = {"call": "k", "n": n, "started": 0.0, "seconds": seconds}
            connection.execute(sa.insert(schema.attempts), attempt)
        connection.execute(sa.update(schema.markings).values(replies=[["marks", "k"]], seconds=0.001))

    store.write(call)
    assert own(build(find("genexam:table4"), store))[0].cells[7].text == "42"
    store.write(lambda connection: connection.execute(sa.update(schema.markings).values(origin="import")))
    assert own(build(find("genexam:table4"), store))[0].cells[7].text == MISSING


@pytest.mark.slow
def test_one_judge_asked_in_two_ways_fills_two_columns(store: Store) -> None:
    ways = [
        {"judge": "openai/o3", "model": "o3", "args": args, "variant": "free-text"}
        for args in ({}, {"reasoning_effort": "high"})
    ]
    synthetic.fill(store, "mmmg", painters=3, questions=24, judges=ways, faults=False)
    table = build(find("mmmg:table17"), store)
    mine = table.sheets[1]
    lines = {line.label: line for line in mine.rows()}
    assert set(lines) == {"o3", "o3 · reasoning_effort=high"}
    assert all(cell.value is not None for line in lines.values() for cell in line.cells)
    assert lines["o3"].cells != lines["o3 · reasoning_effort=high"].cells
    plain, high = (table.footnotes[line.notes[0] - 1] for line in lines.values())
    assert "no reasoning_effort=high" in plain
    assert "reasoning_effort" not in high
    assert "judge" not in high
    # What is the painters' own stands at them.
    assert {table.footnotes[column.notes[0] - 1] for column in mine.columns} == {
        "seed 0 instead of 42; 24 questions where the paper has 4456"
    }


def test_coverage_is_of_the_whole_exam_for_imports_too(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=1, questions=50, images=False, faults=False)
    fewer = "DELETE FROM {} WHERE {} IN (SELECT id FROM drawings WHERE question_id NOT LIKE '%-1_')"
    store.write(lambda connection: connection.exec_driver_sql(fewer.format("markings", "drawing")))
    store.write(lambda connection: connection.exec_driver_sql(fewer.format("drawings", "id")))
    made_up = build(find("genexam:table2"), store)
    (line,) = own(made_up)
    assert line.covered == "20% covered"
    assert any(said.startswith("This store: exam genexam, 10 of its 50 questions scored") for said in made_up.caption)
    assert "10 questions where the paper has 1000" in made_up.footnotes[0]


def test_a_painter_whose_drawings_all_failed_has_its_row(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=2, faults=False)
    theirs = "painter = 'openai/gpt-image-1'"

    def fail(connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"DELETE FROM markings WHERE drawing IN (SELECT id FROM drawings WHERE {theirs})")
        connection.exec_driver_sql(f"UPDATE drawings SET status='failed', fault='refusal' WHERE {theirs}")

    store.write(fail)
    table = build(find("genexam:table2"), store)
    lines = {line.label: line for line in own(table)}
    assert {cell.text for cell in lines["openai/gpt-image-1"].cells} == {MISSING}
    assert lines["openai/gpt-image-1"].covered == "0% covered"
    assert lines["openai/gpt-image-1.5"].about["n"] == "13"
    assert "left out, having no score: openai/gpt-image-1 (13 refusal)." in table.notes
