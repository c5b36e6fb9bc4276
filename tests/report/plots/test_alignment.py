"""Judges and metrics beside people: the points, the correlation, the paper's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from limner.core.errors import UsageError
from limner.report.plots import PlotChoice, load_plots, plot
from limner.report.plots.multiples import AlignmentPanel, AlignmentPanels
from limner.scoring.preferences import preferences
from limner.store import Store
from limner.store.markings import load_painter_metrics, load_ratings
from limner.store.records import evaluator_kinds, load_drawings
from tests.report.plots import made_up
from tests.report.tables import synthetic
from tests.scoring.compare.desk import Desk
from tests.scoring.people import STUDY, study_of


@pytest.fixture(scope="module")
def mmmg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("mmmg")) as store:
        made_up.rated(store, painters=5, questions=18)
        yield store


@pytest.fixture(scope="module")
def aibench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("aibench")) as store:
        made_up.compared(store, painters=5, questions=8)
        yield store


def frame(exam: str, store: Store, **how: Any) -> dict[str, AlignmentPanel]:
    found: AlignmentPanels = load_plots()["people"].frame(exam, PlotChoice(store=store, **how))
    return {panel.aligned.evaluator: panel for panel in found.panels}


def test_mmmg_figure_8(mmmg: Store) -> None:
    found = frame("mmmg", mmmg)
    assert {title: panel.published for title, panel in found.items()} == {
        "fake/judge": ("MMMG-Score", 0.876), "metric/aesthetic-siglip": ("Aes-2.5", 0.215),
        "metric/fid": ("FID", -0.774), "metric/wiscore:openai/o3": ("WIScore, o3", 0.701),
    }  # fmt: skip
    assert found["fake/judge"].aligned.scale == "mmmg_release"
    for panel in found.values():
        people, theirs = [p.people for p in panel.aligned.points], [p.evaluator for p in panel.aligned.points]
        assert panel.correlation.value == pytest.approx(stats.pearsonr(people, theirs).statistic)
        assert panel.correlation.n == len(people)


def test_only_people_of_the_named_study_are_drawn(mmmg: Store) -> None:
    study_of(mmmg, "mmmg", {})
    whole = load_plots()["people"].frame("mmmg", PlotChoice(store=mmmg, study=STUDY))
    assert whole.panels == load_plots()["people"].frame("mmmg", PlotChoice(store=mmmg)).panels
    assert f"people of {STUDY}: " in whole.caption
    with pytest.raises(UsageError, match=f"no such study; it has: .*{STUDY}"):
        frame("mmmg", mmmg, study="another")


def test_points_are_means_over_shared_drawings(mmmg: Store) -> None:
    kinds = evaluator_kinds(mmmg)
    painters = {drawing.id: drawing.painter for drawing in load_drawings(mmmg, "mmmg")}
    by: dict[str, dict[str, list[float]]] = {}
    own: dict[str, list[float]] = {}
    for row in load_ratings(mmmg, "mmmg"):
        if kinds[row.setup] == "person":
            by.setdefault(painters[row.drawing], {}).setdefault(row.drawing, []).append(float(row.value or 0))
        elif row.scale == "wiscore":
            own.setdefault(painters[row.drawing], []).append(float(row.value or 0))
    for point in frame("mmmg", mmmg)["metric/wiscore:openai/o3"].aligned.points:
        assert point.people == pytest.approx(np.mean([np.mean(values) for values in by[point.painter].values()]))
        assert point.evaluator == pytest.approx(np.mean(own[point.painter]))
    fids = {row.painter: row.value for row in load_painter_metrics(mmmg, "mmmg")}
    assert {p.painter: p.evaluator for p in frame("mmmg", mmmg)["metric/fid"].aligned.points} == fids


@pytest.mark.slow
def test_aibench_figure_6b(aibench: Store) -> None:
    found = frame("aibench", aibench)
    arena, score = found["metric/vlm-arena:gemini/gemini-3-flash"], found["metric/vlm-score:gemini/gemini-3-flash"]
    assert arena.published == ("VLM Arena, Gemini 3 Flash", 0.714)
    assert score.published == ("VLM Score, Gemini 3 Flash", 0.6)
    assert found["openai/gpt-5.1"].published == ("AIBench", 0.886)
    rates = {each.evaluator: each.rates for each in preferences("aibench", store=aibench)}
    assert {p.painter: p.people for p in arena.aligned.points} == rates[f"people/{STUDY}"]
    assert {p.painter: p.evaluator for p in arena.aligned.points} == rates["metric/vlm-arena:gemini/gemini-3-flash"]
    people, theirs = [p.people for p in score.aligned.points], [p.evaluator for p in score.aligned.points]
    assert score.correlation.value == pytest.approx(stats.spearmanr(people, theirs).statistic)


@pytest.mark.slow
def test_aibench_figure_6a(aibench: Store, matplotlib: None, tmp_path: Path) -> None:
    grid = load_plots()["by-judge"].frame("aibench", PlotChoice(store=aibench))
    printed = dict(zip(grid.rows, grid.published, strict=True))
    assert printed["openai/gpt-image-1.5"] == 61.62
    assert printed["openai/gpt-image-1"] is None
    assert "Qwen3-VL-235B" in grid.printed
    plot("by-judge", ["aibench"], tmp_path / "a.png", PlotChoice(store=aibench))


def test_marks_of_people_are_drawn_as_scores_if_nobody_rated(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    for question in desk.exam.questions:
        for painter, skill in (("good", 1.0), ("poor", 0.0)):
            desk.put(painter, question, desk.random(question, skill))
            desk.put(painter, question, desk.random(question, skill), judge="person/anna", study="pilot", kind="person")
    desk.study("pilot", {})
    (panel,) = load_plots()["people"].frame("sample/genexam", PlotChoice(store=store, study="pilot")).panels
    assert [(point.painter, point.people) for point in panel.aligned.points] == [("good", 100.0), ("poor", 0.0)]


def test_alignment_without_human_ratings_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        synthetic.fill(store, "genexam", painters=3, questions=6, images=False)
        with pytest.raises(UsageError, match="no person has marked, rated or chosen"):
            frame("genexam", store)
