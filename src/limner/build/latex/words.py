"""Words of headings, captions and file names, and what they count for."""

from __future__ import annotations

import re
from collections.abc import Mapping


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
