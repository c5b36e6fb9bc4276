"""Every table from a made-up store: who stands where, with what, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner import api
from limner.core.errors import UsageError
from limner.report.paper import TableChoice, build, find
from limner.report.plots.source import PlotChoice, load_source
from limner.report.site.inventory import Inventory
from limner.report.tables.model import MISSING, Table, TableRow
from limner.store import Store, schema
from limner.store.markings import CERTIFICATE, save_certificate
from tests.report.tables import synthetic
from tests.report.tables.shipped import LAYOUTS

KEYS = list(LAYOUTS)
PAINTERS = [painter.name for painter in synthetic.cast(9)]
UNDECIDED = PAINTERS[synthetic.ABSTAINS]
OF_A_BUILD = "mmmg:table4"
WITH_PEOPLE = {"aibench:table2", "fepbench:table4", "genexam:table3a", "genexam:table3b", "genexam:table5"}
"""Their rows need people or several judges; see test_agreements.py."""


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
def test_every_table_includes_store_rows(filled: dict[str, Store], key: str) -> None:
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
def test_store_rows_are_absent_without_human_ratings(filled: dict[str, Store], key: str) -> None:
    assert own(made(filled, key)) == []


def test_store_rows_follow_published_rows_best_first(filled: dict[str, Store]) -> None:
    (sheet,) = made(filled, "genexam:table2").flat
    for group in sheet.blocks:
        sides = [line.published for line in group.rows]
        assert sides == sorted(sides, reverse=True)
        values = [line.cells[-1].value for line in group.rows if not line.published]
        known_values = [value for value in values if value is not None]
        assert known_values == sorted(known_values, reverse=True)


def test_table_without_store_has_published_rows_only() -> None:
    table = build(find("genexam:table2"))
    assert not own(table)
    assert not table.footnotes
    assert len(table.caption) == 2  # Title, paper.
    assert len(build(find("genexam:table2"), choice=TableChoice(full=True)).caption) == 4  # And two release boards.


def test_only_rows_of_one_judge_on_the_same_questions_are_ranked_together(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=3, questions=12, judges=("one", "two"), images=False, faults=False)
    table = build(find("genexam:table2"), store)
    (sheet,) = table.sheets
    (whole,) = [place for place, column in enumerate(sheet.columns) if column.path == "Overall · Rel"]
    for judge in ("one", "two", None):
        rows = [row for row in sheet.rows() if row.about.get("judge") == judge]
        best = max(rows, key=lambda row: row.cells[whole].value or 0.0)
        assert [row for row in rows if row.cells[whole].rank == 1] == [best]


def test_concise_table_has_whole_exam_first_and_intervals_only_there(filled: dict[str, Store]) -> None:
    (sheet,) = made(filled, "genexam:table2").sheets
    assert [column.path for column in sheet.columns[:3]] == ["Overall · Str", "Overall · Rel", "Math · Str"]
    ended = {place for row in sheet.rows() for place, cell in enumerate(row.cells) if cell.low is not None}
    assert ended == {0, 1}
    (flat,) = made(filled, "genexam:table2").flat
    assert {place for row in flat.rows() for place, cell in enumerate(row.cells) if cell.low is not None} > {0, 1}


@pytest.mark.slow
def test_intervals_contain_value_and_can_be_omitted(filled: dict[str, Store]) -> None:
    for line in own(made(filled, "genexam:table2")):
        for cell in line.cells:
            if cell.low is not None and cell.high is not None and cell.value is not None:
                assert float(cell.low) <= cell.value <= float(cell.high)
    bare = own(made(filled, "genexam:table2", intervals=False))
    assert all(cell.low is None and cell.high is None for line in bare for cell in line.cells)


def test_caption_shows_when_judge_was_examined(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=1, questions=2, faults=False)
    with store.reading() as connection:
        (setup,) = set(connection.scalars(sa.select(schema.markings.c.setup)))
    day = save_certificate(store, setup, "genexam", {"kind": CERTIFICATE, "verdict": "clear"}).day
    assert f", judge fake/judge (examined {day}: clear), reading careful" in told(build(find("genexam:table2"), store))


def told(table: Table) -> str:
    (said,) = [said for said in table.caption if said.startswith("This store")]
    return said


@pytest.mark.slow
def test_caption_shows_number_of_scored_questions(filled: dict[str, Store], store: Store) -> None:
    common, each = (told(made(filled, "genexam:table2", on=on)) for on in ("common", "all"))
    assert "64 of its 80 questions scored" in common
    assert "; all painters on the same questions." in common
    assert "74 to 80 of its 80 questions scored" in each
    assert "; each painter on its own questions." in each
    synthetic.fill(store, "genexam", painters=1, questions=8, faults=False)
    whole = build(find("genexam:table2"), store)
    asked = "judge fake/judge (not examined), reading careful"
    assert told(whole).startswith(f"This store: exam genexam, 8 questions, {asked}.")
    store.write(lambda connection: connection.exec_driver_sql("DELETE FROM markings WHERE id > '4'"))
    left = len(_scored_questions(store))
    assert 0 < left < 8
    assert f"{left} of its 8 questions scored" in told(build(find("genexam:table2"), store))
    assert told(build(find("genexam:table4"), store)) == f"This store: exam genexam, {left} of its 8 questions scored."


def _scored_questions(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.scalars(sa.select(schema.markings.c.drawing)))


def test_rows_that_differ_from_paper_setup_are_footnoted(filled: dict[str, Store]) -> None:
    table = made(filled, "genexam:table2")
    (note,) = {line.notes for line in own(table) if line.about["painter"] not in (UNDECIDED, "control/reference")}
    footnote = table.footnotes[note[0] - 1]
    for words in (
        "judge fake/judge instead of openai/gpt-5-2025-08-07",
        "reading careful instead of paper",
        "variant release instead of paper",
        "no reasoning_effort=low",
        "prompts in another wording",
        "64 questions where the paper has 1000",
    ):
        assert words in footnote


def test_undecided_scores_are_shown_as_bounds_and_not_ranked(filled: dict[str, Store]) -> None:
    rows = [line for line in own(made(filled, "genexam:table2")) if line.label == UNDECIDED]
    bounded = [cell for line in rows for cell in line.cells if cell.least is not None]
    assert bounded
    for cell in bounded:
        assert cell.text == f"{cell.least} … {cell.most}"
        assert (cell.value, cell.rank) == (None, 0)


@pytest.mark.slow
def test_table_can_be_limited_to_painters_or_judges(filled: dict[str, Store], tmp_path: Path) -> None:
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


def test_exam_can_be_chosen_and_unknown_exam_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        synthetic.fill(store, "mmmg", painters=1, images=False)
        # There is nothing of this kind: the published figures stand alone.
        assert not own(build(find("genexam:table2"), store))
        assert own(build(find("mmmg:table2"), store, TableChoice(exam="mmmg")))
        with pytest.raises(UsageError, match="no exam 'other' of kind mmmg; it has: mmmg"):
            build(find("mmmg:table2"), store, TableChoice(exam="other"))


def test_strategies_are_grouped_with_plain_painter(filled: dict[str, Store]) -> None:
    table = made(filled, "aibench:table4")
    (sheet,) = table.flat
    (group,) = [group for group in sheet.blocks if group.title == "openai/gpt-image-1"]
    assert [line.label for line in group.rows] == ["openai/gpt-image-1", "openai/gpt-image-1 + rewrite"]
    assert sheet.columns[-1].head == "$ per drawing"
    # Every group has a best of its own, as in the paper.
    assert {cell.rank for line in group.rows for cell in line.cells} == {0, 1}
    assert not any(cell.rank for line in group.rows for cell in line.cells[-1:])


def test_judges_are_rows(filled: dict[str, Store]) -> None:
    (line,) = own(made(filled, "genexam:table4"))
    assert line.label == "fake/judge"
    assert [cell.text for cell in line.cells[:6]] == ["Img", *[MISSING] * 5]
    assert float(line.cells[6].text) == pytest.approx(0.012, rel=0.1)
    assert line.cells[7].text == MISSING, "how long it took elsewhere is not known"


def test_store_judges_are_rows_of_separate_sheet(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        synthetic.fill(store, "mmmg", painters=3, questions=24, judges=("one", "two"), images=False, faults=False)
        table = build(find("mmmg:table17"), store)
    published, mine = table.sheets
    assert (published.title, mine.title) == ("As published", "This store")
    assert [line.label for line in mine.rows()] == ["one", "two"]
    assert {column.head for column in mine.columns} == set(PAINTERS[:3])
    assert len({line.cells for line in mine.rows()}) == 2


def test_table_of_reference_images_omits_other_painters(filled: dict[str, Store]) -> None:
    (line,) = own(made(filled, "mmmg:table16"))
    assert line.label == "control/reference"
    titles = [group.title for group in made(filled, "mmmg:table16").sheets[0].blocks]
    assert titles[0] == "Reference images"
    assert titles[1].startswith("control/reference")


EFFORTS = ("low", "medium", "high")
INPUTS = {"image": "Img", "none": "none"}


def gpt5(effort: str | None, reference: str = "image") -> dict[str, Any]:
    args = {"reasoning_effort": effort} if effort else {}
    return {"judge": "openai/gpt-5", "model": "gpt-5", "args": args, "options": {"reference": reference}}


@pytest.mark.slow
def test_each_setup_of_one_judge_has_its_own_row(store: Store) -> None:
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
            footnote = table.footnotes[note - 1]
            assert (f"reasoning_effort={effort} instead of low" in footnote) == (effort != "low")
            assert ("reference=none instead of image" in footnote) == (reference == "none")
            assert footnote.endswith("prompts in another wording")
    few = build(find("genexam:table4"), store, TableChoice(which={"judges": ["openai/gpt-5?reasoning_effort=low"]}))
    assert {line.label.rpartition("=")[2] for line in own(few)} == {"low"}
    few = build(find("genexam:table4"), store, TableChoice(which={"options": {"reference": "none"}}))
    assert len(own(few)) == 3


def test_coverage_refers_to_whole_exam_for_imported_drawings(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=1, questions=50, images=False, faults=False)
    fewer = "DELETE FROM {} WHERE {} IN (SELECT id FROM drawings WHERE question_id NOT LIKE '%-1_')"
    store.write(lambda connection: connection.exec_driver_sql(fewer.format("markings", "drawing")))
    store.write(lambda connection: connection.exec_driver_sql(fewer.format("drawings", "id")))
    made_up = build(find("genexam:table2"), store)
    (line,) = own(made_up)
    assert line.covered == "20% covered"
    assert any(text.startswith("This store: exam genexam, 10 of its 50 questions scored") for text in made_up.caption)
    assert "10 questions where the paper has 1000" in made_up.footnotes[0]


def test_row_shows_settings_and_its_name_omits_those_of_the_preset(store: Store) -> None:
    synthetic.fill(store, "fepbench", painters=2, questions=4)
    size = {"square": "1920x1920", "landscape": "1920x1080", "portrait": "1080x1920"}
    options = {"size": size, "num_inference_steps": 50, "guidance_scale": 5.0, "tile": 3}
    one, other = PAINTERS[:2]
    drawings = schema.drawings
    drawn = sa.update(drawings).where(drawings.c.painter == one).values(options=options, width=1920, height=1080)
    store.write(lambda connection: connection.execute(drawn))
    table = build(find("fepbench:table6"), store)
    assert "exam fepbench, 3 of its 4 questions scored" in " ".join(table.caption)
    rows = {line.label: [cell.text for cell in line.cells[1:]] for line in own(table)}
    assert rows[f"{one}?tile=3"] == ["1920x1080", "50", "5.0", "not set"]
    assert rows[other][1:] == ["not set", "not set", "not set"]
    assert len(rows) == 2
    source = load_source("fepbench", PlotChoice(store=store))
    assert set(source.names) == set(rows)
    assert {row.name for row in api.scores("fepbench", store=store)} == set(rows)
    assert {row.name for row in api.scores("fepbench", store=store, painters=[one])} == {f"{one}?tile=3"}
    (comparison,) = api.compare("fepbench", store=store)
    assert {place.name for place in comparison.places} == set(rows)
    assert {comparison.pairs[0].first, comparison.pairs[0].second} == set(rows)
    (left,) = api.scores("fepbench", store=store, without=[f"{one}?tile=3"])
    assert left.name == other
    assert {row.name for row in Inventory(store, "fepbench").painters} == set(rows)


def test_row_keeps_its_whole_name_where_the_short_one_is_taken(store: Store) -> None:
    synthetic.fill(store, "fepbench", painters=2, questions=4)
    drawings = schema.drawings
    one, other = PAINTERS[:2]
    renamed = {"painter": one, "options": {"num_inference_steps": 50}}
    store.write(
        lambda connection: connection.execute(sa.update(drawings).where(drawings.c.painter == other).values(renamed))
    )
    labels = {line.label for line in own(build(find("fepbench:table2"), store))}
    assert labels == {one, f"{one}?num_inference_steps=50"}


def test_rows_of_two_presets_show_the_options_that_differ(store: Store) -> None:
    synthetic.fill(store, "fepbench", painters=2, questions=4)
    drawings = schema.drawings
    one, other = PAINTERS[:2]
    plain: dict[str, Any] = {"regime": "both", "tile": 3}
    drawn = ((one, plain), (other, plain | {"num_inference_steps": 50, "guidance_scale": 5.0}))
    changes = [
        sa.update(drawings).where(drawings.c.painter == name).values(painter=one, options=options)
        for name, options in drawn
    ]
    store.write(lambda connection: [connection.execute(change) for change in changes])
    names = {row.name for row in api.scores("fepbench", store=store)}
    assert names == {f"{one}?tile=3", f"{one}?guidance_scale=5.0&num_inference_steps=50&tile=3"}
    assert {line.label for line in own(build(find("fepbench:table2"), store))} == names
