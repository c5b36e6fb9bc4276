"""Who rates what in which order."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.study.design import QualityDesign
from limner.study.records import StudyItem
from limner.study.sampling import StudyPlace, assign, plan_places

NONE = QualityDesign()


def drawings(count: int, painters: str = "abc") -> tuple[list[StudyItem], dict[str, str]]:
    items = [StudyItem("s", n, "drawing", f"q{n}", [f"{painters[n % len(painters)]}{n}"]) for n in range(1, count + 1)]
    return items, {item.drawings[0]: item.drawings[0][0] for item in items}


def pairs(questions: int, painters: str = "abcd") -> tuple[list[StudyItem], dict[str, str]]:
    items: list[StudyItem] = []
    for q in range(questions):
        for one, other in combinations(painters, 2):
            items.append(StudyItem("s", len(items) + 1, "pair", f"q{q}", [f"{one}{q}", f"{other}{q}"]))
    return items, {id: id[0] for item in items for id in item.drawings}


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 8), st.integers(0, 5))
def test_each_item_gets_requested_raters_and_loads_are_even(items: int, raters: int, each: int, seed: int) -> None:
    names = [f"r{n}" for n in range(raters)]
    found = assign(range(1, items + 1), names, each, seed)
    counts = Counter(item for given in found.values() for item in given)
    assert counts == dict.fromkeys(range(1, items + 1), min(each, raters))
    loads = [len(given) for given in found.values()]
    assert max(loads) - min(loads) <= 1
    assert all(len(set(given)) == len(given) for given in found.values())


def test_rater_pairs_share_similar_numbers_of_items() -> None:
    found = assign(range(1, 121), [f"r{n}" for n in range(6)], 3, 0)
    shared = [len({*found[a]} & {*found[b]}) for a, b in combinations(found, 2)]
    assert max(shared) - min(shared) <= 4
    assert sum(shared) == 120 * 3


def test_drawings_of_each_painter_are_spread_over_session() -> None:
    items, painters = drawings(90)
    places = plan_places(items, painters, ["r1", "r2"], 2, NONE, 0)
    for mine in places.values():
        for start in range(0, 90, 30):
            seen = Counter(painters[items[place.item - 1].drawings[0]] for place in mine[start : start + 30])
            assert max(seen.values()) - min(seen.values()) <= 3
    one, other = ([place.item for place in mine] for mine in places.values())
    assert one != other
    assert sorted(one) == sorted(other)


def test_pair_sides_are_balanced_by_pair_rater_and_painter() -> None:
    items, painters = pairs(10)
    places = plan_places(items, painters, [f"r{n}" for n in range(4)], 4, NONE, 0)
    first = Counter[tuple[str, ...]]()
    for rater, mine in places.items():
        for place in mine:
            item = items[place.item - 1]
            shown = painters[item.drawings[place.order[0]]]
            first.update([("item", str(item.n), shown), ("rater", rater, shown), ("painter", shown)])
    assert all(count == 2 for key, count in first.items() if key[0] == "item")
    for key, count in first.items():
        if key[0] == "rater":
            assert 12 <= count <= 18  # Of 30 showings.
        if key[0] == "painter":
            assert count == 60


def test_rank_positions_are_balanced() -> None:
    items = [StudyItem("s", n, "rank", f"q{n}", [f"{p}{n}" for p in "abcde"]) for n in range(1, 41)]
    painters = {id: id[0] for item in items for id in item.drawings}
    places = plan_places(items, painters, ["r1"], 1, NONE, 0)["r1"]
    seen = Counter((painters[items[p.item - 1].drawings[i]], spot) for p in places for spot, i in enumerate(p.order))
    assert min(seen.values()) >= 5
    assert max(seen.values()) <= 11


def test_repeats_come_late_once_and_in_different_order() -> None:
    items, painters = pairs(10)
    places = plan_places(items, painters, ["r1"], 1, QualityDesign(repeats=0.1), 0)["r1"]
    again = [n for n, place in enumerate(places) if place.repeat]
    assert len(again) == 6
    for n in again:
        before = next(m for m, place in enumerate(places) if place.item == places[n].item and not place.repeat)
        assert before < n
        assert n >= len(items) * 2 // 3


def test_attention_checks_come_at_requested_rate() -> None:
    items, painters = drawings(100)
    places = plan_places(items, painters, ["r1"], 1, QualityDesign(attention=25), 0)["r1"]
    checks = [n for n, place in enumerate(places) if place.check is not None]
    assert len(checks) == 4
    assert all(1 <= (places[n].check or 0) <= 5 for n in checks)
    assert len({places[n].item for n in checks}) == 4
    assert all(b - a <= 51 for a, b in pairwise([0, *checks]))


def test_picture_names_are_unique() -> None:
    items, painters = drawings(20)
    found = [plan_places(items, painters, ["r1", "r2"], 2, QualityDesign(repeats=0.2), 0) for _ in range(2)]
    assert found[0] == found[1]  # Everything but the names is seeded.
    names = [name for each in found for mine in each.values() for place in mine for name in place.names]
    assert len(set(names)) == len(names)
    assert all(len(name) == 24 for name in names)


@pytest.mark.parametrize("place", [StudyPlace(3, 1, (1, 0), ("a", "b")), StudyPlace(-1, 0, (), (), 4)])
def test_place_round_trips_through_json(place: StudyPlace) -> None:
    assert StudyPlace.from_json(place.to_json()) == place
    assert StudyPlace.from_json(place.to_json()).names == place.names
