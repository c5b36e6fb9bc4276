"""LaTeX, headings and file names as plain words, and whether a term occurs in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ...core.asks import Unreadable
from ...core.prompts import stripped

TOLD = 12
"""Terms that are told to the model."""
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+\*?|\\.")
_ASIDE = re.compile(r"^(.+?)\s*[(\[]([^()\[\]]+)[)\]]\s*$")
_NUMBERED = re.compile(r"^(?:phase|step|stage|part)\s+(?:\d+|[ivx]+)\s*[:.–—-]\s*", re.IGNORECASE)
_GREEK_NAMES = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
"""
_GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψω", _GREEK_NAMES.split(), strict=True))


@lru_cache(maxsize=64)
def plain(latex: str) -> str:
    """The text as a reader sees it, without figures and citations."""
    from pylatexenc.latex2text import LatexNodes2Text

    text = stripped(latex)
    try:
        return str(LatexNodes2Text(math_mode="text").latex_to_text(text))
    except Exception:  # Whatever a paper's own LaTeX can do to a parser.
        return re.sub(r"[{}$~]", " ", _COMMAND.sub(" ", text))


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Words and numbers alone, in small letters; what is written in two ways is one.

    >>> folded("Pre-Training of the encoder $E_\\\\theta$ (ours)")
    'pre training of the encoder e theta ours'
    """
    text = unicodedata.normalize("NFKC", _COMMAND.sub(lambda found: f" {found[0].strip(chr(92))} ", text))
    text = "".join(_GREEK.get(letter, letter) for letter in text.casefold())
    text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return " ".join(re.findall(r"[^\W_]+", text))


def occurs(term: str, latex: str) -> bool:
    """Whether a term stands in a LaTeX text, as it is read or as it is written.

    A name with an aside, such as ``Teacher Model (DAM)``, occurs where both do; ``Step 1: Encoding`` where Encoding
    does.
    """
    return all(_stands(part, latex) for part in _parts(term))


def absent_terms(terms: Iterable[str], latex: str) -> list[str]:
    """Those of the terms that do not occur in the text, each once."""
    return [term for term in dict.fromkeys(terms) if not occurs(term, latex)]


def require_terms(terms: Iterable[str], latex: str) -> None:
    """Refuse a reply whose terms are not the text's own.

    Raises:
        Unreadable: With the terms that do not occur in it.
    """
    if absent := absent_terms(terms, latex):
        raise Unreadable(f"these terms do not occur in the text: {'; '.join(absent[:TOLD])}")


def _parts(term: str) -> list[str]:
    term = _NUMBERED.sub("", term.strip()) or term
    aside = _ASIDE.match(term)
    return [aside[1], aside[2]] if aside else [term]


def _stands(term: str, latex: str) -> bool:
    # A term may be given as LaTeX itself, such as $h_g$.
    wanted = {folded(term), folded(plain(term))} - {""}
    texts = (folded(plain(latex)), folded(stripped(latex)))
    return any(f" {words} " in f" {text} " for words in wanted for text in texts)


def spoken(text: str) -> str:
    """The words of a heading, a caption or a file name, in small letters with one blank between them.

    >>> spoken("figs/OurMethod_v2-Overview.pdf")
    'figs our method v 2 overview pdf'
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", text)
    return " ".join(re.findall(r"[^\W_]+", apart.casefold()))


def has(words: str, text: str) -> bool:
    """Whether these words stand in a text, both as `spoken` gives them."""
    return f" {words} " in f" {text} "


def weigh(text: str, weights: Mapping[str, float]) -> float:
    """The sum of the weights of the words that stand in a text as `spoken` gives it."""
    return sum(weight for words, weight in weights.items() if has(words, text))
