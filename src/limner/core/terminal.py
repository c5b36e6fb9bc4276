"""What servers, data and models say, as it may stand on a terminal: no control character gets there."""

from __future__ import annotations

import re

from .redaction import without_secrets

# C0, DEL and C1 drive a terminal, marks of direction reorder what it shows, halves of surrogate pairs break its
# encoding, and the two separators are ends of lines.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
DIRECTION = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks of direction, which text for print may need."""
LAYOUT = "\n\t"
"""What may stand in text of several lines."""


def visible(text: str, keep: str = "") -> str:
    r"""A text with its control characters spelt out, as JSON spells them.

    Args:
        text: Of whatever origin.
        keep: Characters that stay as they are.

    >>> visible("a\x1b[31m\nb")
    'a\\u001b[31m\\u000ab'
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text)


def printable(text: str) -> str:
    """Whole output as it is printed: lines stay lines, keys and control characters do not get out."""
    return visible(str(without_secrets(text)), LAYOUT)
