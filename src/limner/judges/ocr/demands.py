"""What the rules labels-3 read in a criterion: labels, labels in an order, names of axes, numbers along an axis."""

from __future__ import annotations

import re
from dataclasses import replace

from .axes import axis_claim
from .labels import Label, LabelClaim, claim
from .patterns import CALLED, COUNTS, DEMANDS, PLACING, REFUSED, SHELLS, WIDER_SHELLS, tidy
from .phrases import is_symbol
from .places import ORDERS
from .spelling import SIGN_LENGTH, tokens
from .ticks import TickClaim, tick_claim

MANY_SIGNS = 3
"""Letters and numbers say little by themselves, but so many different ones hardly stand in a drawing by chance."""

_ORDER = re.compile(
    rf",?(?: (?:arranged|listed|placed|ordered))? (?:in (?:the )?(?:correct |right |proper )?(?:order|sequence),? )?"
    rf"(?:from )?(?P<order>{'|'.join(ORDERS)})$",
    re.IGNORECASE,
)
_WHERE = re.compile(r"^(?:in|on) the (?:image|diagram|figure|drawing|graph|plot|chart|illustration),? ", re.IGNORECASE)


def demand(text: str) -> LabelClaim | TickClaim | None:
    """Reads a criterion as a demand for words.

    Args:
        text: One yes-or-no question about a drawing.

    Returns:
        What must be read, or None where words prove nothing.

    >>> demand("Is the x-axis labeled 'Time'?").axes
    ('x',)
    >>> demand("Are the mantle and the core labeled in the correct order from top to bottom?").order
    'top to bottom'
    """
    body = _WHERE.sub("", tidy(text))
    if REFUSED.search(body):
        return None
    if found := axis_claim(body) or tick_claim(body):
        return found
    ordered = _ORDER.search(body)
    if ordered and (found := claim(body[: ordered.start()], asks_no_more)):
        return replace(found, order=ordered["order"].lower())
    return claim(body, asks_no_more) or _called(body)


def asks_no_more(shell: str, labels: list[Label]) -> bool:
    """Whether a criterion asks for nothing but its labels, and these cannot be met by chance."""
    plain = ["".join(tokens(label.text)) for label in labels]
    if len(set(plain)) < len(plain):
        return False
    if any(len(text) <= SIGN_LENGTH for text in plain) and len(plain) < MANY_SIGNS:
        return False
    words = shell.lower().replace(",", " ").split()
    if DEMANDS.difference({"distinct", "separate"}).intersection(words) or PLACING.intersection(_subject(words)):
        return False
    for pattern in (*SHELLS, *WIDER_SHELLS):
        if match := pattern.fullmatch(shell):
            parts = match.groupdict()
            count = (parts.get("count") or "").strip().lower()
            if (not count or _number(count) == len(labels)) and not _is_particular(parts.get("subject")):
                return True
    return False


def _subject(words: list[str]) -> list[str]:
    """The words before the verb of labeling."""
    ends = [place for place, word in enumerate(words) if word.startswith(("label", "annotat", "titled", "□"))]
    return words[: ends[0]] if ends else words


def _is_particular(subject: str | None) -> bool:
    """Whether what is labeled is itself told by a sign, as side AB is: then it matters where the label stands."""
    return any(is_symbol(word) or (word.isupper() and len(word) < 4) for word in (subject or "").split())


def _number(count: str) -> int:
    return COUNTS.get(count) or int(count) if count.isdigit() or count in COUNTS else 0


def _called(body: str) -> LabelClaim | None:
    """Things that must be named in writing; a drawing may do so in other words, so that no absence counts."""
    for pattern in CALLED:
        match = pattern.fullmatch(body)
        if match and (found := claim(f"Are {match['list']} labeled", asks_no_more)):
            return replace(found, labels=tuple(replace(label, firm=False) for label in found.labels))
    return None
