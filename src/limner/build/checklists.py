"""Lint of a prompt and its checklist: errors no exam may have, warnings for people to look at. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from ..core.schema import StrictModel
from .criterion_words import Lint, lint_prompt
from .wording import VAGUE, WORD, stems

CHECKLIST_ERRORS = frozenset({"empty", "length", "language", "count", "repeated", "unexplained"})
CHECKLIST_WARNINGS = ("compound", "already-stated", "unseen")

_QUOTE = r"[\"“][^\"”]{1,80}[\"”]|(?<!\w)['‘][^'’]{1,80}['’](?!\w)"
_QUOTED = re.compile(rf"(?:{_QUOTE})(?:(?:,\s*(?:and\s+)?|\s+and\s+)(?:{_QUOTE}))*|\([^()]*\)")
"""Words in quotes or brackets; a list of labels is one demand."""
_BE = r"(?:is|are|was|were|has|have|had|can|could|will|would|should|must|shall|may|does|do)"
_VERBS = "|".join((Path(__file__).parent / "statement_verbs.txt").read_text(encoding="utf-8").split())
_DOES = rf"(?:{_BE}|(?:{_VERBS})(?:e?s|ed)?)"
_DOING = re.compile(rf"\b{_DOES}\b", re.IGNORECASE)
_JOINT = re.compile(
    r"(?:;|,\s*(?:and|but|while|whereas|plus|also|as)?|\band|\bbut|\bwhile|\bwhereas|\bplus)\s+(?:also\s+)?(?=\S)",
    re.IGNORECASE,
)
_SECOND = re.compile(
    rf"(?:(?!(?:which|that|who|whose|where|when|so|with|such)\b)[\w'’-]+\s+){{0,7}}?{_DOES}\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"^[^,;]*(?:;|,\s*(?:and|while|but|plus)\b)\s*(?:[^\s,;]+\s+){3,}[^\s,;]+\s*\.?$", re.IGNORECASE)
_THINGS = re.compile(
    # Two things, each with an article or a number of its own; "between a and b" is one fact.
    r"\b(?:an?|the|one|two|three|four|\d+|some|several)\s+(?:(?!with\b)[\w'’-]+\s+){1,6}?(?:and|as well as|along with"
    r"|together with|plus)\s+(?:an?|the|one|two|three|four|\d+|some|several)\s+\w",
    re.IGNORECASE,
)
_THERE = re.compile(r"^\s*there\s+(?:is|are|should be|must be)\s+(?:[\w'’-]+\s+){1,4}?and\s+\w", re.IGNORECASE)
_BOTH = re.compile(
    r"\bas\s+well\s+as\b|\bin\s+addition\b|\bat\s+the\s+same\s+time\b|\bfurthermore\b|\bmoreover\b", re.I
)
_PAIR = re.compile(
    r"\b(?:\w+ly\s+)?\w+\s+and\s+(?:clear|legible|readable|visible|complete|correct|accurate)\b", re.IGNORECASE
)
_TOGETHER = re.compile(r"\b(?:between|from|both|with|of|joins?|connects?|at|in|on|to)\s+[^,;]*$", re.IGNORECASE)
_SENTENCES = re.compile(r"[.!?]\s+(?=[A-Z\"“'‘])")
_UNSEEN = re.compile(
    r"\b(?:sounds?|noises?|music is|songs? (?:is|are)|melod\w+|hymns?|voices?|silence|smells?|scents?|odou?rs?|aromas?"
    r"|fragran\w+|tastes?|flavou?rs?|thinks?|thoughts?|believes?|remembers?|wishes|hopes? (?:that|to|for)"
    r"|intends?"
    r"|feels?|mood|atmosphere of)\b",
    re.IGNORECASE,
)
_SHOWN = (
    "label labels labelled labeled text texts title word words written writes reads read name named names colour color"
    " coloured colored colours visible clearly image should legible seen sees"
)
_FORM = VAGUE | frozenset(_SHOWN.split())
"""Words for how something is shown, and not what."""
_NAMED = re.compile(
    r"\b(?:label\w*|written|writes?|reads?|symbols?|axis|axes|legend|curve|equal|equals|pH|graph|marked)\b",
    re.IGNORECASE,
)


class ChecklistLimits(StrictModel):
    """The numbers of the rules; those of the paper's printed cases where there are some.

    Attributes:
        words: A prompt has fewer words than this; ours.
        items: At most so many items.
        stated: A prompt that holds this share of what an item says already states it; ours.
    """

    words: int = Field(default=250, ge=10)
    items: int = Field(default=20, ge=1)
    stated: float = Field(default=0.75, gt=0, le=1)


def lint_checklist(
    prompt: str, entries: Sequence[Mapping[str, str]], limits: ChecklistLimits | None = None
) -> list[Lint]:
    """Everything the rules find in a prompt and its checklist; see `CHECKLIST_ERRORS` and `CHECKLIST_WARNINGS`."""
    limits = limits or ChecklistLimits()
    found = lint_prompt(prompt, limits.words)
    if not 0 < len(entries) <= limits.items:
        found.append(Lint("count", 0, f"{len(entries)} items; 1 to {limits.items} are allowed"))
    seen: dict[str, int] = {}
    for n, entry in enumerate(entries, 1):
        item, why = str(entry.get("item") or ""), str(entry.get("explanation") or "")
        if not item.strip():
            found.append(Lint("empty", n, "there is no item", "item"))
            continue
        if not why.strip():
            found.append(Lint("unexplained", n, "there is no explanation", "item"))
        plain = " ".join(WORD.findall(item.casefold()))
        if plain in seen:
            found.append(Lint("repeated", n, f"the same as item {seen[plain]}", "item"))
        seen.setdefault(plain, n)
        told = {
            "compound": several(item),
            "already-stated": stated(item, prompt, limits.stated),
            "unseen": unseen(item),
        }
        found += [Lint(kind, n, detail, "item") for kind, detail in told.items() if detail]
    return found


def several(item: str) -> str | None:
    """Why an item states more than one fact; None where it does not seem to.

    >>> several("Three boats lie in the harbour, and one of them is on fire")
    'a second statement: ", and one of them is"'
    >>> several("The arrow leads from the sun to the leaf") is None
    True
    """
    text = _QUOTED.sub(" it ", item.strip())
    if match := _SENTENCES.search(text):
        return f'a second sentence: "{text[match.end() : match.end() + 40]}"'
    for joint in _JOINT.finditer(text):
        # What comes before must be a statement by itself, or the verb belongs to both.
        if _DOING.search(text, 0, joint.start()) and (match := _SECOND.match(text, joint.end())):
            return f'a second statement: "{text[joint.start() : match.end()].strip()[:40]}"'
    if _CLAUSE.match(text):
        return "a second statement after the comma"
    if match := _BOTH.search(text):
        return f'a second statement: "{match[0].strip()}"'
    if (match := _THINGS.search(text)) and not _TOGETHER.search(text[: match.start()]):
        return f'two things: "{match[0].strip()[:60]}"'
    if match := _THERE.search(text) or _PAIR.search(text):
        return f'two things: "{match[0].strip()[:60]}"'
    return None


def stated(item: str, prompt: str, share: float = 0.75) -> str | None:
    """Why the prompt already states an item; None where knowledge is needed for it.

    >>> stated("The Moon is copper red", "A night when the full Moon turns copper red.")
    'the prompt already says: copper, moon, red'
    >>> stated("The umbra narrows away from the Earth", "A night when the full Moon turns copper red.") is None
    True
    """
    said = stems(item, _FORM)
    known = said & stems(prompt)
    if len(known) >= 2 and len(known) >= share * len(said):
        return f"the prompt already says: {', '.join(sorted(known)[:6])}"
    return None


def unseen(item: str) -> str | None:
    """Why an item cannot be seen in a picture; None where it can, were it as a label or by a curve.

    >>> unseen("The hymns sound solemn")
    'it cannot be seen: "hymns"'
    >>> unseen("The pH at the half-equivalent point equals the pKa") is None
    True
    """
    text = _QUOTED.sub(" ", item)
    match = _UNSEEN.search(text)
    return f'it cannot be seen: "{match[0]}"' if match and not _NAMED.search(text) else None
