r"""One text out of a paper's files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.latex.flatten import FlatPaper, flatten, without_comments
from limner.build.latex.sources import LatexSource
from limner.core.errors import DataError

HEAD = "\\documentclass{article}\n\\begin{document}\n"
END = "\n\\end{document}"


def flat(**files: str) -> FlatPaper:
    named = {name.replace("__", "/") + ".tex": text for name, text in files.items()}
    return flatten(LatexSource("p", Path("p"), named, frozenset(named)))


def test_every_way_of_taking_a_file_in() -> None:
    body = "\\input{a}\\input b.tex \\include{sub/c}\\import{sub/}{d}\\subimport{sub/}{d}\\subfile{e}"
    inner = HEAD + "E" + END
    found = flat(main=HEAD + body + END, a="A", b="B", sub__c="C", sub__d="D\\input{c}", e=inner)
    assert "".join(found.body.split()) == "ABCDCDCE"
    assert found.missing == ()


def test_a_file_that_takes_itself_in_ends() -> None:
    found = flat(main=HEAD + "x\\input{a}" + END, a="a\\input{b}", b="b\\input{a}\\input{main}")
    assert found.body == "xab"


def test_what_is_not_there_is_told() -> None:
    assert flat(main=HEAD + "x\\input{nowhere}y" + END).missing == ("nowhere",)


@pytest.mark.parametrize(
    ("files", "main"),
    [
        ({"supplement": HEAD + "s" * 500 + END, "paper": HEAD + "p" + END}, "paper.tex"),
        ({"rebuttal": HEAD + "r" + END, "odd": HEAD + "o" + END}, "odd.tex"),
        ({"x": HEAD + "short" + END, "y": HEAD + "longer text" + END}, "y.tex"),
    ],
)
def test_the_main_file_is_chosen(files: dict[str, str], main: str) -> None:
    assert flat(**files).main == main


def test_no_document_is_told() -> None:
    with pytest.raises(DataError, match="documentclass"):
        flat(main="just text")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a % b\nc", "a c"),
        ("a %\n\nb", "a \n\nb"),
        ("5\\% of % x\nall", "5\\% of all"),
        ("a\n  % whole line\nb", "a\nb"),
        ("x\\\\% y\nz", "x\\\\z"),
        ("\\begin{verbatim}% stays\n\\end{verbatim}", "\\begin{verbatim}% stays\n\\end{verbatim}"),
        ("\\verb|%| % goes", "\\verb|%| "),
        ("a\\begin{comment} b \\end{comment}c", "ac"),
        ("a\\iffalse b \\ifx c\\fi d\\else e\\fi f", "a e f"),
        ("a\\iftrue b\\else c\\fi d", "a b d"),
        ("x \\iff y \\iffalse z", "x \\iff y \\iffalse z"),
    ],
)
def test_comments(text: str, plain: str) -> None:
    assert without_comments(text) == plain


@given(st.text(alphabet="ab%\\\n{} if", max_size=80))
def test_nothing_behind_an_open_percent_is_left(text: str) -> None:
    once = without_comments(text)
    assert without_comments(once).count("%") <= once.count("%")
    for line in once.replace("\\\\", "").replace("\\%", "").split("\n"):
        assert "%" not in line or "\\verb" in once
