"""The numbers behind FEPBench's figures of all painters together, computed once more by other means."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev

import pytest

from limner.core.errors import UsageError
from limner.exams.fepbench.analysis import SUBMETRICS, dispersion, pairs, two_regimes
from limner.report.plots.source import PlotChoice, StoreSource, load_source
from limner.store import Store
from tests.needs import shared
from tests.report.tables import synthetic

Sources = Callable[..., StoreSource]
CLOSED = ("openai/", "gemini/")


def values(source: StoreSource, score: str) -> dict[str, float | None]:
    """Every rival's mean of a score, where all its drawings have it."""
    found: dict[str, float | None] = {}
    for name, entries in zip(source.names, source.field.inside, strict=True):
        if name not in source.controls:
            numbers = [entry.scores[score] for entry in entries]
            known = [number for number in numbers if number is not None]
            open_scores = [entry for entry in entries if entry.scores[score] is None]
            undecided = any(mark.value is None for entry in open_scores for mark in entry.marks)
            found[name] = None if undecided else mean(known)
    return found


@pytest.mark.slow
def test_dispersion_is_deviation_and_closed_minus_open_gap(source: Sources) -> None:
    found = source("fepbench")
    frame = dispersion(found)
    assert len(frame.columns) == len(SUBMETRICS) == 10
    assert frame.columns[:4] == ("IF visual", "IF text", "IF relation", "IF layout")
    for place, score in enumerate(SUBMETRICS):
        known = {name: value for name, value in values(found, score).items() if value is not None}
        assert frame.deviations[place] == pytest.approx(stdev(known.values()))
        closed = [value for name, value in known.items() if name.startswith(CLOSED)]
        open_ = [value for name, value in known.items() if not name.startswith(CLOSED)]
        assert frame.gaps[place] == pytest.approx(mean(closed) - mean(open_))


def test_paper_dispersion_matches_its_table_2(source: Sources) -> None:
    with shared("published", "fepbench.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == "Table 2"]
    for score, (deviation, gap) in zip(SUBMETRICS, dispersion(source("fepbench")).paper, strict=True):
        name, _, modality = score.partition("_")
        cells = [row for row in rows if (row["metric"], row["category"]) == (name.upper(), modality)]
        assert len(cells) == 9
        assert deviation == pytest.approx(stdev(float(row["value"]) for row in cells))
        sides = [
            [float(row["value"]) for row in cells if row["model_group"] == f"{side}-source"]
            for side in ("closed", "open")
        ]
        assert gap == pytest.approx(mean(sides[0]) - mean(sides[1]))


def test_largest_paper_gaps_are_relations_and_text_precision(source: Sources) -> None:
    """What its text says of Figure 3 (a) holds for the numbers we take from its table."""
    frame = dispersion(source("fepbench"))
    gaps = {column: gap for column, (_, gap) in zip(frame.columns, frame.paper, strict=True)}
    assert sorted(gaps, key=lambda name: -(gaps[name] or 0))[:2] == ["IF relation", "SP text"]


def test_dispersion_needs_two_painters(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "fepbench", painters=1, questions=4, images=False)
        with pytest.raises(UsageError, match="two are needed"):
            dispersion(load_source("fepbench", PlotChoice(store=store)))


def test_pairs_pool_drawings_of_all_painters(source: Sources) -> None:
    found = source("fepbench")
    frame = pairs(found)
    assert [(pair.one, pair.other) for pair in frame.pairs] == [("IF", "RE"), ("IF", "SP"), ("RE", "SP")]
    for pair in frame.pairs:
        wanted, means = [], {}
        for name, entries in zip(found.names, found.field.inside, strict=True):
            decided = all(mark.verdict != "abstain" for entry in entries for mark in entry.marks)
            if name in found.controls or not decided:
                continue
            both = [
                (entry.scores[pair.one.lower()], entry.scores[pair.other.lower()])
                for entry in entries
                if entry.scores[pair.one.lower()] is not None and entry.scores[pair.other.lower()] is not None
            ]
            wanted += both
            means[name] = both
        assert list(pair.drawings) == wanted
        assert {name for name, _, _ in pair.means} == set(means)
        x, y = [a or 0 for a, _ in wanted], [b or 0 for _, b in wanted]
        top = sum((a - mean(x)) * (b - mean(y)) for a, b in zip(x, y, strict=True))
        bottom = (sum((a - mean(x)) ** 2 for a in x) * sum((b - mean(y)) ** 2 for b in y)) ** 0.5
        assert pair.pearson == pytest.approx(top / bottom)


def test_two_regimes_figure_shows_both_prompts(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "fepbench", painters=3, questions=8)
        check_tiles(load_source("fepbench", PlotChoice(store=store)), store)


def check_tiles(found: StoreSource, store: Store) -> None:
    frame = two_regimes(found)
    assert frame.rows == ("free prompt", "structured prompt")
    assert frame.columns == ("reference", *found.names)
    entries = {
        (name, entry.question.id): entry
        for name, inside in zip(found.names, found.field.inside, strict=True)
        for entry in inside
    }
    for regime, line in zip(("free", "structured"), frame.tiles, strict=True):
        for name, tile in zip(frame.columns[1:], line[1:], strict=True):
            entry = entries.get((name, f"{frame.title}/{regime}"))
            if entry is None:
                assert tile.words == ("not drawn or not marked",)
                continue
            assert tile.image == store.blobs.get(entry.drawing.image or "")
            value = entry.scores["if"]
            assert tile.words[0].startswith("IF –" if value is None else f"IF {value:.2f}")


@pytest.mark.slow
def test_unknown_figure_error_lists_available_figures(source: Sources) -> None:
    there = two_regimes(source("fepbench")).title
    assert two_regimes(source("fepbench", question=f"{there}/free")).title == there
    with pytest.raises(UsageError, match=f"--question nothing: .* choose from: {there}"):
        two_regimes(source("fepbench", question="nothing"))
