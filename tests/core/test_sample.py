from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.core.exam import Selection
from limner.core.sample import shares, stratified
from limner.running.setup import load_exam_or_data
from tests.needs import shared

SIZES = st.dictionaries(st.text(max_size=4), st.integers(0, 60), max_size=9)
Item = tuple[int, str, str]
ITEMS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=60).map(
    lambda pairs: [(n, *pair) for n, pair in enumerate(pairs)]
)


def pick(items: list[Item], n: int, seed: int = 0) -> list[Item]:
    return stratified(items, n, seed, [lambda one: one[1], lambda one: one[2]], lambda one: str(one[0]))


@given(SIZES, st.integers(0, 400))
def test_shares_are_whole_numbers_next_to_the_exact_ones(sizes: dict[str, int], n: int) -> None:
    found, whole = shares(sizes, n), sum(sizes.values())
    assert sum(found.values()) == min(n, whole)
    for name, size in sizes.items():
        assert 0 <= found[name] <= size
        if whole:
            assert abs(found[name] - Fraction(size * min(n, whole), whole)) < 1


@given(SIZES, st.integers(0, 400))
def test_who_is_rounded_up_has_the_larger_remainder(sizes: dict[str, int], n: int) -> None:
    found, whole = shares(sizes, n), sum(sizes.values())
    exact = {name: Fraction(size * min(n, whole), whole or 1) for name, size in sizes.items()}
    up = [exact[name] % 1 for name in sizes if found[name] > exact[name]]
    down = [exact[name] % 1 for name in sizes if found[name] < exact[name]]
    assert not up or not down or min(up) >= max(down)


@given(SIZES, st.integers(0, 400))
def test_a_larger_group_never_gets_less(sizes: dict[str, int], n: int) -> None:
    found = shares(sizes, n)
    assert all(found[a] >= found[b] for a in sizes for b in sizes if sizes[a] > sizes[b])


@given(ITEMS, st.integers(0, 80), st.integers(), st.randoms())
def test_a_sample_is_as_large_as_asked_for_and_does_not_hang_on_the_order(
    items: list[Item], n: int, seed: int, chance: object
) -> None:
    found = pick(items, n, seed)
    assert len(found) == min(n, len(items))
    assert found == sorted(set(found))  # In the order of the exam, none twice.
    mixed = list(items)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert sorted(pick(mixed, n, seed)) == found


@given(ITEMS, st.integers(0, 80), st.integers())
def test_groups_and_the_groups_within_them_keep_their_shares(items: list[Item], n: int, seed: int) -> None:
    found = pick(items, n, seed)
    taken = Counter(one[1] for one in found)
    assert +taken == +Counter(shares(Counter(one[1] for one in items), n))
    for outer, room in taken.items():
        inner = Counter(one[2] for one in found if one[1] == outer)
        assert +inner == +Counter(shares(Counter(one[2] for one in items if one[1] == outer), room))


def test_another_seed_takes_others() -> None:
    items = [(n, "a", "x") for n in range(100)]
    assert pick(items, 10, 1) == pick(items, 10, 1)
    assert len({tuple(pick(items, 10, seed)) for seed in range(20)}) == 20
    # Over many seeds everybody has the same chance, within five deviations of a coin that falls one time in ten.
    often = Counter(one[0] for seed in range(400) for one in pick(items, 10, seed))
    assert all(40 - 30 < often[n] < 40 + 30 for n in range(100))


def test_a_sample_of_genexam_is_not_all_biology() -> None:
    named, whole = load_exam_or_data("genexam", shared("data", "genexam"), "nowhere")
    breakdowns = exams.kind(named.kind).protocol.breakdowns
    first = Counter(q.tags["subject"] for q in whole.select(Selection(limit=150)).questions)
    assert set(first) == {"Biology"}
    found = Counter(q.tags["subject"] for q in whole.select(Selection(sample=150), breakdowns).questions)
    everyone = Counter(q.tags["subject"] for q in whole.questions)
    assert found == Counter(shares(everyone, 150))
    assert len(found) == len(everyone)


@pytest.mark.parametrize("sample", ["genexam", "mmmg", "worldgenbench", "fepbench", "aibench"])
def test_every_exam_says_what_it_is_spread_over(sample: str) -> None:
    named, whole = load_exam_or_data(f"sample/{sample}", None, "nowhere")
    breakdowns = exams.kind(named.kind).protocol.breakdowns
    assert breakdowns
    assert len(whole.select(Selection(sample=3), breakdowns).questions) == 3
