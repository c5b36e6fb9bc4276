"""From clicks to markings, ratings and comparisons; nothing unfinished counts."""

from __future__ import annotations

from typing import Any

import pytest

from limner.core.evaluator import EvaluatorFilter
from limner.core.marks import Mark
from limner.scoring.entries import load_groups
from limner.store import Store
from limner.store.markings import Marking, load_comparisons, load_markings, load_ratings
from limner.study.answers import Click, save_clicks, shown_value, stored_click
from limner.study.design import AnswerField
from limner.study.open import OpenStudy, open_study, places_of
from limner.study.records import StudyRater, load_answers, load_raters
from limner.study.sampling import StudyPlace
from tests.study.made import answer, fill, make, usual


def one_rater(store: Store, design: str, **more: Any) -> tuple[OpenStudy, StudyRater, list[StudyPlace]]:
    fill(store, {"aibench-pairs": "aibench", "aibench-aesthetics": "aibench"}.get(design, design))
    make(store, design, raters=["anna"], changes={"repeats": 0.0, "attention": 0}, **more)
    rater = load_raters(store, "pilot")[0]
    return open_study(store, "pilot"), rater, places_of(rater)


def click(study: OpenStudy, rater: StudyRater, place: StudyPlace, *clicks: Click) -> bool:
    kept = [stored_click(place, study.form(place), each) for each in clicks]
    return study.store.write(lambda connection: save_clicks(connection, study, rater, place, kept))


def markings(store: Store, exam: str = "genexam") -> list[Marking]:
    return [one for one in load_markings(store, exam) if one.origin == "study"]


def test_incomplete_form_is_stored_without_marking(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "genexam")
    form = study.form(place)
    for one in form[:-1]:
        assert not click(study, rater, place, Click(one.name, usual("anna", place, one)))
    assert markings(store) == []
    assert len(load_answers(store, "pilot")) == len(form) - 1
    assert [one.scale for one in load_ratings(store, "genexam", "pilot")] == ["overall"]
    groups = [group for group in load_groups(store, "genexam") if group.evaluator.judge == "person/anna"]
    assert groups == []  # Nothing of it is scored, not even as nought.
    assert click(study, rater, place, Click(form[-1].name, 2, seconds=3.0))
    (found,) = markings(store)
    assert [mark["criterion"] for mark in found.marks or []] == [one.name for one in form[1:]]
    assert found.replies == []
    assert found.seconds == 3.0


def test_human_marks_are_scored_by_exam_protocol(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "genexam")
    best = {"overall": 10, "spelling": 2, "logic": 2, "readability": 2}
    click(study, rater, place, *(Click(one.name, best.get(one.name, 1)) for one in study.form(place)))
    (group,) = load_groups(store, "genexam", which=EvaluatorFilter(("person/anna",)))
    (entry,) = group.scored
    assert entry.scores["strict"] == 100.0
    assert entry.scores["relaxed"] == 100.0
    assert entry.drawing.id == study.items[place.item].drawings[0]


def test_undo_removes_marking_and_answering_restores_it(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "genexam")
    click(study, rater, place, *(Click(one.name, usual("anna", place, one)) for one in study.form(place)))
    assert len(markings(store)) == 1
    assert not click(study, rater, place, Click("logic", None))
    assert markings(store) == []
    assert not click(study, rater, place, Click("overall", None))
    assert list(load_ratings(store, "genexam", "pilot")) == []
    assert click(study, rater, place, Click("logic", 0), Click("overall", 3))
    assert len(markings(store)) == 1
    assert [one.value for one in load_ratings(store, "genexam", "pilot")] == [3.0]


def test_repeated_and_late_clicks_do_not_change_answers(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "genexam")
    first, later = Click("overall", 4, at=1000.0), Click("overall", 7, at=1001.0)
    click(study, rater, place, first)
    before = load_answers(store, "pilot")
    click(study, rater, place, first)
    assert load_answers(store, "pilot") == before
    click(study, rater, place, later)
    click(study, rater, place, first)
    assert [one.value for one in load_answers(store, "pilot")] == [7]
    assert [one.value for one in load_ratings(store, "genexam", "pilot")] == [7.0]


def test_clock_running_ahead_does_not_block_later_clicks(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "genexam")
    click(study, rater, place, Click("overall", 4, at=9e9))
    click(study, rater, place, Click("overall", 5))
    assert [one.value for one in load_answers(store, "pilot")] == [5]


def test_skip_has_reason_and_no_value(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "genexam")
    click(study, rater, place, *(Click(one.name, usual("anna", place, one)) for one in study.form(place)))
    with pytest.raises(ValueError, match="reason"):
        click(study, rater, place, Click("skip", 1, " "))
    assert click(study, rater, place, Click("skip", 1, "I see nothing"), Click("overall", None))
    assert markings(store) == []
    (found,) = load_ratings(store, "genexam", "pilot")
    assert (found.value, found.reason) == (None, "I see nothing")
    click(study, rater, place, Click("skip", None), Click("overall", 2))
    assert len(markings(store)) == 1


