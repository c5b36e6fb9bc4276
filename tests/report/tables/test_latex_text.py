"""Letters in LaTeX: nothing in a name is taken for markup, and the comment says what is needed for it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from limner.report.tables.latex import ems, escape, needs

anything = st.text(st.characters(), max_size=40)


@given(anything)
def test_special_characters_are_escaped(text: str) -> None:
    left = re.sub(r"\\(text\w+|ldots)\{\}|\\[&%$#_{}]|\$\\\w+\$|\{[\[\]]\}|\{\\kern0pt\}", "", escape(text))
    assert not re.search(r"[\\&%$#_{}~^<>\[\]*]", left)


@given(anything)
def test_escaped_text_can_be_written_and_stays_on_its_line(text: str) -> None:
    found = escape(text)
    found.encode()
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", found)


@given(anything)
def test_letters_unsupported_by_pdflatex_are_listed(text: str) -> None:
    found = escape(text)
    comments = "\n".join(needs(found))
    assert all(line.startswith("%") for line in comments.split("\n"))
    for letter in found:
        assert letter <= "\u017e" or f"U+{ord(letter):04X}" in comments


@given(anything, anything)
def test_widths_add_up(one: str, other: str) -> None:
    joined = f"{one} {other}"
    # An accent may join the letter before it.
    assert 0 <= ems(joined) <= ems(one) + ems(" ") + ems(other) + 1e-9


def test_engine_requirements_are_stated() -> None:
    assert list(needs("a")) == [r"% Needs \usepackage{booktabs,xcolor}.", "% lualatex and pdflatex both set it."]
    accents = "\n".join(needs("é"))
    assert r"pdflatex needs \usepackage[T1]{fontenc} too" in accents
    assert "both set it" in accents
    more = "\n".join(needs("学 \N{RIGHT-TO-LEFT OVERRIDE}"))
    assert "U+202E, U+5B66 学" in more
    assert r"\DeclareUnicodeCharacter{202E}{...}" in more
    assert r"\usepackage{fontspec}" in more
