"""The numbers behind the exams' own plots, computed once more by other means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean, quantiles

import pytest

from limner.core import plot_data
from limner.core.errors import UsageError
from limner.core.plot_data import Bands, Bin
from limner.exams.aibench import analysis as aibench
from limner.exams.fepbench import analysis as fepbench
from limner.exams.mmmg import analysis as mmmg
from limner.report.plots import load_plots
from limner.report.plots.galleries import graphs
from limner.report.plots.multiples import DENSITY_TALL, bands
from limner.report.plots.source import PlotChoice, StoreSource, load_source
from limner.report.plots.style import compose, look
from limner.scoring import Entry
from limner.store import Store
from tests.report.tables import synthetic

Sources = Callable[..., StoreSource]


def inside(source: StoreSource, painter: str) -> tuple[Entry, ...]:
    return source.field.inside[source.names.index(painter)]


@pytest.mark.slow
def test_exams_of_another_kind_are_refused(filled: dict[str, Store]) -> None:
    for name, kind in (("atoms", "fepbench"), ("regions", "mmmg"), ("logic-aesthetics", "aibench")):
        with pytest.raises(UsageError, match=f"exams of the kind {kind}; genexam is of the kind genexam"):
            load_plots()[name].frame("genexam", PlotChoice(store=filled["genexam"]))


def test_atoms_have_bins_with_quartiles(source: Sources) -> None:
    found = source("fepbench")
    frame = fepbench.atoms(found)
    for place, entries in enumerate(found.field.inside):
        for bin_ in frame.bins[place][0]:
            low, high = bin_.size
            kept = [e.scores["if"] for e in entries if low <= e.question.rubric.count <= high]
            values = [value for value in kept if value is not None]
            assert bin_.mean == pytest.approx(mean(values))
            if len(values) > 1:
                first, _, third = quantiles(values, method="inclusive")
                assert (bin_.q1, bin_.q3) == pytest.approx((first, third))
        abstained = any(entry.scores["if"] is None for entry in entries)
        assert sum(bin_.n for bin_ in frame.bins[place][0]) == (0 if abstained else len(entries))
        assert sorted(frame.sizes[place]) == sorted(entry.question.rubric.count for entry in entries)


@pytest.mark.usefixtures("matplotlib")
def test_atoms_show_density_of_sizes() -> None:
    bins = tuple(((Bin((4, 6), 3, 0.5, 0.4, 0.6),),) * 3)
    frame = Bands(("a", "b"), ("if", "re", "sp"), (bins, bins), ((4, 4, 4, 6), (5, 6, 6, 6)), "made up", "atoms")
    with look():
        figure = compose([bands(frame, "double")], "double")
    heights = [[patch.get_data().values.tolist() for patch in axes.patches] for axes in figure.axes]
    most = DENSITY_TALL
    assert heights == [[[most, 0, pytest.approx(most / 3)]], [[0, pytest.approx(most / 3), most]]]


def test_if_re_plots_means_of_three_scores(source: Sources) -> None:
    found = source("fepbench")
    frame = fepbench.if_re(found)
    for point in frame.points:
        rows = [entry.scores for entry in inside(found, point.name)]
        for name, value in (("if", point.x.value), ("re", point.y.value), ("sp", point.colour)):
            values = [row[name] for row in rows if row[name] is not None]
            assert value == pytest.approx(mean(values))  # type: ignore[type-var]
    assert {p.name for p in frame.points if p.control} == {"control/reference"}
    assert "1 left out: the judge abstained" in frame.caption


@pytest.mark.parametrize(("make", "tag", "one", "other"), [
    (fepbench.panels, "panel_type", "multi", "single"), (fepbench.regimes, "regime", "structured", "free"),
])  # fmt: skip
def test_condition_gaps_are_differences_of_means(
    make: Callable[[plot_data.PlotSource], plot_data.Grid], tag: str, one: str, other: str, source: Sources
) -> None:
    found = source("fepbench")
    grid = make(found)
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        entries = inside(found, name)
        if any(mark.value is None for entry in entries for mark in entry.marks):
            assert {cell.value for cell in cells} == {None}
            continue
        if tag == "regime":
            both = {entry.question.tags["sample"] for entry in entries if entry.question.tags["regime"] == one} & {
                entry.question.tags["sample"] for entry in entries if entry.question.tags["regime"] == other
            }
            entries = tuple(entry for entry in entries if entry.question.tags["sample"] in both)
        sides = [[e.scores["re"] for e in entries if e.question.tags[tag] == value] for value in (one, other)]
        means = [mean(value for value in side if value is not None) for side in sides]
        assert cells[grid.columns.index("RE")].value == pytest.approx(100 * (means[0] - means[1]))


def test_region_counts_and_shares_above_thresholds(source: Sources) -> None:
    found = source("mmmg")
    frame = mmmg.regions(found)
    assert frame.marks == (70, 160)
    for entries, counts, (first, second) in zip(found.field.inside, frame.counts, frame.above, strict=True):
        measured = [entry.evidence["regions"]["value"] for entry in entries]
        assert list(counts) == measured
        assert first == pytest.approx(mean(count > 70 for count in measured))
        assert second == pytest.approx(mean(count > 160 for count in measured))


def test_mmmg_failures_are_drawings_with_low_scores(source: Sources) -> None:
    found = source("mmmg")
    grid = mmmg.failures_plot(found)
    assert grid.columns == ("readability", "entity", "dependency")
    row = grid.rows.index("BAGEL")
    low = [e.scores for e in inside(found, "BAGEL") if (e.scores["mmmg_release"] or 0) <= 0.5]
    assert grid.notes[row] == f"{len(low)} of {len(inside(found, 'BAGEL'))}"
    assert grid.cells[row][1].value == pytest.approx(mean((s["entity_recall"] or 0) <= 0.3 for s in low))


def test_graphs_show_what_each_painter_drew_of_the_reference(source: Sources) -> None:
    found = source("mmmg")
    frame = graphs(found)
    rows = {row.name: row for row in frame.rows}
    question = found.rows[0][0].question
    assert frame.title == question.id
    assert [name for _, name in frame.entities] == list(question.rubric.elements)
    assert [name for _, name in frame.dependencies] == list(question.rubric.dependencies)
    for name in found.names:
        (entry,) = [entry for entry in inside(found, name) if entry.question.id == question.id]
        assert rows[name].shown == {m.criterion: None if m.value is None else m.value > 0 for m in entry.marks}
        assert len(rows[name].shown) == len(frame.entities) + len(frame.dependencies)
        assert rows[name].words[-1] == f"regions {entry.evidence['regions']['value']:g}"
        assert len(rows[name].words) == 8
    nodes = [entity for node in frame.layout["nodes"] for entity in node["entities"]]
    assert sorted(nodes) == list(range(len(frame.entities)))
    with pytest.raises(UsageError, match="its questions have no graphs; `limner plot drawings` shows the drawings"):
        graphs(source("fepbench"))


def test_aesthetics_is_plotted_against_logic(source: Sources) -> None:
    found = source("aibench")
    frame = aibench.logic_aesthetics(found)
    values = dict(zip(found.names, found.field.values, strict=True))
    for point in frame.points:
        levels = [values[point.name][name] for name in ("component", "topology", "phase", "semantics")]
        assert point.x.value == pytest.approx(mean(levels))
        assert point.y.value == pytest.approx(values[point.name]["aesthetics"])
        assert point.x.low is not None
        assert point.x.low <= mean(levels)
    assert "control/reference" not in frame.front
    assert frame.front


def test_missing_aesthetics_error_names_command_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "evidence_row", lambda *a: pytest.fail("nothing is measured"))
    monkeypatch.setattr(synthetic._Filler, "_measure", lambda *a: None)
    with Store(tmp_path) as store:
        synthetic.fill(store, "aibench", painters=2, questions=4, images=False)
        synthetic.fill(store, "mmmg", painters=2, questions=6, images=False)
        with pytest.raises(UsageError, match="no aesthetics; `limner evidence aibench --aesthetics WORD`"):
            aibench.logic_aesthetics(load_source("aibench", PlotChoice(store=store)))
        with pytest.raises(UsageError, match="no region counts; run `limner evidence mmmg --probe regions`"):
            mmmg.regions(load_source("mmmg", PlotChoice(store=store)))
        with pytest.raises(UsageError, match="no drawing has mmmg_release"):
            mmmg.failures_plot(load_source("mmmg", PlotChoice(store=store)))
