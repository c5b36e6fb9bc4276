"""What is read in a criterion: labels, labels in an order, names and numbers of axes, values, formulas.

A criterion that asks where something stands, how it is drawn or how often is never proved by its words.
"""

from __future__ import annotations

import re
from dataclasses import replace

from . import patterns
from .axes import axis_claim
from .labels import Label, LabelClaim, claim
from .patterns import COUNTS, DEMANDS, LISTING, PLACING, UNITS, tidy
from .phrases import names_something
from .places import ORDERS
from .spelling import SIGN_LENGTH, tokens
from .ticks import TickClaim, tick_claim

MANY_SIGNS = 5
"""Letters and numbers say little by themselves, but so many different ones hardly stand in a drawing by chance.

One with an index counts twice.
"""

MOST_WORDS = 7
"""A member of a set behind a colon has at most so many words."""

_ORDER = re.compile(
    rf",?(?: (?:arranged|listed|placed|ordered))? (?:in (?:the )?(?:correct |right |proper )?(?:order|sequence),? )?"
    rf"(?:from )?(?P<order>{'|'.join(ORDERS)})$",
    re.IGNORECASE,
)
_RANKED = re.compile(
    rf"(?:is|are) (?P<subject>(?:[\w'-]+ ){{0,4}}[\w'-]+) (?:labell?ed|ordered|arranged|listed|stacked) "
    rf"(?:in order )?(?:from )?(?P<order>{'|'.join(ORDERS)}) as (?P<list>.+)",
    re.IGNORECASE,
)
_WHERE = re.compile(r"^(?:in|on) the (?:image|diagram|figure|drawing|graph|plot|chart|illustration),? ", re.IGNORECASE)
_AT_LEAST = re.compile(r"\bat least (?=(?P<count>\w+) )", re.IGNORECASE)
_INDEXED = r"(?:[A-Za-zΑ-ω](?:[_^]\{?\w{1,4}\}?|\d)|[A-Z])['′]?"
_INDEX = re.compile(r"[_^]|[A-Za-z]\d")
_SIGNS_OF = re.compile(
    rf"^((?:is|are) )(?:the )?(?:(?!label)[\w-]+ )+?(?={_INDEXED}(?:, {_INDEXED})*,? and {_INDEXED} )", re.IGNORECASE
)
_MATHS = re.compile(r"[=<>≤≥≈→⇌]|[A-Z][a-z]?\d|[\^_]")
_PARTICULAR = re.compile(r"[A-Z]{1,2}['′]?|[b-z]|\w?\d+")


def demand(text: str) -> LabelClaim | TickClaim | None:
    """Reads a criterion as a demand for words.

    Args:
        text: One yes-or-no question about a drawing.

    Returns:
        What must be read, or None where words prove nothing. A claim without labels asks for some without naming them.

    >>> demand("Is the x-axis labeled 'Time'?").axes
    ('x',)
    >>> demand("Are the mantle and the core labeled in the correct order from top to bottom?").order
    'top to bottom'
    """
    body = _WHERE.sub("", tidy(text))
    found = axis_claim(body)
    if found:
        return found
    whole = body
    for pattern, closed in patterns.OPEN_ENDS:
        body = pattern.sub(closed, body)
    loose = body != whole
    least = _AT_LEAST.search(body)
    body = _AT_LEAST.sub("", body)
    if patterns.REFUSED.search(body):
        return None
    read = tick_claim(body) or _value(body) or _formula(body) or _members(body) or _labels(body) or _called(body)
    if read is None and patterns.OF_A_SET.fullmatch(body):
        return LabelClaim((), "all", False)
    if isinstance(read, LabelClaim) and least:
        enough = _number(least["count"].lower()) == len(read.labels)
        read = replace(read, sufficient=read.sufficient and enough)
    return _soft(read) if loose and isinstance(read, LabelClaim) else read


def asks_no_more(shell: str, labels: list[Label]) -> bool:
    """Whether a criterion asks for nothing but its labels, and these cannot be met by chance."""
    plain = ["".join(tokens(label.text)) for label in labels]
    if len(set(plain)) < len(plain):
        return False
    if any(map(_is_sign, plain)) and sum(2 if _INDEX.search(label.text) else 1 for label in labels) < MANY_SIGNS:
        return False
    words = shell.replace(",", " ").split()
    subject = _subject(words)
    if not DEMANDS.difference({"distinct", "separate"}).isdisjoint(word.lower() for word in words):
        return False
    if _is_more(subject):
        return False
    for pattern in (*patterns.SHELLS, *patterns.WIDER_SHELLS):
        if match := pattern.fullmatch(shell):
            parts = match.groupdict()
            count = (parts.get("count") or "").strip().lower()
            if (not count or _number(count) == len(labels)) and not _is_more((parts.get("other") or "").split()):
                return True
    return False


