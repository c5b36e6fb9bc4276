"""Samples, seeded and with the probabilities they say, and places: who rates what in which order."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.store import Store
from limner.study.design import QualityDesign, SampleDesign
from limner.study.new import disagreements
from limner.study.open import open_study
from limner.study.records import StudyItem
from limner.study.sampling import StudyPlace, assign, plan_places, probabilities, sample, systematic
from tests.study.made import PAINTER, fill, make

ITEMS = {f"q{n}": {"level": "abc"[n % 3], "kind": "xy"[n % 2]} for n in range(60)}


def take(**how: object) -> list[tuple[str, str, float]]:
    design = SampleDesign.model_validate({"of": "references", **how})
    found = sample(ITEMS, design)
    return [(one.name, one.stratum, one.probability) for one in found]


def test_each_cell_of_crossed_tags_gets_requested_number() -> None:
    found = take(each=4, cross=["level", "kind"])
    assert Counter(stratum for _, stratum, _ in found) == dict.fromkeys(
        ["a / x", "a / y", "b / x", "b / y", "c / x", "c / y"], 4
    )
    assert {probability for _, _, probability in found} == {0.4}


def test_sample_depends_on_seed_and_not_on_order() -> None:
    assert take(size=10) == take(size=10)
    assert take(size=10, seed=1) != take(size=10)
    design = SampleDesign(of="references", size=10)
    turned = sample(dict(reversed(ITEMS.items())), design)
    assert {one.name for one in turned} == {name for name, _, _ in take(size=10)}


def test_strata_are_sampled_proportionally() -> None:
    found = take(size=12, strata=["level"])
    assert Counter(stratum for _, stratum, _ in found) == {"a": 4, "b": 4, "c": 4}
    assert {probability for _, _, probability in found} == {0.2}


def test_all_are_taken_if_sample_exceeds_population() -> None:
    assert {probability for _, _, probability in take(size=1000)} == {1.0}


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=30), st.integers(1, 30))
def test_probabilities_sum_to_sample_size(sizes: list[float], n: int) -> None:
    found = probabilities({str(place): size for place, size in enumerate(sizes)}, n)
    assert all(0 < chance <= 1 for chance in found.values())
    assert sum(found.values()) == pytest.approx(min(n, len(sizes)))
    assert len(systematic(found, "seed")) == min(n, len(sizes))


def test_sampling_frequency_matches_probability() -> None:
    chances = probabilities({"a": 0.1, "b": 0.2, "c": 0.9, "d": 0.4, "e": 0.4}, 2)
    rounds = 4000
    seen = Counter(name for seed in range(rounds) for name in systematic(chances, str(seed)))
    for name, chance in chances.items():
        # Four standard errors.
        assert abs(seen[name] / rounds - chance) <= 4 * (chance * (1 - chance) / rounds) ** 0.5 + 1e-9


def test_disagreement_sampling_prefers_disputed_drawings(store: Store) -> None:
    fill(store, "genexam", questions=20, judges=("fake/judge", "fake/other"))
    make(store, changes={"by": "disagreement", "size": 6})
    study, gaps = open_study(store, "pilot"), disagreements(store, "genexam")
    mine = {id: gap for id, gap in gaps.items() if _by(study.store, id) == PAINTER}
    expected = probabilities({id: 0.1 + gap for id, gap in mine.items()}, 6)
    assert len(study.items) == 6
    for item in study.items.values():
        assert item.probability == pytest.approx(expected[item.drawings[0]])
    assert len({item.probability for item in study.items.values()}) > 1
    assert all(0 <= gap <= 1 for gap in gaps.values())


def _by(store: Store, drawing: str) -> str:
    from limner.store.records import load_drawings

    return next(one.painter for one in load_drawings(store, "genexam") if one.id == drawing)


def test_disagreement_needs_two_judges(store: Store) -> None:
    fill(store, "genexam", judges=("fake/judge",))
    with pytest.raises(UsageError, match="two judges"):
        make(store, changes={"by": "disagreement"})


def test_repeats_of_one_judge_are_not_disagreement(store: Store) -> None:
    fill(store, "genexam", judges=("fake/judge",), repeats=3)
    assert disagreements(store, "genexam") == {}


def test_disagreement_matches_hand_computed_value(store: Store) -> None:
    from limner.store.markings import Marking, save_marking
    from limner.store.records import load_drawings, save_setup

    fill(store, "genexam", judges=())
    one = next(drawing for drawing in load_drawings(store, "genexam") if drawing.status == "done")
    for judge, spelling, point in (("a", 2, 1), ("b", 1, 1), ("c", 0, 0)):
        save_setup(store, judge, {"judge": judge})
        marks = [{"criterion": "spelling", "value": spelling}, {"criterion": "point/1", "value": point}]
        save_marking(
            store, Marking(judge, one.id, one.question_hash, one.image, judge, 0, "done", marks=marks)
        ).result()  # fmt: skip
    # Spelling: 0.5, 1, 0.5; the point: 0, 1, 1.
    assert disagreements(store, "genexam") == {one.id: pytest.approx((0.5 + 1 + 0.5 + 0 + 1 + 1) / 6)}


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