def test_pair_choice_is_stored_by_drawing_not_side(store: Store) -> None:
    study, rater, places = one_rater(store, "aibench-pairs")
    turned = next(place for place in places if place.order == (1, 0))
    straight = next(place for place in places if place.order == (0, 1))
    for place in (turned, straight):
        assert click(study, rater, place, Click("choice", "first"))
    found = {(one.first, one.second): one for one in load_comparisons(store, "aibench", "pilot")}
    for place, choice in ((turned, "second"), (straight, "first")):
        one = found[tuple(study.items[place.item].drawings)]  # type: ignore[index]
        assert (one.choice, one.shown_first, one.scale) == (choice, choice, "logic")
    assert shown_value(turned, "choice", "second") == ("choice", "first")
    click(study, rater, turned, Click("choice", None))
    click(study, rater, straight, Click("choice", "tie"))
    assert [one.choice for one in load_comparisons(store, "aibench", "pilot")] == ["tie"]


def test_ranks_count_when_all_are_given_exactly_once(store: Store) -> None:
    study, rater, places = one_rater(store, "aibench-aesthetics")
    place = next(place for place in places if place.order != tuple(range(len(place.order))))
    size = len(place.order)
    for n in range(1, size):
        assert not click(study, rater, place, Click(f"rank/{n}", n))
    assert list(load_ratings(store, "aibench", "pilot")) == []
    assert not click(study, rater, place, Click(f"rank/{size}", 1))  # All are answered, but 1 stands there twice.
    assert list(load_ratings(store, "aibench", "pilot")) == []
    assert click(study, rater, place, Click(f"rank/{size}", size))
    found = {one.drawing: one.value for one in load_ratings(store, "aibench", "pilot")}
    drawings = study.items[place.item].drawings
    assert found == {drawings[index]: float(spot) for spot, index in enumerate(place.order, 1)}


def test_listed_items_become_marks_that_determine_precision(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "fepbench")
    things = [
        {"sort": "text", "item": "Fig. 3", "place": "top"},
        {"sort": "text", "item": "fig. 3 ", "place": "Top"},
        {"sort": "visual", "item": "a second sun", "place": "left"},
    ]
    atoms = [Click(one.name, 1) for one in study.form(place)[:-1]]
    assert not click(study, rater, place, *atoms)
    assert not click(study, rater, place, Click("unexpected", {"items": things, "done": False}))
    assert markings(store, "fepbench") == []
    assert click(study, rater, place, Click("unexpected", {"items": things, "done": True}))
    (found,) = markings(store, "fepbench")
    listed = [Mark.from_json(mark) for mark in found.marks or [] if mark["criterion"].startswith("unexpected")]
    assert {mark.criterion: (mark.value, mark.reason) for mark in listed} == {
        "unexpected/visual": (0, ""), "unexpected/text": (0, ""), "unexpected/relation": (1, ""),
        "unexpected/visual/1": (1, "a second sun (left)"), "unexpected/text/1": (1, "Fig. 3 (top)"),
    }  # fmt: skip
    (group,) = load_groups(store, "fepbench", which=EvaluatorFilter(("person/anna",)))
    atoms_of = group.scored[0].question.rubric
    expected = 1 - 1 / (len(atoms_of.text) + 1)
    assert group.scored[0].scores["sp_text"] == pytest.approx(expected)
    assert group.scored[0].scores["sp_relation"] == 1.0


def test_precision_is_not_marked_without_listing(store: Store) -> None:
    study, rater, (place, *_) = one_rater(store, "fepbench")
    click(study, rater, place, *(Click(one.name, 1) for one in study.form(place)[:-1]))
    assert markings(store, "fepbench") == []


def test_repeats_are_stored_beside_first_answers(store: Store) -> None:
    fill(store, "genexam", questions=10)
    make(store, raters=["anna"], changes={"repeats": 0.3, "attention": 5})
    answer(store)
    repeats = [one.repeat for one in markings(store)]
    assert repeats.count(1) == 3 or repeats.count(1) == round(0.3 * repeats.count(0))
    assert {one.repeat for one in load_ratings(store, "genexam", "pilot")} == {0, 1}
    checks = [one for one in load_answers(store, "pilot") if one.item < 0]
    assert checks
    assert {one.field for one in checks} == {"check"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("overall", 0), ("overall", 11), ("overall", "5"), ("overall", True), ("overall", 5.5), ("point/1", 2),
     ("point/1", [1]), ("nothing", 1), ("logic", {"a": 1})],
)  # fmt: skip
def test_invalid_answers_are_refused(store: Store, name: str, value: Any) -> None:
    study, rater, (place, *_) = one_rater(store, "genexam")
    with pytest.raises(ValueError):
        click(study, rater, place, Click(name, value))
    assert load_answers(store, "pilot") == []


@pytest.mark.parametrize(
    "value",
    [1, [], {}, {"items": 1}, {"items": [1]}, {"items": [{"sort": "x", "item": "a", "place": "b"}]},
     {"items": [{"sort": "s", "item": "", "place": "b"}]}, {"items": [{"sort": "s", "item": "a"}]},
     {"items": [{"sort": "s", "item": "a" * 501, "place": "b"}]},
     {"items": [{"sort": "s", "item": "a", "place": "b"}] * 101}],
)  # fmt: skip
def test_invalid_listing_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        AnswerField("extra", "listing", "", sorts=("s",)).checked(value)
