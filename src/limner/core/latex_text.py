"""Takes out of a method's LaTeX what says nothing to a painter: comments, figures, citations."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"^[ \t]*%.*(?:\n|\Z)|(?<!\\)((?:\\\\)*)%.*", re.MULTILINE)
_FIGURE = re.compile(r"\\begin\s*\{((?:wrap|sub|SC|margin)?figure\*?)\}.*?\\end\s*\{\1\}[ \t]*\n?", re.DOTALL)
_PICTURE = re.compile(r"\\includegraphics\*?\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}")
_CITATION = re.compile(
    r"(?<![ \t~])[ \t~]*\\(?:[cC]ite|[pP]arencite|[tT]extcite|[aA]utocite|[fF]ootcite|nocite)"
    r"(?:p|t|alp|alt|author|year|yearpar)?\*?"
    r"\s*(?:\[[^\]]*\]\s*){0,2}\{[^{}]*\}"
)
_GAP = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def stripped(text: str) -> str:
    r"""The text without comments, figures and citations.

    >>> stripped("An encoder~\\cite{a,b} maps $x$ to $z$.% see Fig. 2")
    'An encoder maps $x$ to $z$.'
    """
    text = _COMMENT.sub(lambda found: found[1] or "", text)
    for pattern in (_FIGURE, _PICTURE, _CITATION):
        text = pattern.sub("", text)
    return _GAP.sub("\n\n", text).strip()
