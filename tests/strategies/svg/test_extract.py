"""The SVG in a model's reply."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.strategies.svg import BadSvg, extract

ONE = '<svg viewBox="0 0 9 9"><rect width="9"/></svg>'
TWO = '<svg viewBox="0 0 8 8"><circle r="4"/></svg>'
NESTED = '<svg viewBox="0 0 9 9"><svg width="3"><g/></svg><text>end</text></svg>'


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (ONE, ONE),
        (f"Here it is:\n```svg\n{ONE}\n```\nEnjoy!", ONE),
        (f"```xml\n<?xml version='1.0'?>\n<!DOCTYPE svg>\n{ONE}```", ONE),
        (f"~~~\n{ONE}\n~~~", ONE),
        (f"```svg\n{ONE}", ONE),
        (f"{ONE} and, better: {TWO} Done.", TWO),
        (f"```svg\n{ONE}\n```\nor\n```svg\n{TWO}\n```", TWO),
        (f"```svg\n{ONE}\n```\nIn short: {TWO}", ONE),
        (f"```svg\n{ONE}\n```\nSave the <svg> as a file.", ONE),
        (f'I begin with `<svg viewBox="0 0 9 9">`. {ONE}', ONE),
        (f"The <svg> element: {ONE}", ONE),
        (f"<think>{TWO} no</think>\n{ONE}", ONE),
        (f"Perhaps {TWO}</think>{ONE}", ONE),
        (NESTED, NESTED),
        (f"```\n{NESTED}\n```", NESTED),
        ("<svg viewBox='0 0 1 1' />", "<svg viewBox='0 0 1 1' />"),
        ('<svg a="1>2"><!-- </svg> --><g/></svg>', '<svg a="1>2"><!-- </svg> --><g/></svg>'),
        (
            '<svg a="1"><style><![CDATA[ </svg> ]]></style></svg>',
            '<svg a="1"><style><![CDATA[ </svg> ]]></style></svg>',
        ),
        ("<s:svg xmlns:s='x'></s:svg>", "<s:svg xmlns:s='x'></s:svg>"),
        (f"```svg\n<svg width='1'><g>\n```\nOnce more:\n```svg\n{ONE}\n```", ONE),
    ],
)
def test_svg_is_extracted_from_reply(reply: str, wanted: str) -> None:
    assert extract(reply) == wanted


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("", "no <svg>"),
        ("I cannot draw that.", "no <svg>"),
        ("<svgx></svgx>", "no <svg>"),
        (f"<think>{ONE}", "no <svg>"),
        ('<svg viewBox="0 0 9 9"><rect', "cut off"),
        ('```svg\n<svg viewBox="0 0 9 9"><g>', "cut off"),
        ('<svg viewBox="0 0 9', "cut off"),
        ('<svg viewBox="0 0 9 9"><svg width="3"></svg><g>', "cut off"),
        (f"```svg\n{ONE}\n```\nand\n```svg\n<svg width='1'><g>", "cut off"),
        ("x" * (8 * 2**20 + 1), "characters"),
    ],
)
def test_reply_without_complete_svg_is_refused(reply: str, message: str) -> None:
    with pytest.raises(BadSvg, match=message):
        extract(reply)


PIECES = [
    "<svg>", "<svg a='", "'", '"', "</svg>", "<svg/>", "```", "\n", "<!--", "-->", "<![CDATA[", "]]>", "<think>", "x",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
def test_extracted_svg_is_complete_element(reply: str) -> None:
    try:
        found = extract(reply)
    except BadSvg:
        return
    assert found in reply
    assert found.startswith("<svg")
    assert found.endswith(("</svg>", "/>"))


@given(st.text(alphabet=st.characters(exclude_characters="<`~")))
def test_prose_around_fence_is_ignored(prose: str) -> None:
    assert extract(f"{prose}\n```svg\n{ONE}\n```\n{prose}") == ONE


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<svg '", "<svg>", "<svg></svg>", "<!--", "<svg a", "```\n", "<think>", "</think>"])
def test_extraction_time_is_linear_in_reply_length(piece: str) -> None:
    before = time.process_time()
    with pytest.raises(BadSvg):
        extract(piece * (1_000_000 // len(piece)) + "<svg ")
    assert time.process_time() - before < 3
