"""The lists of papers: every table and figure is there, and what they name exists."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from limner import exams
from limner.core import settings
from limner.core.errors import DataError, UsageError
from limner.exams import SHIPPED
from limner.painters import open_service
from limner.report.paper import find
from limner.report.plots import load_plots as known_plots
from limner.report.reproduce import Reproduction
from limner.report.reproduce.items import request_of, row_names
from limner.report.reproduce.request import PaperItem, chosen_items, paper_list
from limner.report.reproduce.rows import RowFinder
from limner.store import Store
from limner.strategies import known_options
from tests.needs import shared

CAPTION = re.compile(r"(?:^|>)\s*(Figure|Table) ([A-Z]?\d+)\s?[.:|]", re.MULTILINE)


LOST = {"genexam": {"Figure 9", "Appendix D"}, "mmmg": {"Introduction", "Table 16", "Figure 54"}}
"""What the papers have, and the texts at hand have lost the captions of."""


REWRITTEN = {
    "aibench": {"Wan 2.6", "Wan2.6 w/ BoN", "Wan2.6 w/ Edit"},
    "fepbench": {"Seedream 5.0", "Qwen-Image-2.0 Pro"},
    "genexam": {"Seedream 4.5", "FLUX.2 max"},
}
"""Rows of the papers that services drew by their defaults, which were to rewrite prompts."""


def covered(kind: str) -> set[str]:
    return {name for item in paper_list(kind).items for name in item.numbers}


@pytest.mark.parametrize("kind", SHIPPED)
def test_every_published_table_is_in_the_list(kind: str) -> None:
    with (shared("published") / f"{kind}.csv").open(encoding="utf-8", newline="") as file:
        tables = {row["table"] for row in csv.DictReader(file)}
    assert len(tables) > 1
    assert {name for name in tables if name not in covered(kind) and name[:-1] not in covered(kind)} == set()


@pytest.mark.parametrize("kind", SHIPPED)
def test_every_caption_of_the_paper_is_in_the_list(kind: str) -> None:
    text = shared("papers", f"{kind}.txt").read_text("utf-8")
    captions = {f"{what} {number}" for what, number in CAPTION.findall(text)}
    assert len(captions) > 5
    # The two parts of a table may be items of their own.
    there = {re.sub(r"(\d)[ab]$", r"\1", name) for name in covered(kind)}
    assert captions - there == set()
    assert there - captions == LOST.get(kind, set())


@pytest.mark.parametrize("kind", SHIPPED)
def test_names_used_in_list_exist(kind: str) -> None:
    listing, exam = paper_list(kind), exams.kind(kind)
    names = row_names(listing, kind)
    designs = {path.stem for path in exam.studies.glob("*.toml")} if exam.studies else set()
    assert listing.preset in exam.all_presets
    assert len({item.name for item in listing.items}) == len(listing.items)
    for item in listing.items:
        wants = request_of(item, kind)
        assert wants.title
        assert item.layout is None or find(f"{kind}:{item.layout}")
        assert {one.plot for one in item.plots} <= set(known_plots())
        assert item.people is None or item.people in designs
        assert {judge for _, judge in wants.wants.values()} - {""} <= set(listing.judges), item.name
    for name, row in listing.rows.items():
        assert name in names, f"nothing needs {name}"
        assert row.preset is None or row.preset in exam.all_presets
        assert row.strategy is None or set(row.strategy_options) <= set(
            known_options([row.strategy], row.strategy_options)
        )


@pytest.mark.parametrize("kind", SHIPPED)
def test_every_row_has_painter_or_stated_reason(kind: str) -> None:
    listing = paper_list(kind)
    names = row_names(listing, kind)
    finder = RowFinder.make(Reproduction(kind), listing, names, settings.load())
    rows = [finder.find(name) for name in names]
    assert all(row.word or row.strategy or row.cannot for row in rows)
    assert not any("does not know a model of this name" in (row.cannot or "") for row in rows)
    assert any(row.cannot is None for row in rows)


@pytest.mark.parametrize("kind", SHIPPED)
def test_row_options_are_accepted_by_their_painters(kind: str, store: Store) -> None:
    listing, known = paper_list(kind), settings.load()
    finder = RowFinder.make(Reproduction(kind), listing, [], known)
    rows = [finder.find(name) for name, row in listing.rows.items() if row.painter_args and not row.requires]
    painters = {row.name: open_service(row.spec, known, store.blobs, row.painter_args) for row in rows}
    assert {name for name, painter in painters.items() if painter.rewrites} == REWRITTEN.get(kind, set())
    thinking = {name for name, painter in painters.items() if painter.options.get("use_thought")}
    assert thinking == ({"BAGEL (thinking)"} if kind == "genexam" else set())
    assert len(painters) == len(thinking | REWRITTEN.get(kind, set()))


def test_models_that_a_service_offers_are_not_called_unavailable() -> None:
    known = settings.load()
    offered = {name: spec for spec, facts in known.models.items() for name in facts.paper_names}
    for name in ("BAGEL", "OmniGen2", "HunyuanImage-3.0"):
        assert offered[name].startswith("fal/")
        assert known.painters[offered[name]].image_bound
    listing = paper_list("genexam")
    row = RowFinder.make(Reproduction("genexam"), listing, [], known).find("BAGEL (thinking)")
    assert (row.spec, row.cannot) == ("fal/fal-ai/bagel", None)


def test_item_needs_title_and_layout_plots_or_reason() -> None:
    with pytest.raises(ValueError, match="needs a layout, plots, a page, or a reason"):
        PaperItem(name="Table 9", title="x")
    with pytest.raises(ValueError, match="needs a title"):
        PaperItem(name="Table 9", cannot="x")


def test_items_are_selected_by_name() -> None:
    listing = paper_list(SHIPPED[0])
    assert [item.name for item in chosen_items(listing, ("table 2", "Figure 12"))] == ["Table 2", "Figures 11 to 13"]
    with pytest.raises(UsageError, match="the paper has no 'Table 99'; it has: Figure 1"):
        chosen_items(listing, ("Table 99",))


def test_invalid_list_is_reported_with_exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reproduce.toml").write_text('[[items]]\nname = "Table 1"\nlayuot = "table1"\n', "utf-8")
    monkeypatch.setattr("limner.report.reproduce.request.paper_file", lambda *_: tmp_path / "reproduce.toml")
    with pytest.raises(DataError, match=r"the exam 'genexam' is broken: .*items\."):
        paper_list("genexam")
