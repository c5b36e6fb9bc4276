"""What a criterion demands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.judges.ocr.demands import demand
from limner.judges.ocr.labels import LabelClaim
from limner.judges.ocr.ticks import TickClaim

WORDS = st.sampled_from(
    ["is", "are", "the", "x-axis", "y-axis", "labeled", "as", "with", "from", "0", "to", "8", "'Price'", "D^H", "and",
     "or", "top to bottom", ":", "at least", "three", "formula", "=", "(", ")", ",", "indicated", "90 m"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=80))
def test_any_text_is_read_or_left_alone(text: str) -> None:
    found = demand(text)
    assert found is None or isinstance(found, LabelClaim | TickClaim)


@pytest.mark.parametrize(
    ("text", "labels", "axes"),
    [
        ("Are the axes labeled as 'Good A' (horizontal) and 'Good B' (vertical)?", ["Good A", "Good B"], ("x", "y")),
        ("Does the graph have the x-axis labeled as time and the y-axis labeled as output?", ["time", "output"],
         ("x", "y")),
        ("Does the image show a graph with Load (N) on the vertical axis and Extension (mm) on the horizontal axis?",
         ["Load (N)", "Extension (mm)"], ("y", "x")),
        ("Is the vertical axis labeled with pressure in atm?", ["pressure (atm)"], ("y",)),
    ],
)  # fmt: skip
def test_names_of_axes(text: str, labels: list[str], axes: tuple[str, ...]) -> None:
    found = demand(text)
    assert isinstance(found, LabelClaim)
    assert ([label.text for label in found.labels], found.axes) == (labels, axes)


def test_numbers_of_an_axis_with_its_name() -> None:
    found = demand("Does the y-axis represent population in millions and range from 20 to 80?")
    assert isinstance(found, TickClaim)
    assert found.name
    assert (found.axis, found.numbers, found.name.text) == ("y", (20.0, 80.0), "population (millions)")


def test_every_year_of_a_yearly_scale() -> None:
    found = demand("Does the x-axis span yearly ticks from 1930 to 1933?")
    assert isinstance(found, TickClaim)
    assert found.numbers == (1930.0, 1931.0, 1932.0, 1933.0)
