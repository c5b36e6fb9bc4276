"""Text in LaTeX: what letters become, how wide they are about, and what each engine needs to set them."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator

from ...core.redaction import DIRECTION, visible

_SIGNS = {
    "×": "times", "·": "cdot", "↓": "downarrow", "↑": "uparrow", "←": "leftarrow", "→": "rightarrow",
    "≤": "leq", "≥": "geq", "≈": "approx", "≠": "neq", "∞": "infty", "λ": "lambda", "Λ": "Lambda", "ς": "varsigma",
    **{letter: unicodedata.name(letter).split()[-1].lower() for letter in "αβγδεζηθικμνξπρστυφχψω"},
    **{letter: unicodedata.name(letter).split()[-1].capitalize() for letter in "ΓΔΘΞΠΣΥΦΨΩ"},
}  # fmt: skip
"""What stands in LaTeX's mathematics, by its name there."""
_LETTERS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    '"': "''", "|": r"\textbar{}", "`": r"\textasciigrave{}",
    # A square bracket after the end of a row would be read as its option, an asterisk as its form.
    "[": "{[}", "]": "{]}", "*": r"\textasteriskcentered{}",
    "–": "--", "—": "---", "…": r"\ldots{}", "−": r"\textminus{}", "•": r"\textbullet{}",
    "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}",
    "\N{REPLACEMENT CHARACTER}": "?",
    **{letter: rf"$\{name}$" for letter, name in _SIGNS.items()},
}  # fmt: skip
# Two of these in a row would become a dash or a quotation mark.
_SPECIAL = re.compile(r"([-,<>'])(?=\1)|[" + re.escape("".join(_LETTERS)) + "]")
_APART = r"{\kern0pt}"
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ACCENTED = re.compile("[\u00a0-\u0125\u0128-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u0165\u0168-\u017e]")
"""What pdflatex sets where the T1 fonts are asked for."""
_EMS = {
    0.3: "!',.:;[]`il|", 0.35: "fj- ", 0.42: "()Irst", 0.47: "cez", 0.53: "$*/0123456789^ago?_", 0.56: "Jkqvxy",
    0.59: "Sbdhnpu", 0.66: "ZL", 0.72: "EFP", 0.78: "BCTRw", 0.83: "ADGHKNOQUVXY&+=@<>~", 0.89: "#%m", 0.97: "M",
    1.09: "W—…",
}  # fmt: skip
"""How wide letters of Computer Modern are at 8 points, in units of their size."""
_WIDTHS = {letter: width for width, letters in _EMS.items() for letter in letters}


def shown(text: str) -> str:
    """The text as it is set: one line, no control characters, accents on their letters."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", visible(unicodedata.normalize("NFC", text), DIRECTION))


def escape(text: str) -> str:
    r"""Text as LaTeX prints it.

    >>> escape("50% [a_b]")
    '50\\% {[}a\\_b{]}'
    """
    return _SPECIAL.sub(lambda found: _LETTERS.get(found[0], found[0]) + (_APART if found[1] else ""), shown(text))


def prose(text: str) -> str:
    r"""The same for running text, whose lines may break inside long names.

    >>> prose("openai/gpt_5")
    'openai/\\allowbreak{}gpt\\_\\allowbreak{}5'
    """
    return re.sub(r"/|\\_", r"\g<0>\\allowbreak{}", escape(text))


def ems(text: str) -> float:
    """About how wide the text is, in units of its size: what the letters of Computer Modern take.

    Letters of East Asia are squares, marks above a letter take no room, and of others rather too much is assumed.
    """
    return sum(map(_em, shown(text)))


def _em(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.83


def needs(body: str) -> Iterator[str]:
    """The comment above a table: which packages it needs, and what each engine wants for its letters."""
    yield r"% Needs \usepackage{booktabs,xcolor}."
    letters = sorted({letter for letter in body if letter > "\x7f"})
    beyond = [letter for letter in letters if not _ACCENTED.match(letter)]
    if len(beyond) < len(letters):
        yield r"% pdflatex needs \usepackage[T1]{fontenc} too, for letters with accents."
    if not beyond:
        yield "% lualatex and pdflatex both set it."
        return
    told = ", ".join(f"U+{ord(letter):04X}{f' {letter}' if letter.isprintable() else ''}" for letter in beyond)
    yield "% Letters that the usual fonts lack:"
    yield from textwrap.wrap(told, 100, initial_indent="%   ", subsequent_indent="%   ")
    yield r"% lualatex leaves them out unless its font has them: \usepackage{fontspec}\setmainfont{...}."
    yield rf"% pdflatex stops at them unless each is declared: \DeclareUnicodeCharacter{{{ord(beyond[0]):04X}}}{{...}}."
