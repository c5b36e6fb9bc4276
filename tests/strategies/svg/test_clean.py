"""What stays, what goes, what is refused."""

from __future__ import annotations

import pytest

from limner.strategies.svg import BadSvg, SvgLimits, clean, clean_with_notes
from tests.strategies.svg import harmless
from tests.strategies.svg.corpus import CORPUS
from tests.strategies.svg.hostile import HEAD

START = '<svg xmlns="http://www.w3.org/2000/svg" height="100" viewBox="0 0 100 100" width="100">'


def inside(body: str, **limits: float) -> str:
    """What is left of a body."""
    done = clean(f"{HEAD}{body}</svg>", SvgLimits(**limits))  # type: ignore[arg-type]
    if done == START[:-1] + "/>\n":
        return ""
    assert done.startswith(START)
    return done.removeprefix(START).removesuffix("</svg>\n")


@pytest.mark.parametrize("name", CORPUS)
def test_corpus_is_accepted_and_cleaning_is_idempotent(name: str) -> None:
    once = clean(CORPUS[name])
    harmless.check(once)
    assert clean(once) == once
    assert clean(once.encode()) == once
    assert clean(once.encode("utf-16")) == once


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ('<rect y="2" x="1"/>', '<rect x="1" y="2"/>'),
        ("<g> words <g/></g>", "<g><g/></g>"),
        ("<!-- a --><g/><?b c?>", "<g/>"),
        ("<text> a <tspan>b</tspan>\n</text>", "<text> a <tspan>b</tspan>\n</text>"),
        ("<text>a<!-- b -->c<![CDATA[<d>]]></text>", "<text>ac&lt;d&gt;</text>"),
        ("<text><a href='http://a.example'>b</a></text>", "<text><a>b</a></text>"),
        ("<g id=' a ' class='b  c' data-x='1' aria-label='2' role='img'/>", '<g class="b c" id="a"/>'),
        ("<g xlink:title='t' xml:space='preserve' xml:base='b'/>", '<g xml:space="preserve"/>'),
        ("<use xlink:href='#a' href='#b'/><g id='b'/>", '<use href="#b"/><g id="b"/>'),
        ("<rect style='fill:red; x: 5px; cursor: help'/>", '<rect style="fill:red" x="5px"/>'),
        ("<rect x='1' style='x: 5px'/>", '<rect x="5px"/>'),
        ("<g transform='scale(2)' style='transform: rotate(45deg) !important'/>", '<g transform="rotate(45)"/>'),
        ("<text x='1' style='x: 5px; fill: red'/>", '<text style="fill:red" x="1"/>'),
        ("<style>@import 'x'; </style>", "<style/>"),
        ("<style type='text/less'>a { fill: red }</style>", "<style/>"),
        ("<style media='print'>a { fill: red }</style>", "<style/>"),
        ("<metadata><a/></metadata><x:y xmlns:x='z'><g/></x:y>", ""),
        ("<title>A &amp; b</title>", "<title>A &amp; b</title>"),
        ("<g fill='' filter='url(#lost)'/>", "<g/>"),
        ("<g style='filter:url(#lost)'/><style>g { filter: url(#lost) }</style>", "<g/><style/>"),
        ("<g clip-path='url(#lost)'/>", '<g clip-path="url(#lost)"/>'),
        ("<path d='M0 0&#10;L1 1'/>", '<path d="M0 0 L1 1"/>'),
    ],
)
def test_svg_is_normalised(body: str, wanted: str) -> None:
    assert inside(body) == wanted


def test_words_include_only_drawn_text() -> None:
    found = clean_with_notes(
        f"{HEAD}<title>no</title><text>a<title>no</title><tspan>b</tspan></text><desc>no</desc></svg>"
    )
    assert found.words.split() == ["a", "b"]


def test_error_messages_name_line() -> None:
    with pytest.raises(BadSvg, match=r"^line 3: <sub>: no such element is drawn in SVG$") as raised:
        clean(f"{HEAD}\n<g/>\n<text>H<sub>2</sub>O</text></svg>")
    assert raised.value.line == 3


@pytest.mark.parametrize(
    ("body", "limits", "message"),
    [
        ("<g/><g/>", {"elements": 2}, "2 elements"),
        ("<g><g/></g>", {"depth": 2}, "2 deep"),
        ("<g/>" * 100, {"bytes": 300}, "bytes"),
        ("<text>" + "é" * 100 + "</text>", {"bytes": 280}, "bytes"),
        ("<path d='M0 0L1 1'/>", {"path_chars": 5}, "5 characters"),
        ("<text>words</text>", {"text_chars": 4}, "4 characters"),
        ("<style>a { fill: red }</style>", {"css_chars": 9}, "9 characters"),
        ("<g/>", {"longest_side": 99}, "99"),
    ],
)
def test_limits_are_enforced(body: str, limits: dict[str, float], message: str) -> None:
    inside(body)
    with pytest.raises(BadSvg, match=message):
        inside(body, **limits)
