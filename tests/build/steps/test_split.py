"""The split: whole topics to one side, nothing of an exam in training, pictures of people in the exam alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from limner.build.base import BuildItem, Dropped
from limner.build.steps.split import SplitSettings, split
from limner.core.training import plain

WORDS = ("water cycle", "atom", "heart", "jazz", "prime numbers", "the water cycle")


def item(n: int, concept: str, topic: str, origin: str = "synthetic", prompt: str = "") -> BuildItem:
    body = {"concept": concept, "topic": topic, "prompt": prompt or f"Draw {concept} number {n}.", "origin": origin}
    return BuildItem(f"i{n:02}", body)


def parted(items: list[BuildItem], **how: Any) -> dict[str, Any]:
    bench: Any = SimpleNamespace(settings=SplitSettings(**how), folder=Path())
    left = asyncio.run(split(items, bench))
    return {id: one.reason if isinstance(one, Dropped) else one.body["part"] for id, one in left.items()}  # type: ignore[union-attr]


@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 3), st.sampled_from(["real", "synthetic"])), max_size=14),
    st.floats(0, 1),
    st.integers(0, 3),
)
def test_no_topic_and_no_concept_stands_on_both_sides(
    drawn: list[tuple[str, int, str]], share: float, seed: int
) -> None:
    items = [item(n, concept, f"{concept[:3]}{topic}", origin) for n, (concept, topic, origin) in enumerate(drawn)]
    parts = parted(items, test=share, seed=seed)
    assert parts.keys() == {one.id for one in items}
    test, train = ([one for one in items if parts[one.id] == part] for part in ("test", "train"))
    assert not {one.body["topic"] for one in test} & {one.body["topic"] for one in train}
    assert all(one.body["origin"] == "synthetic" for one in train)
    for one in train:
        for other in test:
            assert f" {plain(one.body['concept'])} " not in f" {plain(other.body['prompt'])} "
            assert plain(one.body["concept"]) != plain(other.body["concept"])
    if share == 0:
        assert test == []


def test_a_named_exam_is_not_given_away() -> None:
    items = [item(0, "closed control loop", "a"), item(1, "jazz", "b"), item(2, "genome editing", "c")]
    assert parted(items, test=0, exam="sample/mmmg") == {
        "i00": "stands in sample/mmmg", "i01": "train", "i02": "stands in sample/mmmg"
    }  # fmt: skip
    assert set(parted(items, test=0).values()) == {"train"}


def test_pictures_of_people_go_to_the_exam_first() -> None:
    items = [item(n, f"thing{n}", f"t{n}", "real" if n % 2 else "synthetic") for n in range(10)]
    parts = parted(items, test=0.5)
    assert {id for id, part in parts.items() if part == "test"} == {
        one.id for one in items if one.body["origin"] == "real"
    }
    assert parted(items, test=0.2).keys() == parts.keys()
    assert "not for training" in parted(items, test=0.2).values()
    assert "not for training" not in parted(items, test=0.2, train_origins=["real", "synthetic"]).values()