def _labels(body: str) -> LabelClaim | None:
    ordered = _ORDER.search(body)
    if ordered and (found := claim(body[: ordered.start()], asks_no_more)):
        return replace(found, order=ordered["order"].lower())
    if (ranked := _RANKED.fullmatch(body)) and not _is_more(ranked["subject"].split()):
        found = claim(f"Are {ranked['list']} labeled", asks_no_more)
        return found and replace(found, order=ranked["order"].lower())
    found = claim(_SIGNS_OF.sub(r"\1", body), asks_no_more)
    if found and re.search(r"\blabell?ed as the [A-Z]", body):
        # "labeled as the Shogun" words the label: a name keeps its capital.
        firm = (replace(label, firm=label.firm or names_something(label.text, quoted=True)) for label in found.labels)
        found = replace(found, labels=tuple(firm))
    return found


def _called(body: str) -> LabelClaim | None:
    """Things that must be named in writing; a drawing may do so in other words, so that no absence counts."""
    match = patterns.CALLED.fullmatch(body)
    return _soft(claim(f"Are {match['list']} labeled", asks_no_more)) if match else None


def _members(body: str) -> LabelClaim | None:
    """All members of a set, listed behind a colon."""
    match = patterns.MEMBERS.fullmatch(body)
    names = re.split(r",? and |, ?|; ?", match["list"]) if match else []
    names = [name.strip(" '\".") for name in names if name.strip(" '\".")]
    if len(names) < 2 or any(len(name.split()) > MOST_WORDS or _is_sign("".join(tokens(name))) for name in names):
        return None
    before = body.lower().partition(":")[0].split()
    firm = not {"labeled", "labelled"}.isdisjoint(before)
    labels = tuple(Label(name, firm=firm and names_something(name, quoted=True)) for name in names)
    return LabelClaim(labels, "all", (DEMANDS - LISTING).isdisjoint(before) and "(" not in body)


def _value(body: str) -> LabelClaim | None:
    """A number with its unit; never surely absent."""
    match = patterns.VALUE.fullmatch(body)
    if not match or _is_more(match["subject"].split()):
        return None
    number = match["value"][: -len(match["unit"])].strip()
    variants = tuple(f"{number} {unit}" for unit in UNITS.get(match["unit"].lower(), ()))
    return LabelClaim((Label(f"{number} {match['unit']}", variants),), "all", True)


def _formula(body: str) -> LabelClaim | None:
    """A formula; never surely absent."""
    match = patterns.FORMULA.fullmatch(body)
    text = match["formula"].strip(" '\"") if match else ""
    if not _MATHS.search(text) or len("".join(tokens(text))) <= SIGN_LENGTH or re.search(r" (?:and|or|is) |[,;]", text):
        return None
    return LabelClaim((Label(text),), "all", True)


def _soft(found: LabelClaim | None) -> LabelClaim | None:
    """The same labels, their absence proving nothing."""
    return found and replace(found, labels=tuple(replace(label, firm=False) for label in found.labels))


def _is_sign(plain: str) -> bool:
    """Whether a label is a letter, a pair of them or a bare number."""
    return len(plain) <= SIGN_LENGTH or plain.lstrip("-").replace(".", "").isdigit()


def _subject(words: list[str]) -> list[str]:
    """The words before the verb of labeling, or before the labels where these come first."""
    ends = [n for n, word in enumerate(words) if word.lower().startswith(("label", "annotat", "titled", "□"))]
    found = words[: ends[0]] if ends else words
    return found[:-1] if found[-1:] == ["and"] else found


def _is_more(subject: list[str]) -> bool:
    """Whether what is labeled is told by its place, shape or number, by a sign, as side AB is, or is two things."""
    lower = [word.lower() for word in subject]
    return not PLACING.union({"and", "or"}).isdisjoint(lower) or any(map(_PARTICULAR.fullmatch, subject))


def _number(count: str) -> int:
    return COUNTS.get(count, 0) or (int(count) if count.isdigit() else 0)
