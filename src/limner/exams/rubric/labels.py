"""Words whose presence in a drawing meets an item of a checklist."""

from __future__ import annotations

import re

_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_QUOTED = re.compile(r"""(?:'[^']+'|"[^"]+")""")
_LIST = rf"{_QUOTED.pattern}(?:(?:, and |, | and ){_QUOTED.pattern})*"
_WRITING = r"(?:labels?|words?|texts?|names?|inscriptions?)"
_THERE = r"(?:(?:clearly|plainly) )?(?:written|present|visible|shown|legible|readable)"
_PRESENT = re.compile(
    rf"(?:the |an? )?{_WRITING} (?P<words>{_LIST}) (?:is|are|(?:should|must|shall) be) {_THERE}\.?", re.IGNORECASE
)
_DEMANDS = re.compile(
    r"\b(?:should|must|shall|needs?|ha(?:s|ve) to|requires?|required|only|not|never)\b", re.IGNORECASE
)
MIN_LETTERS = 3
"""The minimum number of letters in a label; shorter words occur in pictures by chance."""


def presence_words(item: str, explanation: str) -> tuple[str, ...]:
    """Return the words whose mere presence meets an item; empty if more is required.

    Items about a title, the text of a banner or a labelled thing also ask for a place or a structure, which words alone
    do not prove.

    >>> presence_words("The labels 'Sun' and 'Moon' are present.", "These bodies take part.")
    ('Sun', 'Moon')
    >>> presence_words("An arrow labelled 'Volume' points up.", "The direction is made plain.")
    ()
    """
    match = _PRESENT.fullmatch(" ".join(item.translate(_STRAIGHT).split()))
    if match is None or _DEMANDS.search(explanation):
        return ()
    words = _unquoted(match["words"])
    others = set(_unquoted(explanation.translate(_STRAIGHT))) - set(words)
    return () if others or any(sum(map(str.isalnum, word)) < MIN_LETTERS for word in words) else words


def _unquoted(text: str) -> tuple[str, ...]:
    return tuple(quoted[1:-1].strip() for quoted in _QUOTED.findall(text))
