"""The numbers behind the plots, computed once more by other means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import api
from limner.core.errors import UsageError
from limner.core.plot_data import front
from limner.plots import frames
from limner.plots.source import Choice, Source, load
from limner.scoring import Entry, compare
from limner.scoring.stats import LEAST
from limner.store import Store
from tests.tables import synthetic

Sources = Callable[..., Source]


def inside(source: Source, painter: str) -> tuple[Entry, ...]:
    return source.field.inside[source.names.index(painter)]


def test_categories_are_plain_means_with_intervals_around_them(source: Sources) -> None:
    found = source("genexam", score="relaxed")
    grid = frames.categories(found)
    assert grid.rows == found.names
    assert "Computer Science" in grid.columns
    assert (grid.label, grid.top) == ("relaxed (of 100)", 100)
    for row, name in enumerate(grid.rows):
        for column, subject in enumerate(grid.columns):
            cell = grid.cells[row][column]
            own = [e for e in inside(found, name) if e.question.tags["subject"].replace("_", " ") == subject]
            values = [entry.scores["relaxed"] for entry in own]
            if None not in values:
                assert cell.value == pytest.approx(mean(value for value in values if value is not None))
                assert cell.n == len(own)
                if cell.n < LEAST:
                    assert (cell.low, cell.high) == (None, None)
                else:
                    assert cell.low <= cell.value <= cell.high  # type: ignore[operator]
            else:
                assert cell.value is None
                assert cell.least is not None
                assert cell.most is not None
                settled = [value for value in values if value is not None]
                assert sum(settled) / len(own) - 1e-9 <= cell.most
                assert cell.least <= (sum(settled) + 100 * (len(own) - len(settled))) / len(own) + 1e-9
    assert any(cell.value is None for row in grid.cells for cell in row), "one painter's judge abstains"


def test_the_map_begins_with_all_categories_as_scores_shows_them(source: Sources) -> None:
    grid = frames.heatmap(source("worldgenbench"))
    assert grid.columns[0] == "all"
    common = {s.painter: s.common for s in api.scores("worldgenbench", store=source("worldgenbench").choice.store)}
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        told = common[name]
        assert told is not None
        assert cells[0].value == told.value("checklist")
        assert cells[0].low == told.scores["checklist"].low
        if cells[0].value is None:
            assert (cells[0].least, cells[0].most) == told.bounds["checklist"]


def test_another_tag_and_one_that_is_not_there(source: Sources) -> None:
    assert frames.categories(source("genexam", by="difficulty")).columns == ("easy", "medium", "hard")
    with pytest.raises(UsageError, match="--by nonsense: genexam has questions by difficulty, img_type"):
        frames.categories(source("genexam", by="nonsense"))


def test_profiles_are_shares_of_the_best_value(source: Sources) -> None:
    found = source("genexam")
    grid = frames.profile(found)
    assert grid.columns == ("semantic", "spelling", "readability", "logic")
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        ratings = [entry.scores["spelling"] for entry in inside(found, name)]
        if None not in ratings:
            assert cells[1].value == pytest.approx(mean(value for value in ratings if value is not None) / 2)
    with pytest.raises(UsageError, match="worldgenbench: has no dimensions; `limner plot categories`"):
        frames.profile(source("worldgenbench"))


def test_levels_go_from_easy_to_hard(source: Sources) -> None:
    grid = frames.levels(source("mmmg"))
    assert grid.columns == ("preschool", "primaryschool", "secondaryschool", "highschool", "undergraduate", "PhD")
    easy, *_ = frames.levels(source("genexam", score="relaxed")).cells[0]
    own = [e.scores["relaxed"] for e in source("genexam", score="relaxed").field.inside[0]
           if e.question.tags["difficulty"] == "easy"]  # fmt: skip
    assert easy.value == pytest.approx(mean(value for value in own if value is not None) / 100)
    with pytest.raises(UsageError, match=r"worldgenbench has no levels; there are some in aibench.*, genexam.*, mmmg"):
        frames.levels(source("worldgenbench"))


def test_distributions_hold_every_settled_drawing(source: Sources) -> None:
    found = source("fepbench")
    frame = frames.distribution(found)
    assert frame.scores == ("if (of 1)", "re (of 1)", "sp (of 1)")
    for place, name in enumerate(("if", "re", "sp")):
        for entries, values in zip(found.field.inside, frame.values[place], strict=True):
            own = [entry.scores[name] for entry in entries]
            abstained = any(mark.verdict == "abstain" for entry in entries for mark in entry.marks)
            assert sorted(values) == ([] if abstained else sorted(value for value in own if value is not None))
    assert "1 left out: the judge abstained" in frame.caption
    # GenExam's strict score is all or nothing, so it is no distribution.
    assert frames.distribution(source("genexam")).scores[0] == "relaxed (of 100)"
    assert frames.distribution(source("genexam", score="logic")).scores == ("logic (of 2)",)


def test_failures_elsewhere_are_drawings_without_a_score(source: Sources) -> None:
    found = source("genexam")
    grid = frames.failures(found)
    told = {s.painter: s for s in api.scores("genexam", store=found.choice.store)}
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        shares = {kind: cell.value for kind, cell in zip(grid.columns, cells, strict=True)}
        for kind, count in told[name].failures.items():
            assert shares[kind] == pytest.approx(count / told[name].expected)
        assert sum(value or 0 for value in shares.values()) == pytest.approx(1 - told[name].coverage, abs=1e-4)


def test_no_failure_at_all_is_said(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=2, images=False, faults=False)
        with pytest.raises(UsageError, match="every drawing has a score"):
            frames.failures(load("genexam", Choice(store=store)))


def test_cost_counts_failed_tries_and_leaves_out_unknown_prices(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=5, questions=40)
        found = load("genexam", Choice(store=store, score="relaxed"))
        frame = frames.cost(found)
    points = {point.name: point for point in frame.points}
    assert set(points) == {*found.names} - {"dashscope/qwen-image"}, "its price is not known"
    group = next(group for group in found.field.groups if group.painter == "openai/gpt-image-1")
    done = sum(entry.drawing.status == "done" for entry in group.entries)
    assert done < 40, "this painter refuses some"
    assert points["openai/gpt-image-1"].x.value == pytest.approx(0.17 * 40 / done)
    assert points["FLUX.2 dev"].x.value == 0
    assert frame.front[0] == "FLUX.2 dev"
    assert "openai/gpt-image-1.5" not in frame.front, "another one is cheaper and better"


def test_imported_drawings_have_no_cost(source: Sources) -> None:
    with pytest.raises(UsageError, match="no painter with a score has a known cost above zero"):
        frames.cost(source("genexam"))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12), st.booleans())
def test_nobody_on_the_front_is_beaten_and_all_others_are(points: list[tuple[int, int]], less: bool) -> None:
    on = set(front(points, less))
    assert on

    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        better = one[0] <= other[0] if less else one[0] >= other[0]
        return better and one[1] >= other[1] and one != other

    for n, point in enumerate(points):
        assert (n in on) == (not any(beats(other, point) for other in points))


def test_judges_are_compared_two_by_two(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=4, judges=("one", "two", "three"), images=False)
        kappa, order = frames.judges("genexam", Choice(store=store))
        told = compare.judges("genexam", store=store)
        assert kappa.rows == ("three", "two")
        assert kappa.columns == ("one", "three")
        pair = next(pair for pair in told.pairs if (pair.first, pair.second) == ("one", "two"))
        assert kappa.cells[1][0].value == pair.marks["all"].kappa.value
        assert order.cells[1][0].value == pair.order.spearman.value
        assert kappa.cells[0][1].value is None, "nobody is compared with itself"
        with pytest.raises(UsageError, match="nobody to compare it with; `limner mark genexam --judge NAME`"):
            frames.judges("genexam", Choice(store=store, judges=("one",)))
