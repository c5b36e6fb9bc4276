"""What evaluators say besides criteria comes back as it was kept, each in one place."""

from __future__ import annotations

from dataclasses import replace

from limner.store import Store
from limner.store.markings import (
    PainterMetric,
    PairChoice,
    Rating,
    load_comparisons,
    load_painter_metrics,
    load_ratings,
    save_ratings,
)
from limner.store.records import Drawing, evaluator_kinds, save_drawing, save_setup
from limner.store.schema import exams
from tests.store.places import NO_BUCKET

pytestmark = NO_BUCKET


def prepare(store: Store) -> None:
    store.write(lambda c: store.insert_new(c, exams, {"name": "e", "kind": "genexam", "created": 0.0}))
    for id in ("d1", "d2"):
        save_drawing(store, Drawing(id, "e", "q", "h", id, id, "direct", 0, "done")).result()
    save_setup(store, "anna", {"judge": "person/anna", "study": "s"}, "person")
    save_setup(store, "fid", {"judge": "metric/fid"}, "metric")


def test_ratings_round_trip_and_later_rating_replaces_earlier(store: Store) -> None:
    prepare(store)
    first = Rating("d1", "anna", "overall", 7.0, "s", seconds=3.5)
    again = replace(first, repeat=1, value=6.0, created=first.created + 1)
    skipped = Rating("d2", "anna", "overall", None, "s", reason="too small", created=first.created + 2)
    save_ratings(store, [first, again, skipped]).result()
    assert list(load_ratings(store, "e", "s")) == [first, again, skipped]
    changed = replace(first, value=8.0, created=first.created + 3)
    save_ratings(store, [changed]).result()
    assert list(load_ratings(store, "e")) == [again, skipped, changed]
    assert list(load_ratings(store, "e", "other")) == list(load_ratings(store, "f")) == []


def test_pair_choice_is_stored_once_in_either_order(store: Store) -> None:
    prepare(store)
    one = PairChoice("e", "q", "d1", "d2", "anna", "logic", "first", "second", "s")
    other = PairChoice("e", "q", "d2", "d1", "anna", "logic", "tie", "first", "s")
    save_ratings(store, [one]).result()
    assert list(load_comparisons(store, "e", "s")) == [one]
    save_ratings(store, [other]).result()
    assert list(load_comparisons(store, "e")) == [other]


def test_painter_metrics_round_trip(store: Store) -> None:
    prepare(store)
    fid = PainterMetric("e", "d1", "fid", 31.5, n=2048, body={"reference": "mine"})
    save_ratings(store, [fid]).result()
    assert list(load_painter_metrics(store, "e")) == [fid]
    assert evaluator_kinds(store) == {"anna": "person", "fid": "metric"}
