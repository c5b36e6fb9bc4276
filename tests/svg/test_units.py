"""Lengths and the size of the picture."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.svg import BadSvg
from limner.svg.limits import LIMITS
from limner.svg.units import number, pixels, size


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("100", 100),
        (" 100px ", 100),
        ("72pt", 96),
        ("6pc", 96),
        ("1in", 96),
        ("2.54cm", 96),
        ("25.4mm", 96),
        ("101.6Q", 96),
        ("2em", 32),
        ("2rem", 32),
        ("2ex", 16),
        ("1e2", 100),
        (".5IN", 48),
        ("50%", None),
        ("auto", None),
    ],
)
def test_pixels(text: str, wanted: float | None) -> None:
    assert pixels(text, "width") == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "NaN", "inf", "12vw", "1 2", "calc(1px)", "10 px px", "0x10", "1e", "--1"])
def test_no_length(text: str) -> None:
    with pytest.raises(BadSvg, match="width"):
        pixels(text, "width")


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({"width": "100pt", "height": "50pt", "viewBox": "0 0 100 50"}, (133.333333, 66.666667, (0, 0, 100, 50))),
        ({"viewBox": "-5 -5 20 10"}, (20, 10, (-5, -5, 20, 10))),
        ({"viewBox": "0,0,20,10"}, (20, 10, (0, 0, 20, 10))),
        ({"width": "40", "height": "30"}, (40, 30, (0, 0, 40, 30))),
        ({"width": "1in", "height": "48"}, (96, 48, (0, 0, 96, 48))),
        ({"width": "40", "viewBox": "0 0 20 10"}, (40, 20, (0, 0, 20, 10))),
        ({"height": "5", "viewBox": "0 0 20 10"}, (10, 5, (0, 0, 20, 10))),
        ({"width": "100%", "height": "100%", "viewBox": "0 0 20 10"}, (20, 10, (0, 0, 20, 10))),
        ({"width": "100%", "height": "auto", "viewBox": "0 0 20 10"}, (20, 10, (0, 0, 20, 10))),
        ({"width": "", "height": "", "viewBox": "0 0 20 10"}, (20, 10, (0, 0, 20, 10))),
    ],
)
def test_size(attributes: dict[str, str], wanted: tuple[float, float, tuple[float, ...]]) -> None:
    found = size(attributes, LIMITS)
    assert (found.width, found.height, found.view) == wanted
    assert size(found.attributes(), LIMITS) == found


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({}, "viewBox"),
        ({"width": "100%", "height": "100%"}, "viewBox"),
        ({"width": "100"}, "viewBox"),
        ({"viewBox": "0 0 100"}, "four numbers"),
        ({"viewBox": "0 0 100 x"}, "four numbers"),
        ({"viewBox": "0 0 0 10"}, "width is 0"),
        ({"viewBox": "0 0 10 -1"}, "height is -1"),
        ({"viewBox": "1e9 0 10 10"}, "too far"),
        ({"viewBox": "1e999 0 10 10"}, "too far"),
        ({"width": "0", "height": "5"}, "width is 0"),
        ({"width": "5", "height": "-5"}, "height is -5"),
        ({"width": "1e7", "height": "1e7"}, "width is 1e"),
        ({"width": "nan", "height": "5"}, "no length"),
        ({"width": "1000", "height": "1"}, "too long"),
        ({"width": "50vw", "height": "1"}, "unit vw"),
    ],
)
def test_no_size(attributes: dict[str, str], told: str) -> None:
    with pytest.raises(BadSvg, match=told):
        size(attributes, LIMITS, 1)


SIDE = st.floats(0.02, 99_999)


@given(st.tuples(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5), SIDE, SIDE))
def test_a_size_that_is_written_is_read_again(view: tuple[float, float, float, float]) -> None:
    try:
        found = size({"viewBox": " ".join(map(repr, view))}, LIMITS)
    except BadSvg:
        assert max(view[2:]) > 49 * min(view[2:])
        return
    assert size(found.attributes(), LIMITS) == found


@given(st.floats(-1e9, 1e9))
def test_numbers_are_plain(value: float) -> None:
    text = number(value)
    assert "e" not in text
    assert float(text) == pytest.approx(value, abs=1e-6)
    assert number(float(text)) == text
