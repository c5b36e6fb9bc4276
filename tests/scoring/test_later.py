"""Numbers that are worked out when they are looked at, and resamples that are drawn once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.marks import Mark
from limner.scoring.numbers import Later
from limner.scoring.stats import resample
from limner.scoring.stats.types import SEED


def test_a_mapping_is_made_once_and_only_when_it_is_looked_into() -> None:
    made: list[int] = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"a": 1}

    found = Later(make)
    assert made == []
    assert found["a"] == 1
    assert (dict(found), len(found), found == {"a": 1}) == ({"a": 1}, 1, True)
    assert made == [1]


@pytest.mark.parametrize("few", [0, 10_000])
@pytest.mark.parametrize("size", [1, 7, 300])
def test_weights_are_the_same_drawn_and_kept(size: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resample, "AT_ONCE", 100)
    monkeypatch.setattr(resample, "FEW_WEIGHTS", few)
    monkeypatch.setattr(resample, "_kept", type(resample._kept)())
    generator = np.random.default_rng(SEED)
    whole = generator.multinomial(size, np.full(size, 1 / size), size=20)
    for _ in range(2):  # Drawn, then taken again.
        assert np.array_equal(np.concatenate([*resample._weights(size, 20)]), whole)
    assert {block.itemsize for block in resample._kept[size, 20]} == {8 if few else 1}


def test_kept_weights_never_take_more_than_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resample, "KEPT", 100)
    monkeypatch.setattr(resample, "FEW_WEIGHTS", 0)
    monkeypatch.setattr(resample, "_kept", type(resample._kept)())
    for size in (3, 4, 5, 50):
        list(resample._weights(size, 10))
    assert [size for size, _ in resample._kept] == [4, 5]


MARKS = st.builds(Mark, st.text(max_size=3), st.integers(0, 2), st.text(max_size=5), st.text(max_size=3)) | st.builds(
    Mark.abstain, st.text(max_size=3), st.text(max_size=5)
)


@given(MARKS)
def test_a_mark_comes_back_from_json_as_it_was(mark: Mark) -> None:
    assert Mark.from_json(mark.to_json()) == mark
    assert Mark.from_json({"criterion": "x", "value": 1}) == Mark("x", 1)


def test_a_mark_that_contradicts_itself_is_refused_from_json_too() -> None:
    with pytest.raises(ValueError, match="a value goes with an answer"):
        Mark.from_json({**Mark("x", 1).to_json(), "verdict": "abstain"})
