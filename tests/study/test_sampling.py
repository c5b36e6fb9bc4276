"""Samples: seeded, spread, and with the probabilities they say."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.store import Store
from limner.study.design import SampleDesign
from limner.study.new import disagreements
from limner.study.open import open_study
from limner.study.sampling import probabilities, sample, systematic
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
