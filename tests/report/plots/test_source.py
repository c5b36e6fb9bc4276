"""Which painters, in which order, on which questions; and what the caption says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest

from limner import api
from limner.core.errors import UsageError
from limner.report.plots.source import PlotChoice, StoreSource, categories, heatmap, load_source
from limner.scoring import MET, Entry
from limner.scoring.stats import MIN_CLUSTERS
from limner.store import Store
from tests.report.tables import synthetic

Sources = Callable[..., StoreSource]


def test_painters_are_sorted_best_first_and_controls_last(source: Sources) -> None:
    found = source("worldgenbench")
    assert found.names[-1] == "control/reference"
    assert found.controls == {"control/reference"}
    values = [each.get(found.score.name) for each in found.field.values][:-1]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)
    assert values[: len(known)] == known, "painters without the score come after the others"


def test_strategies_have_separate_rows(source: Sources) -> None:
    names = source("aibench").names
    assert {"BAGEL", "BAGEL + rewrite", "openai/gpt-image-1 + rewrite"} <= set(names)
    assert len(names) == 2 * 9 + 2


def test_caption_names_judge_reading_n_and_coverage(source: Sources) -> None:
    found = source("genexam", reading="paper")
    shares = [standing.coverage for standing in api.scores("genexam", store=found.choice.store, reading="paper")]
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    n = len(found.field.questions)
    assert found.caption == (
        f"genexam · judge fake/judge · reading paper · n = {n} questions common to 9 painters"
        f" · control/reference on {n - 1} of these · coverage {low} to {high}"
    )


def test_default_score_is_first_that_most_painters_have(source: Sources) -> None:
    assert source("mmmg").score.name == "mmmg_release"
    assert source("mmmg", score="mmmg_exact").score.name == "mmmg_exact"
    with pytest.raises(UsageError, match="--score nonsense: choose from mmmg_release"):
        source("mmmg", score="nonsense")


def test_judge_without_scores_is_shown_by_share_of_met_criteria(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "fepbench", painters=3, judges=("ocr",), images=False)
        assert load_source("fepbench", PlotChoice(store=store)).score == MET


def test_judge_must_be_named_if_there_are_several(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=2, judges=("one", "two"), images=False)
        with pytest.raises(UsageError, match="several evaluators; name one with --judge: 'one', 'two'"):
            load_source("genexam", PlotChoice(store=store))
        assert load_source("genexam", PlotChoice(store=store, judges=("two",))).field.evaluator.name == "two"
        with pytest.raises(UsageError, match="no judge 'three'"):
            load_source("genexam", PlotChoice(store=store, judges=("three",)))


def test_unmarked_store_error_names_command_to_run(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=1, judges=(), images=False)
        with pytest.raises(UsageError, match="nothing is marked yet; `limner run`"):
            load_source("genexam", PlotChoice(store=store))


def inside(source: StoreSource, painter: str) -> tuple[Entry, ...]:
    return source.field.inside[source.names.index(painter)]


def test_categories_are_means_within_their_intervals(source: Sources) -> None:
    found = source("genexam", score="relaxed")
    grid = categories(found)
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
                if cell.n < MIN_CLUSTERS:
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


@pytest.mark.slow
def test_heatmap_starts_with_overall_scores_of_scores_command(source: Sources) -> None:
    grid = heatmap(source("worldgenbench"))
    assert grid.columns[0] == "all"
    common = {s.painter: s.common for s in api.scores("worldgenbench", store=source("worldgenbench").choice.store)}
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        standing = common[name]
        assert standing is not None
        assert cells[0].value == standing.value("checklist")
        assert cells[0].low == standing.scores["checklist"].low
        if cells[0].value is None:
            assert (cells[0].least, cells[0].most) == standing.bounds["checklist"]
