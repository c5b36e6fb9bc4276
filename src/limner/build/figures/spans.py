"""Evidence: whether a span stands in a prompt, word for word, and whether it is about an atom. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from ..wording import stem, stems

_STRAIGHT = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—−", '\'\'\'\'""""""------')
_GAP = re.compile(r"\s*(?:\.\.\.|…|\[(?:\.\.\.|…)\])\s*")
_ENDS = " \t\n.,;:!?\"'()"
QUOTED = re.compile(r"\"([^\"]{1,120})\"|(?<!\w)'([^']{1,120}?)'(?!\w)")
NAMES: Mapping[str, tuple[str, ...]] = {"visual": ("name",), "text": ("text",), "relation": ("source", "target")}
"""The fields of an atom that say what it is."""
ABOUT = 0.6
"""The share of an atom's words that a prompt must have to ask for it; ours."""


def plain(text: str) -> str:
    """One form for texts that differ in letter case, blanks, quotation marks and dashes alone.

    >>> plain("The “Golgi\\n apparatus” – here") == plain('the "golgi apparatus" - here')
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).translate(_STRAIGHT).casefold().split())


def missing(span: str, prompt: str) -> str | None:
    """Why a span is no evidence in a prompt; None where it stands there, word for word.

    Parts with an ellipsis between them must come in this order.

    >>> missing("two red arrows … the cell", "Draw two red arrows that point to the cell.") is None
    True
    >>> missing("three red arrows", "Draw two red arrows that point to the cell.")
    "the prompt does not say 'three red arrows'"
    """
    text, at = _one_quote(prompt), 0
    parts = [part.strip(_ENDS) for part in _GAP.split(_one_quote(span))]
    if not any(len(part) > 1 for part in parts):
        return f"{span[:60]!r} says nothing"
    for part in parts:
        found = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)").search(text, at)
        if found is None:
            return f"the prompt does not say {part[:120]!r}"
        at = found.end()
    return None


def _one_quote(text: str) -> str:
    """Who copies words into a reply writes other quotation marks."""
    return plain(text).replace('"', "'")


def labels(prompt: str) -> set[str]:
    """The words that a prompt puts in quotation marks, which are to stand in the figure.

    >>> sorted(labels("Write 'Air' and “Glass” at the lens' edge."))
    ['air', 'glass']
    """
    return {(a or b).strip(_ENDS) for a, b in QUOTED.findall(plain(prompt))} - {""}


def doubtful(modality: str, atom: Mapping[str, Any], span: str, prompt: str) -> str | None:
    """Why a span may not be about an atom; None where it is.

    The words of a text atom stand in the span. Of a visual or a relation atom, the prompt has most words of its names,
    and the span at least one.

    >>> doubtful("text", {"text": "Trench"}, "forms a 'Trench'", "The floor forms a 'Trench'.") is None
    True
    >>> doubtful("visual", {"name": "arrow of the reflected ray"}, "a ray of light", "Draw a ray of light in glass.")
    'the prompt has no arrow, reflect'
    """
    names = " ".join(str(atom[name]) for name in NAMES[modality])
    if modality == "text":
        words = plain(names).strip(_ENDS)
        return None if words in plain(span) else f"{names[:60]!r} is not in {span[:60]!r}"
    said = stems(names, frozenset())
    lacking = said - _all(prompt)
    if len(lacking) > (1 - ABOUT) * len(said):
        return f"the prompt has no {', '.join(sorted(lacking)[:4])}"
    if said and not said & _all(span):
        return f"{span[:60]!r} names none of {', '.join(sorted(said)[:4])}"
    return None


def _all(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"[^\W_]+(?:['’.\-][^\W_]+)*", text.casefold())}
