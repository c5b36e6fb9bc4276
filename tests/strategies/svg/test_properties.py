"""Whatever is thrown at it: only `BadSvg` comes out, or a clean file that stays as it is."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from limner.strategies.svg import BadSvg, clean, missing_glyphs, render
from limner.strategies.svg.clean import ATTRIBUTES, DROPPED, KEPT
from tests.strategies.svg import harmless
from tests.strategies.svg.corpus import CORPUS
from tests.strategies.svg.hostile import HEAD

NAMES = [*sorted(KEPT), *sorted(DROPPED), "script", "foreignObject", "p", "x:y", "unknown"]
SOME_ATTRIBUTES = [
    *sorted(ATTRIBUTES), "id", "class", "href", "style", "onload", "onclick", "xlink:href", "xml:base", "data-x", "x:y",
]  # fmt: skip
VALUES = [
    "", "1", "-5", "50%", "1e9", "1e999", "NaN", "2em", "3vw", "red", "#fff", "none", "url(#a)", "url(#b) red",
    "url(http://a.example)", "url('#a')", "URL(#a", "#a", "#b", "http://a.example/#a", "javascript:alert(1)",
    "data:image/svg+xml,<svg/>", "rotate(45deg)", "translate(1 2", "var(--x)", "rgb(1 2 3 / 5%)", "fill:red;x:5",
    "filter:url(#a);fill:url(#b)", "background:blue", "a b", "\\75rl(x)", "/* */", "0 0 9 9", "M0 0L9 9", "Arial",
    "fill:url(//x)", "a{}b", "'", '"', "&", "<", "é", "\u200b", "\n", "]]>", "{", "@import 'x'",
]  # fmt: skip
SHEETS = ["a{fill:red}", ".a{filter:url(#a)}", "@import 'x';", "a{", "*{mask:url(#b)}", "b:hover{x:1}", "}", "/*"]

attributes = st.dictionaries(
    st.sampled_from(SOME_ATTRIBUTES), st.sampled_from(VALUES) | st.text(max_size=8), max_size=5
)


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


def element(name: str, said: dict[str, str], children: list[str]) -> str:
    return f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in said.items())}>{''.join(children)}</{name}>"


trees = st.recursive(
    st.text(max_size=8).map(escape) | st.sampled_from(SHEETS).map(lambda sheet: f"<style>{escape(sheet)}</style>"),
    lambda inner: st.builds(
        element,
        st.sampled_from(NAMES),
        attributes | attributes.map(lambda said: said | {"id": "a"}),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)
files = st.lists(trees, max_size=4).map(lambda parts: f"{HEAD[:-1]} xmlns:x='urn:x'>{''.join(parts)}</svg>")


def check(svg: str | bytes) -> str | None:
    """The clean file where there is one; it must be harmless and stay as it is."""
    try:
        once = clean(svg)
    except BadSvg:
        return None
    harmless.check(once)
    assert clean(once) == once
    return once


@given(files)
def test_generated_files_are_clean_or_refused(svg: str) -> None:
    check(svg)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([*CORPUS.values()]),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 8), st.sampled_from(VALUES) | st.text(max_size=4)),
        min_size=1,
        max_size=3,
    ),
)
def test_damaged_files_are_clean_or_refused(svg: str, blows: list[tuple[float, int, str]]) -> None:
    for place, length, put in blows:
        at = int(place * len(svg))
        svg = svg[:at] + put + svg[at + length :]
    check(svg)


@given(st.text() | st.binary())
@example("<svg")
@example("<svg viewBox='0 0 9 9'/>\0")
@example(b"\xff\xfe<\x00")
@example("<svg viewBox='0 0 9 9' xmlns:a=''/>")
@example("<a:svg xmlns:a='http://www.w3.org/2000/svg' viewBox='0 0 9 9'/>")
@example("<:svg viewBox='0 0 9 9'/>")
@example("<svg viewBox='0 0 9 9'><a: /></svg>")
def test_any_text_or_bytes_are_clean_or_refused(svg: str | bytes) -> None:
    check(svg)


@pytest.mark.slow
def test_generated_files_are_not_all_refused() -> None:
    taken: list[bool] = []

    @settings(max_examples=60, database=None)
    @given(files)
    def count(svg: str) -> None:
        taken.append(check(svg) is not None)

    count()
    assert 0.1 < sum(taken) / len(taken) < 0.95


@pytest.mark.slow
@given(files)
def test_generated_files_are_rendered(svg: str) -> None:
    try:
        assert render(svg, 64).startswith(b"\x89PNG")
    except BadSvg:
        return
    assert missing_glyphs(svg) <= set(svg)
