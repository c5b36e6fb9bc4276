"""Values and styles in the form that the renderer understands."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.svg import BadSvg
from limner.svg.css import declarations, sheet, write_declarations, write_sheet
from limner.svg.values import tidy


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("fill", " red ", "red"),
        ("fill", "currentcolor", "currentColor"),
        ("fill", "NONE", "none"),
        ("fill", "rebeccapurple", "#663399"),
        ("fill", "rgb(0 128 0 / 60%)", "rgba(0, 128, 0, 0.6)"),
        ("fill", "RGB(1,2,3)", "rgb(1, 2, 3)"),
        ("fill", "hsl(0.5turn 50% 50%)", "hsl(180, 50%, 50%)"),
        ("fill", "hsla(10deg, 50%, 50%, .5)", "hsla(10, 50%, 50%, .5)"),
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
        ("font-family", "Comic Sans MS !important", "Comic Sans MS, sans-serif !important"),
        ("font-family", "inherit", "inherit"),
        ("font", "bold 12px Georgia", "bold 12px Georgia, serif"),
        ("d", "M0 0\n  L1 1", "M0 0 L1 1"),
        ("filter", "drop-shadow(1px 1px 2px rgb(0 0 0 / .5))", "drop-shadow(1px 1px 2px rgba(0, 0, 0, .5))"),
    ],
)
def test_tidy(name: str, given: str, wanted: str) -> None:
    assert tidy(name, given) == wanted
    assert tidy(name, wanted) == wanted


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("fill", "url(http://a.example)", "outside"),
        ("fill", "url(a.svg#b)", "outside"),
        ("fill", "url(#a) url(b)", "outside"),
        ("fill", "url('#a", "outside"),
        ("fill", "var(--x)", r"var\(\)"),
        ("fill", "oklch(1 2 3)", r"oklch\(\)"),
        ("fill", "linear-gradient(red, blue)", r"linear-gradient\(\)"),
        ("width", "calc(100% - 5px)", r"calc\(\)"),
        ("clip-path", "circle(50%)", r"circle\(\)"),
        ("fill", r"\72 ed", "backslash"),
        ("fill", "r/**/ed", "comment"),
        ("fill", "rgb(1 2)", "no colour"),
        ("fill", "hsl(5foo 1% 1%)", "no colour"),
        ("font-size", "5vw", "5vw"),
        ("transform", "translate(50%, 0)", "unit %"),
        ("transform", "rotate3d(1,1,1,5deg)", "rotate3d"),
    ],
)
def test_not_taken(name: str, given: str, told: str) -> None:
    with pytest.raises(BadSvg, match=told):
        tidy(name, given, 3)


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
def test_declarations(given: str, wanted: str) -> None:
    assert write_declarations(declarations(given, None, Counter())) == wanted


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
        ("rect[id='a'] { fill: red }", "rect[id='a'] {fill:red}"),
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
def test_sheet(given: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(BadSvg, match="style"):
            sheet(given, 2, Counter())
    else:
        assert write_sheet(sheet(given, 2, Counter())) == wanted
        assert write_sheet(sheet(wanted, 2, Counter())) == wanted


PIECES = [
    "a",
    " ",
    "{",
    "}",
    ";",
    ":",
    ",",
    "'",
    '"',
    "fill:red",
    "url(",
    "#a",
    ")",
    "@import",
    "@media",
    "/*",
    "*/",
    "rgb(1 2 3)",
    "!",
    "[x]",
    "font-family:",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_sheet_is_refused_or_stays_as_it_is_written(text: str) -> None:
    try:
        once = write_sheet(sheet(text, None, Counter()))
    except BadSvg:
        return
    assert write_sheet(sheet(once, None, Counter())) == once
    assert "@" not in once
    assert once.count("{") == once.count("}")
