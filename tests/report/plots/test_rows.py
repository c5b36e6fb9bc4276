"""Plots of rows, maps, spreads, raters, galleries and funnels: their numbers, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from limner import api
from limner.build.recipe import open_recipe
from limner.build.records import StepCount
from limner.core.errors import UsageError
from limner.core.plot_data import Gallery, Tile
from limner.exams import SHIPPED
from limner.report.plots import load_plots, plot
from limner.report.plots.galleries import drawings, gallery
from limner.report.plots.maps import judges
from limner.report.plots.rows import distribution, failures, named_rows, plot_funnel, question_gaps
from limner.report.plots.source import PlotChoice, StoreSource, load_source
from limner.report.plots.style import LINE, compose, look
from limner.report.tables.render import rendered
from limner.report.tables.status import funnel_rows, funnel_table
from limner.scoring import compare
from limner.store import Store
from tests.report.tables import synthetic
from tests.support import picture

Sources = Callable[..., StoreSource]


def test_failures_of_other_exams_are_drawings_without_score(source: Sources) -> None:
    found = source("genexam")
    grid = failures(found)
    standings = {s.painter: s for s in api.scores("genexam", store=found.choice.store)}
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        shares = {kind: cell.value for kind, cell in zip(grid.columns, cells, strict=True)}
        for kind, count in standings[name].failures.items():
            assert shares[kind] == pytest.approx(count / standings[name].expected)
        assert sum(value or 0 for value in shares.values()) == pytest.approx(1 - standings[name].coverage, abs=1e-4)


def test_difference_is_of_best_two_painters_where_control_lacks_questions(source: Sources) -> None:
    found = source("genexam", score="relaxed")
    assert [group.name for group in found.field.beside] == ["control/reference"]
    gaps = question_gaps(found)
    assert (gaps.first, gaps.second) == found.names[:2]
    values = [found.field.values[n]["relaxed"] for n in range(2)]
    assert gaps.mean.value == pytest.approx(values[0] - values[1])
    assert len(gaps.gaps) == len(found.field.questions)


def test_row_height_fits_its_name(matplotlib: None) -> None:
    rows = named_rows(["short", "a-painter-with-a-name-of-two-lines", "other"], 1.3, 0.125)
    assert [name.count("\n") for name in rows.names] == [0, 1, 0]
    assert rows.tall[0] == rows.tall[2] == 1
    assert 2 * LINE < rows.tall[1] * rows.inches < 2 * LINE + 0.05
    assert rows.edges == pytest.approx([-0.5, 0.5, 0.5 + rows.tall[1], 1.5 + rows.tall[1]])
    assert rows.between == rows.edges[1:-1]


def test_distributions_include_every_scored_drawing(source: Sources) -> None:
    found = source("fepbench")
    frame = distribution(found)
    assert frame.scores == ("if (of 1)", "re (of 1)", "sp (of 1)")
    for place, name in enumerate(("if", "re", "sp")):
        for entries, values in zip(found.field.inside, frame.values[place], strict=True):
            own = [entry.scores[name] for entry in entries]
            abstained = any(mark.verdict == "abstain" for entry in entries for mark in entry.marks)
            assert sorted(values) == ([] if abstained else sorted(value for value in own if value is not None))
    assert "1 left out: the judge abstained" in frame.caption
    # GenExam's strict score is all or nothing, so it is no distribution.
    assert distribution(source("genexam")).scores[0] == "relaxed (of 100)"
    assert distribution(source("genexam", score="logic")).scores == ("logic (of 2)",)


@pytest.mark.slow
def test_judges_are_compared_pairwise(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=4, judges=("one", "two", "three"), images=False)
        kappa, order = judges("genexam", PlotChoice(store=store))
        comparison = compare.judges("genexam", store=store)
        assert kappa.rows == ("three", "two")
        assert kappa.columns == ("one", "three")
        marks = comparison.number("one", "two", "kappa", "all")
        painters = comparison.number("one", "two", "spearman", comparison.score.name, unit="painter")
        assert marks is not None
        assert painters is not None
        assert (kappa.cells[1][0].value, order.cells[1][0].value) == (marks.value, painters.value)
        assert kappa.cells[0][1].value is None, "nobody is compared with itself"
        with pytest.raises(UsageError, match="nothing to compare it with; `limner mark genexam --judge NAME`"):
            judges("genexam", PlotChoice(store=store, judges=("one",)))


JUDGES = ("openai/gpt-5", "gemini/gemini-2.5-pro")


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHIPPED)
def test_every_exam_has_painters_by_judges_plot(kind: str, tmp_path: Path, matplotlib: None) -> None:
    with Store(tmp_path / "s") as store:
        synthetic.fill(store, kind, painters=4, questions=12, images=False, judges=JUDGES)
        choice = PlotChoice(store=store)
        grid = load_plots()["by-judge"].frame(kind, choice)
        assert grid.columns == tuple(sorted(JUDGES))
        _, groups = api.groups(kind, store=store)
        name = grid.label.partition(" (")[0]
        rivals = [group for group in groups if not group.control]
        common = set.intersection(*({entry.question.id for entry in group.scored} for group in rivals))
        assert f"n = {len(common)} " in grid.caption
        for group in groups:
            cell = grid.cells[grid.rows.index(group.name)][grid.columns.index(group.evaluator.name)]
            inside = [entry for entry in group.scored if entry.question.id in common]
            if cell.value is not None:
                rows = [entry.row for entry in inside]
                assert cell.value == pytest.approx(store_mean(kind, rows, name))
        plot("by-judge", [kind], tmp_path / "a.svg", choice, "single")


def store_mean(kind: str, rows: list, name: str) -> float:  # type: ignore[type-arg]
    from limner import exams

    return exams.kind(kind).protocol.summary(rows)[name]


def test_judge_comparison_with_single_judge_is_refused(filled: dict[str, Store]) -> None:
    with pytest.raises(UsageError, match="only fake/judge has marked; `limner mark genexam --judge NAME`"):
        load_plots()["by-judge"].frame("genexam", PlotChoice(store=filled["genexam"]))


def test_question_plot_shows_drawing_of_every_painter(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=3, questions=6)
        check_tiles(load_source("genexam", PlotChoice(store=store)), store)


def check_tiles(found: StoreSource, store: Store) -> None:
    frame = drawings(found)
    assert frame.columns == ("reference", *found.names)
    (line,) = frame.tiles
    for name, tile, entries in zip(frame.columns[1:], line[1:], found.field.inside, strict=True):
        entry = next((entry for entry in entries if entry.question.id == frame.title), None)
        if entry is None:
            assert tile == Tile(None, ("not drawn or not marked",)), name
        else:
            assert tile.image == store.blobs.get(entry.drawing.image or "")
            value = entry.scores[found.score.name]
            assert tile.words[0] == f"{found.score.name} {'–' if value is None else f'{value:.1f}'}"
            parts = [words.partition(" ")[0] for words in tile.words[1:]]
            assert parts == ["semantic", "spelling", "readability", "logic"]


def test_pictures_keep_their_shape_and_broken_ones_are_reported(matplotlib: None) -> None:
    good = [Tile(picture(n, size=(40, 20)), ("a",)) for n in range(7)]
    tiles = (*good, Tile(b"no picture"), Tile(None))
    frame = Gallery(("",), tuple(f"painter {n}" for n in range(9)), (tiles,), "Q", "caption")
    with look():
        figure = compose([gallery(frame, "double")], "double")
    axes = [panel for part in figure.subfigs for panel in part.axes]
    assert len(axes) == 9
    for panel in axes[:7]:
        box = panel.get_window_extent()
        assert box.width / box.height == pytest.approx(2.0, rel=0.01)
    captions = [[text.get_text() for text in panel.texts] for panel in axes[7:]]
    assert all("no image" in words for words in captions)


def counts() -> list[StepCount]:
    recipe = open_recipe("exam")
    found = [StepCount(place.name, 20, 20 - n) for n, place in enumerate(recipe.places)]
    found[4].dropped["near-duplicate"] = 3
    found[9].failed["unreadable"] = 2
    found[16].waiting = 4
    return found


@pytest.mark.slow
def test_funnel_is_plotted_beside_paper_funnel(tmp_path: Path) -> None:
    recipe = open_recipe("exam")
    rows = funnel_rows(recipe, counts())
    plot_funnel("school", recipe, rows, tmp_path / "funnel.png")
    with Image.open(tmp_path / "funnel.png") as image:
        image.load()
        assert image.width > image.height > 300
    plot_funnel("school", recipe, rows, tmp_path / "a.svg")
    plot_funnel("school", recipe, rows, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(UsageError, match="must end in one of"):
        plot_funnel("school", recipe, rows, tmp_path / "funnel.doc")


def test_funnel_table_shows_reasons_and_both_funnels() -> None:
    text = rendered(funnel_table("school", open_recipe("exam"), counts()), "md")
    for words in ("3 near-duplicate", "2 failed (unreadable)", "4 wait for review",
                  "40,000 pictures with their text → 6,500 after filters and ratings → 1,000 after review",
                  "this build: 18 pictures with their text"):  # fmt: skip
        assert words in text, words
