"""Values and styles in the form that the renderer understands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.strategies.svg import BadSvg
from limner.strategies.svg.document import LIMITS
from limner.strategies.svg.values import (
    declarations,
    number,
    parse_sheet,
    pixels,
    size,
    tidy,
    write_declarations,
    write_sheet,
)


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("fill", " red ", "red"),
        ("fill", "currentcolor", "currentColor"),
        ("fill", "NONE", "none"),
        ("fill", "rebeccapurple", "#663399"),
        ("fill", "rgb(0 128 0 / 60%)", "rgba(0, 128, 0, 0.6)"),
        ("fill", "RGB(1,2,3)", "rgb(1, 2, 3)"),
        ("fill", "hsl(0.5turn 50% 50%)", "rgb(63.75, 191.25, 191.25)"),
        ("fill", "hsla(10deg, 50%, 50%, .5)", "rgba(191.25, 85, 63.75, 0.5)"),
        ("fill", "url( '#a' ) red", "url(#a) red"),
        ("fill", "URL(#a)", "url(#a)"),
        ("transform", "rotate(45deg)", "rotate(45)"),
        ("transform", "rotate(0.5turn) translate(1cm, 2px)", "rotate(180) translate(37.795276 2)"),
        ("transform", "translateX(5px) scaleY(2)", "translate(5) scale(1 2)"),
        ("transform", "TRANSLATEY(5)", "translate(0 5)"),
        ("transform", "matrix(1,0,0,1,5,5)", "matrix(1 0 0 1 5 5)"),
        ("gradientTransform", "skewx(5)", "skewX(5)"),
        ("font-size", "1.5rem", "24px"),
        ("baseline-shift", "Sub", "-0.33em"),
        ("baseline-shift", "super", "0.5em"),
        ("font-family", "Arial", "Arial, sans-serif"),
        ("font-family", "'Times New Roman'", "'Times New Roman', serif"),
        ("font-family", "Courier New, Arial", "Courier New, Arial, monospace"),
        ("font-family", "Helvetica,sans-Serif", "Helvetica,sans-serif"),
        ("font-family", "Comic Sans MS", "Comic Sans MS, sans-serif"),
        ("font-family", "inherit", "inherit"),
        ("font", "bold 12px Georgia", "bold 12px Georgia, serif"),
        ("d", "M0 0\n  L1 1", "M0 0 L1 1"),
        ("filter", "drop-shadow(1px 1px 2px rgb(0 0 0 / .5))", "drop-shadow(1px 1px 2px rgba(0, 0, 0, 0.5))"),
    ],
)
def test_attribute_values_are_normalised(name: str, given: str, wanted: str) -> None:
    assert tidy(name, given) == wanted
    assert tidy(name, wanted) == wanted


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("fill", "url(a.svg#b)", "outside"),
        ("fill", "url(#a) url(b)", "outside"),
        ("fill", "url('#a", "outside"),
        ("fill", "var(--x)", r"var\(\)"),
        ("fill", "oklch(1 2 3)", r"oklch\(\)"),
        ("fill", "linear-gradient(red, blue)", r"linear-gradient\(\)"),
        ("width", "calc(100% - 5px)", r"calc\(\)"),
        ("fill", "rgb(1 2)", "not a colour"),
        ("fill", "hsl(5foo 1% 1%)", "not a colour"),
        ("font-size", "5vw", "5vw"),
        ("transform", "translate(50%, 0)", "without %"),
        ("transform", "rotate3d(1,1,1,5deg)", "rotate3d"),
    ],
)
def test_invalid_attribute_values_are_refused(name: str, given: str, message: str) -> None:
    with pytest.raises(BadSvg, match=message):
        tidy(name, given)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("fill: red; stroke:blue;", "fill:red;stroke:blue"),
        ("FILL: red; -webkit-x: url(http://a); cursor: pointer", "fill:red"),
        ("/* a; b */ fill: red /* c */", "fill:red"),
        ("background: #fff", "background-color:#fff"),
        ("background: #fff no-repeat", ""),
        ("font-family: 'a;b'", "font-family:'a;b', sans-serif"),
        ("--x: 5; fill:;;: red; nonsense", ""),
    ],
)
def test_declarations_are_normalised(given: str, wanted: str) -> None:
    assert write_declarations(declarations(given)) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("", ""),
        (".a{fill:red}#b,g > .c { stroke : blue ; }", ".a {fill:red}\n#b, g > .c {stroke:blue}"),
        (":root { --x: 1; color: red }", "svg {color:red}"),
        (".a:hover, .b { fill: red } .c:hover { fill: red }", ".b {fill:red}"),
        ("@media print { .a { fill: red } } .b { fill: lime }", ".b {fill:lime}"),
        ("@keyframes x { from { x: 1 } to { x: 2 } }", ""),
        ("@import 'a;b.css'; .b { fill: lime }", ".b {fill:lime}"),
        ("svg { width: 100%; height: auto; fill: red }", "svg {fill:red}"),
        ("rect[id='a'] { fill: red }", 'rect[id="a"] {fill:red}'),
        ("a { font-family: '}' }", None),
        ("a { b { fill: red } }", None),
        ("a { fill: red } }", None),
        ("circle { r: 5 }", None),
        ("li:nth-child(2) { fill: red }", None),
        ("fill: red;", None),
        ("@media print { a {", None),
        ("a { transform: rotate(5deg); transform-box: fill-box }", None),
    ],
)
def test_style_sheet_is_normalised_or_refused(given: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(BadSvg, match="style"):
            parse_sheet(given)
    else:
        assert write_sheet(parse_sheet(given)) == wanted
        assert write_sheet(parse_sheet(wanted)) == wanted


PIECES = [
    "a", " ", "{", "}", ";", ":", ",", "'", '"', "fill:red", "url(", "#a", ")", "@import", "@media", "/*", "*/",
    "rgb(1 2 3)", "!", "[x]", "font-family:",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_style_sheet_is_refused_or_stable(text: str) -> None:
    try:
        once = write_sheet(parse_sheet(text))
    except BadSvg:
        return
    assert write_sheet(parse_sheet(once)) == once
    assert "@" not in once
    assert once.count("{") == once.count("}")


LENGTHS = {
    "100": 100, "100px": 100, "72pt": 96, "6pc": 96, "1in": 96, "2.54cm": 96, "25.4mm": 96, "101.6Q": 96, "2em": 32,
    "2rem": 32, "2ex": 16, "1e2": 100, ".5IN": 48, "50%": None, "auto": None,
}  # fmt: skip


def test_length_is_converted_to_pixels() -> None:
    for text, wanted in LENGTHS.items():
        assert pixels(text, "width") == pytest.approx(wanted), text


@pytest.mark.parametrize("text", ["", "NaN", "inf", "12vw", "1 2", "calc(1px)", "10 px px", "0x10", "1e", "--1"])
def test_invalid_length_is_refused(text: str) -> None:
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
    ],
)
def test_size_is_read_from_attributes(
    attributes: dict[str, str], wanted: tuple[float, float, tuple[float, ...]]
) -> None:
    found = size(attributes, LIMITS)
    assert (found.width, found.height, found.view) == wanted
    assert size(found.attributes(), LIMITS) == found


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "viewBox"),
        ({"width": "100%", "height": "100%"}, "viewBox"),
        ({"viewBox": "0 0 100"}, "four numbers"),
        ({"viewBox": "0 0 0 10"}, "width is 0"),
        ({"viewBox": "1e9 0 10 10"}, "too far"),
        ({"width": "5", "height": "-5"}, "height is -5"),
        ({"width": "50vw", "height": "1"}, "unit vw"),
    ],
)
def test_invalid_size_is_refused(attributes: dict[str, str], message: str) -> None:
    with pytest.raises(BadSvg, match=message):
        size(attributes, LIMITS)


SIDE = st.floats(0.02, 99_999)


@given(st.tuples(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5), SIDE, SIDE))
def test_written_size_is_read_back(view: tuple[float, float, float, float]) -> None:
    try:
        found = size({"viewBox": " ".join(map(repr, view))}, LIMITS)
    except BadSvg:
        assert max(view[2:]) > 49 * min(view[2:])
        return
    assert size(found.attributes(), LIMITS) == found


@given(st.floats(-1e9, 1e9))
def test_numbers_are_written_without_exponent(value: float) -> None:
    text = number(value)
    assert "e" not in text
    assert float(text) == pytest.approx(value, abs=1e-6)
    assert number(float(text)) == text
