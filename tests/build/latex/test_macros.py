r"""A paper's own macros are put into words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.latex.flatten import FlatPaper
from limner.build.latex.macros import closing, expanded


def done(preamble: str, body: str) -> str:
    return expanded(FlatPaper(preamble, body, "main.tex"))[0]


@pytest.mark.parametrize(
    ("preamble", "body", "text"),
    [
        (r"\newcommand{\ours}{Tide}", r"\ours{} and \ours.", "Tide and Tide."),
        (r"\newcommand\ours{Tide\xspace}", r"We show \ours works, \ours.", "We show Tide works, Tide."),
        (r"\newcommand{\f}[2]{#1(#2)}", r"\f{a}{b} \f xy", "a(b) x(y)"),
        (r"\newcommand*{\f}[2][z]{#1:#2}", r"\f{a} \f[b]{c}", "z:a b:c"),
        (r"\def\f#1#2{#2#1}", r"\f{a}{b}", "ba"),
        (r"\newcommand{\a}{x}\renewcommand{\a}{y}", r"\a", "y"),
        (r"\newcommand{\a}{x}\providecommand{\a}{y}\providecommand{\b}{z}", r"\a\b", "xz"),
        (r"\DeclareMathOperator*{\argmin}{arg\,min}", r"$\argmin_x$", r"$\operatorname{arg\,min}_x$"),
        (r"\newcommand{\bb}{\mathbf}", r"\bb{x}", r"\mathbf{x}"),
        (r"\newcommand{\bb}{\mathbf}", r"\bb x\bb{y}", r"\mathbf x\mathbf{y}"),
        (r"\newcommand{\g}[1]{<#1>}\newcommand{\alias}{\g}", r"\alias{a}", "<a>"),
        (r"\newcommand{\g}{G}\let\h\g", r"\h", "G"),
        (r"\newcommand{\o}[1]{(#1)}\newcommand{\i}{i}", r"\o{\o{\i}}", "((i))"),
        (r"\renewcommand{\section}[1]{#1}", r"\section{Method}", r"\section{Method}"),
        (r"\newcommand{\x}{\ifmmode a\else b\fi}", r"\x", r"\x"),
        (r"\newcommand{\x}{\makeatletter\@x}", r"\x", r"\x"),
        ("", r"\newcommand{\late}{L}\late", "L"),
        ("", r"\unknown{a} 5\% \\ \$", r"\unknown{a} 5\% \\ \$"),
    ],
)
def test_forms(preamble: str, body: str, text: str) -> None:
    assert done(preamble, body) == text


@pytest.mark.parametrize("body", [r"\loop\loop", r"x\loop", r"\loop{\loop}"])
def test_macros_without_end_are_left(body: str) -> None:
    text, notes = expanded(FlatPaper(rf"\newcommand{{\loop}}{{{body}}}", r"\loop end", "m"))
    assert notes == ("macros that lead to ever more text are left as they stand",)
    assert text.endswith("end")


def test_definitions_that_end_too_soon_are_harmless() -> None:
    for broken in (
        "\\newcommand",
        "\\newcommand{\\a",
        "\\newcommand{\\a}[2]{#1",
        "\\def",
        "\\let\\a",
        "\\",
        "\\def\\a#1",
    ):
        done(broken, f"text {broken}")


@given(st.text(alphabet="ab{}[]#12\\ \n", max_size=60), st.text(alphabet="ab{}\\ ", max_size=40))
def test_any_text_comes_back(preamble: str, body: str) -> None:
    done(preamble + "\\newcommand{\\a}[1]{<#1>}\\def\\b{B}", body)


@given(
    st.recursive(
        st.sampled_from(["a", "\\{", ""]), lambda inner: inner.map(lambda text: "{" + text + "}"), max_leaves=8
    )
)
def test_braces_close(text: str) -> None:
    assert closing("{" + text + "}z", 0) == len(text) + 1
