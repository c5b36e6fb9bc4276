"""Studies as rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from limner.core.errors import StoreError
from limner.store import Store
from limner.store.records import add_exam, evaluator_kinds, load_setups
from limner.study.records import (
    Study,
    StudyItem,
    StudyRater,
    has_study,
    inclusion,
    load_answers,
    load_items,
    load_rater,
    load_raters,
    load_study,
    save_person,
    save_rater,
    save_study,
    study_names,
)


@pytest.fixture
def kept(store: Store) -> Store:
    from limner import exams

    add_exam(store, exams.read(exams.resolve("sample/genexam")))
    return store


def test_study_is_loaded_as_saved(kept: Store) -> None:
    study = Study("pilot", "sample/genexam", "open", {"design": {"raters": 5}})
    items = [StudyItem("pilot", n, "drawing", f"q{n}", [f"d{n}"], "easy", 0.5) for n in (1, 2)]
    setup = save_person(kept, "anna", "pilot")
    rater = StudyRater("pilot", "anna", "h" * 64, setup, {"places": []})
    save_study(kept, study, items, [rater])
    assert replace(load_study(kept, "pilot"), updated=study.updated) == study
    assert load_items(kept, "pilot") == items
    assert load_raters(kept, "pilot") == [rater]
    assert load_answers(kept, "pilot") == []
    assert study_names(kept) == study_names(kept, "sample/genexam") == ["pilot"]
    assert study_names(kept, "genexam") == []
    changed = save_rater(kept, replace(rater, body={"places": [], "consent": 1.0}))
    assert load_rater(kept, "pilot", "anna") == changed
    assert has_study(kept, "pilot")


def test_person_is_stored_as_evaluator_of_kind_person(kept: Store) -> None:
    id = save_person(kept, "anna", "pilot")
    assert load_setups(kept)[id] == {"judge": "person/anna", "study": "pilot"}
    assert evaluator_kinds(kept)[id] == "person"
    assert id == save_person(kept, "anna", "pilot") != save_person(kept, "anna", "other")


def test_missing_study_error_lists_existing_studies(kept: Store) -> None:
    with pytest.raises(StoreError, match="limner study new"):
        load_study(kept, "pilot")
    save_study(kept, Study("pilot", "sample/genexam", "open", {}))
    with pytest.raises(StoreError, match="no study 'other'; it has: pilot"):
        load_study(kept, "other")
    with pytest.raises(StoreError, match="no rater 'ben'"):
        load_rater(kept, "pilot", "ben")


def test_drawing_probability_is_highest_of_its_items() -> None:
    items = [StudyItem("s", 1, "pair", "q", ["a", "b"], "", 0.25), StudyItem("s", 2, "pair", "q", ["a", "c"], "", 0.5)]
    assert inclusion(items) == {"a": 0.5, "b": 0.25, "c": 0.5}
