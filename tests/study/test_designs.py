"""The shipped designs are those of the papers: sample, raters, form and its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner import exams
from limner.core.errors import DataError, UsageError
from limner.store import Store
from limner.study.design import StudyDesign, designs, find_design
from limner.study.open import open_study
from tests.study.made import DESIGNS, fill, make

OURS = {"genexam": False, "genexam-models": True, "mmmg": True, "fepbench": False, "aibench-pairs": True,
        "aibench-aesthetics": True}  # fmt: skip
"""Whether the number of raters is ours."""


def shipped(name: str) -> StudyDesign:
    return find_design(name, exams.kind(DESIGNS[name]))


def test_six_designs_are_shipped() -> None:
    shipped = [(name, kind.name) for kind in exams.each() for name in designs(kind)]
    assert {name: exam for name, exam in shipped if name != "criteria"} == DESIGNS
    assert [exam for name, exam in shipped if name == "criteria"] == [kind.name for kind in exams.each()]


def test_general_design_asks_every_criterion(store: Store) -> None:
    fill(store, "genexam")
    make(store, "criteria")
    study = open_study(store, "pilot")
    asked = study.kind.protocol.criteria(study.question(study.items[1]))
    assert [one.name for one in study.item_form(1)] == [each.id for each in asked]


@pytest.mark.parametrize(
    ("name", "of", "painters", "original", "size", "each", "cross", "raters", "unit"),
    [
        ("genexam", "drawings", 1, False, 250, None, (), 5, "drawing"),
        ("genexam-models", "drawings", 5, False, 100, None, (), 5, "drawing"),
        ("mmmg", "references", 10, False, None, 7, ("level",), 3, "drawing"),
        ("fepbench", "references", None, False, None, 10, ("domain", "panel_type", "regime"), 3, "drawing"),
        ("aibench-pairs", "references", 5, True, 50, None, (), 3, "pair"),
        ("aibench-aesthetics", "references", 4, True, 300, None, (), 3, "rank"),
    ],
)
def test_design_has_expected_sample_and_raters(
    name: str, of: str, painters: int | None, original: bool, size: int | None, each: int | None,
    cross: tuple[str, ...], raters: int, unit: str,
) -> None:  # fmt: skip
    design = shipped(name)
    sample = design.sample
    assert (sample.of, sample.painters, sample.original) == (of, painters, original)
    assert (sample.size, sample.each, sample.cross) == (size, each, cross)
    assert (design.raters, design.unit) == (raters, unit)
    assert ("raters" in design.ours) == OURS[name]


def test_mmmg_has_1260_ratings_of_each_scale() -> None:
    design = shipped("mmmg")
    assert (design.sample.each or 0) * 6 * (design.sample.painters or 0) * design.raters == 1260


@pytest.mark.parametrize("name", ["genexam", "genexam-models"])
def test_genexam_asks_overall_first_then_points_then_the_ratings(store: Store, name: str) -> None:
    fill(store, "genexam")
    make(store, name)
    form = open_study(store, "pilot").item_form(1)
    names = [one.name for one in form]
    points = [one for one in names if one.startswith("point/")]
    assert len(points) > 1
    assert names == ["overall", *points, "spelling", "logic", "readability"]
    assert [value for value, _ in form[0].values] == list(range(1, 11))
    assert {value for value, _ in form[1].values} == {0, 1}
    assert [value for value, _ in form[-1].values] == [0, 1, 2]


def test_mmmg_asks_four_scales(store: Store) -> None:
    fill(store, "mmmg")
    make(store, "mmmg")
    form = open_study(store, "pilot").item_form(1)
    assert [one.name for one in form] == ["clarity", "correctness", "accuracy", "faithfulness"]
    assert all([value for value, _ in one.values] == list(range(11)) for one in form)


def test_fepbench_asks_every_atom_with_its_parts_then_a_list(store: Store) -> None:
    fill(store, "fepbench")
    make(store, "fepbench")
    study = open_study(store, "pilot")
    form, question = study.item_form(1), study.question(study.items[1])
    asked = [one.id for one in study.kind.protocol.criteria(question) if one.kind != "unexpected"]
    assert [one.name for one in form] == [*asked, "unexpected"]
    assert form[-1].kind == "listing"
    assert form[-1].sorts == ("visual", "text", "relation")


def test_design_is_found_by_name_or_file(tmp_path: Path) -> None:
    kind = exams.kind("genexam")
    with pytest.raises(UsageError, match=r"genexam has no design 'mmmg'; it is a design of mmmg; available: genexam, "):
        find_design("mmmg", kind)
    own = tmp_path / "own.toml"
    own.write_text(
        'title = "Mine"\nraters = 1\n[sample]\nof = "drawings"\nsize = 3\n[[form]]\nkind = "scale"\n', "utf-8"
    )
    with pytest.raises(DataError, match=r"own\.toml:7: form\.scale\.name"):
        find_design(str(own), kind)


@pytest.mark.parametrize(
    "change",
    [
        {"unit": "pair"},
        {"sample": {"of": "drawings"}},
        {"sample": {"of": "drawings", "each": 2}},
        {"sample": {"of": "drawings", "size": 2, "each": 2, "cross": ["a"]}},
        {"form": [{"kind": "scale", "name": "skip", "text": "x", "low": 0, "high": 2}]},
        {"form": [{"kind": "scale", "name": "a", "text": "x", "low": 2, "high": 2}]},
        {"form": []},
        {"unknown": 1},
    ],
)
def test_inconsistent_design_is_refused(change: dict[str, object]) -> None:
    body = shipped("genexam").model_dump(mode="json")
    StudyDesign.model_validate(body)
    with pytest.raises(ValueError):
        StudyDesign.model_validate(body | change)
