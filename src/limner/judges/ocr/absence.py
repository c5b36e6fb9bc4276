"""When a label is surely absent: no word of it, no other form, no symbol and no misreading of it stands on the page."""

from __future__ import annotations

import re

from .forms import may_be
from .labels import Label
from .matching import Page
from .patterns import GENERIC, SYNONYMS, WATERMARKS
from .spelling import tokens

SHORT = 4
"""Words of up to this many letters are overlooked or misread too easily: their absence proves nothing."""

_ADDRESS = re.compile(r"\bwww\b|\.(?:com|org|net|edu|info)\b|©|\bstock ?photo", re.IGNORECASE)


def surely_absent(label: Label, page: Page) -> bool:
    """Whether nothing on the page could stand for the label.

    Only a label that is firm can be, by a word of more than `SHORT` letters that says something. On a page without any
    words every label is absent that has such a word at all.
    """
    telling = telling_words(label.text)
    if not telling or is_watermarked(page):
        return False
    if not page.lines:
        return True
    if not label.firm:
        return False
    return not any(_hinted(name, page) for name in (label.text, *label.variants))


def telling_words(text: str) -> list[str]:
    """The words of a label by which its absence can be told."""
    return [word for word in tokens(text) if len(word) > SHORT and word.isalpha()]


def is_watermarked(page: Page) -> bool:
    """Whether marks of an agency or an address lie over the drawing: words under them cannot be read."""
    return any(_ADDRESS.search(line.text) or WATERMARKS.intersection(tokens(line.text)) for line in page.lines)


def _hinted(name: str, page: Page) -> bool:
    if page.hints(name, GENERIC, SYNONYMS):
        return True
    words = tokens(name)
    sought = [word for word in words if word not in GENERIC] or list(words)
    return any(may_be(word, seen) for span in page.spans for seen in span.tokens for word in sought)
