"""Which items of a checklist ask for words in the picture and for nothing else."""

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
SHORTEST = 3
"""Letters and signs of less than this stand in a picture by chance."""


def words_alone(item: str, explanation: str) -> tuple[str, ...]:
    """The words whose presence anywhere meets an item, or nothing where more than that is asked.

    A title, a banner that reads something, a thing labelled so: there a place or a structure is asked for as well,
    which the words by themselves do not prove.

    >>> words_alone("The labels 'Sun' and 'Moon' are present.", "These bodies take part.")
    ('Sun', 'Moon')
    >>> words_alone("An arrow labelled 'Volume' points up.", "The direction is made plain.")
    ()
    """
    match = _PRESENT.fullmatch(" ".join(item.translate(_STRAIGHT).split()))
    if match is None or _DEMANDS.search(explanation):
        return ()
    found = _unquoted(match["words"])
    others = set(_unquoted(explanation.translate(_STRAIGHT))) - set(found)
    return () if others or any(sum(map(str.isalnum, word)) < SHORTEST for word in found) else found


def _unquoted(text: str) -> tuple[str, ...]:
    return tuple(quoted[1:-1].strip() for quoted in _QUOTED.findall(text))
