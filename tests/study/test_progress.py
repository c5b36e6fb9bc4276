"""Who takes part: seats are added, people are forgotten, inattentive raters are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.core.errors import StoreError, UsageError
from limner.core.redaction import token_hash
from limner.store import Store
from limner.store.markings import load_markings, load_ratings
from limner.store.records import load_setups
from limner.study.answers import Click, save_clicks, stored_click
from limner.study.exchange import answer_rows
from limner.study.open import open_study, places_of
from limner.study.progress import add_seats, forget, leave_out, progress_of
from limner.study.records import load_answers, load_rater, load_raters
from tests.study.made import answer, fill, make, usual


def marked_by(store: Store) -> set[str]:
    setups = load_setups(store)
    rows: list[Any] = [
        *(row for row in load_markings(store, "genexam") if row.origin == "study"),
        *load_ratings(store, "genexam"),
    ]
    return {str(setups[row.setup]["judge"]) for row in rows}


def test_forgotten_person_leaves_nothing_in_store_and_exports(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        fill(store, "genexam")
        make(store, raters=["anna-unforgettable", "ben"])
        study = answer(store)
        before = places_of(load_rater(store, "pilot", "anna-unforgettable"))
        seat, token = forget(store, "pilot", "anna-unforgettable")
        assert {rater.rater for rater in load_raters(store, "pilot")} == {seat, "ben"}
        free = load_rater(store, "pilot", seat)
        assert free.token == token_hash(token)
        assert "consent" not in free.body
        assert [place.item for place in places_of(free)] == [place.item for place in before]
        assert not {name for p in places_of(free) for name in p.names} & {name for p in before for name in p.names}
        assert marked_by(store) == {"person/ben"}
        assert {row["rater"] for row in answer_rows(study)} == {"ben"}
        with pytest.raises(StoreError, match="no rater 'anna-unforgettable'"):
            forget(store, "pilot", "anna-unforgettable")
        # The log counts too, while a server has the store open.
        files = [path for path in (tmp_path / "store").iterdir() if path.is_file()]
        assert not [path.name for path in files if b"unforgettable" in path.read_bytes()]


def test_added_seats_have_places_and_new_names(store: Store) -> None:
    fill(store, "genexam")
    make(store, raters=["anna"])
    tokens = add_seats(store, "pilot", ["cem"], None)
    assert load_rater(store, "pilot", "cem").token == token_hash(tokens["cem"])
    assert load_rater(store, "pilot", "cem").body["named"], "the panel's link does not give this seat away"
    study = open_study(store, "pilot")
    assert {place.item for place in places_of(load_rater(store, "pilot", "cem")) if place.item > 0} == set(study.items)
    assert list(add_seats(store, "pilot", [], 2)) == ["r1", "r2"]
    assert not load_rater(store, "pilot", "r1").body["named"]
    with pytest.raises(UsageError, match="already has a rater 'cem'"):
        add_seats(store, "pilot", ["cem"], None)


def test_inattentive_raters_are_left_out_and_taken_in_again(store: Store) -> None:
    def careless(rater: str, place: Any, field: Any) -> Any:
        if field.kind == "check" and rater == "anna":
            return place.check % 5 + 1
        return usual(rater, place, field)

    fill(store, "genexam")
    make(store, raters=["anna", "ben"], changes={"attention": 2})
    study = answer(store, rule=careless)
    assert marked_by(store) == {"person/anna", "person/ben"}
    before = progress_of(study)
    (left,) = leave_out(study, 0.8)
    assert (left.rater, left.passed) == ("anna", 0)
    assert left.checks > 0
    assert marked_by(store) == {"person/ben"}
    assert [rater.rater for rater in progress_of(study).raters if rater.left_out] == ["anna"]
    assert {each.rater for each in load_answers(store, "pilot")} == {"anna", "ben"}
    assert {row["rater"] for row in answer_rows(study)} == {"ben"}
    assert [field.n for field in progress_of(study).fields] == [0] * len(before.fields)
    assert all(field.n for field in before.fields)

    # What a rater who is left out still answers does not count either.
    anna = load_rater(store, "pilot", "anna")
    place = next(place for place in places_of(anna) if place.item > 0)
    field = study.form(place)[0]
    clicks = [stored_click(place, study.form(place), Click(field.name, usual("anna", place, field)))]
    store.write(lambda connection: save_clicks(connection, study, anna, place, clicks))
    assert marked_by(store) == {"person/ben"}

    assert leave_out(study, 0.0) == []
    assert marked_by(store) == {"person/anna", "person/ben"}


def test_ratings_before_a_skip_do_not_count(store: Store) -> None:
    fill(store, "genexam")
    make(store, raters=["anna"], changes={"repeats": 0.0, "attention": 0})
    study, rater = open_study(store, "pilot"), load_raters(store, "pilot")[0]
    place = places_of(rater)[0]
    for given in (Click("overall", 9), Click("skip", 1, "cannot see it")):
        kept = [stored_click(place, study.form(place), given)]

        def operation(connection: sa.Connection, kept: list[Click] = kept) -> bool:
            return save_clicks(connection, study, rater, place, kept)

        store.write(operation)
    (rating,) = load_ratings(store, "genexam", "pilot")
    assert (rating.value, rating.reason) == (None, "cannot see it")
    assert [row["criterion"] for row in answer_rows(study)] == ["skip"]
