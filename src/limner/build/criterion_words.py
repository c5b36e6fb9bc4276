"""What is wrong with a criterion's words: several demands, no demand, always true, nothing that can be seen. Pure."""

from __future__ import annotations

import re
from pathlib import Path

from .points import compound, general
from .wording import QUOTED

KINDS = ("compound", "general", "always-true", "invisible")
"""Asks several things at once; praises without saying what is to be seen; holds of every picture; shows in none."""

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_TASK = re.compile(
    r"\b(?:(?:meets?|follows?|fulfil\w*|satisf\w+|obeys?)\s+(?:all\s+)?(?:of\s+)?the\s+\w+"
    r"|the\s+(?:instructions|requirements|assignment)\b|what\s+(?:was|is)\s+asked|what\s+the\s+(?:prompt|question|task)\b)",
    re.IGNORECASE,
)
_TRIVIAL = frozenset((Path(__file__).parent / "trivial_words.txt").read_text(encoding="utf-8").split())
"""Words that are true of whatever was drawn."""
_EITHER = re.compile(
    r"\b(?:present\s+or\s+(?:absent|missing)|(\w+)\s+or\s+(?:not|un)\s?\1|(?<!whether\s)or\s+not\b|,\s*or\s+the\s+same)",
    re.IGNORECASE,
)
_HAPPENED = re.compile(r"^\s*(?:was|were|did|had|will|would|could|might)\b", re.IGNORECASE)
_SENSES = re.compile(
    r"\b(?:smells?|tastes?|hears?|makes?\s+(?:an?\s+)?(?:\w+\s+)?(?:sound|noise)(?!\s+waves?)|feels?|felt|heavier|lighter\s+than\s+it\s+looks|weighs?"
    r"|fragrant|loud)\b",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"\b(?:authors?|artists?|makers?|creators?|illustrators?|designers?|viewers?|observers?|audience)(?:'s|s')?\s+"
    r"(?!to\b)\w+|\bintentions?\b",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\b(?:file|stored|saved|megabytes?|kilobytes?|vector\s+graphic|software|metadata|by\s+hand)\b", re.I
)
_HIDDEN = re.compile(
    r"\b(?:invisible|hidden\s+(?:under|behind|from)|unseen|out\s+of\s+sight|(?:nobody|no\s+one)\s+\w+"
    r"|seen\s+from\s+behind|not\s+drawn"
    r"|(?:back|reverse|rear|underside)(?:\s+side)?\s+of\s+the\s+(?:\w+\s+)?(?:part|sheet|page|picture|paper|object)"
    r"|reverse\s+side|drawn\s+(?:before|after|first|last))\b",
    re.IGNORECASE,
)


def criterion_faults(words: str) -> list[tuple[str, str]]:
    """Every fault that the rules find: its kind and a sentence.

    >>> [kind for kind, _ in criterion_faults("Is something drawn in the picture?")]
    ['always-true']
    >>> criterion_faults("Are there exactly 6 carbon atoms in the ring?")
    []
    """
    found = [(kind, why) for kind, rule in _RULES.items() if (why := rule(words)) is not None]
    # What holds of everything is not also praise without an object.
    return [one for one in found if one[0] != "general" or "always-true" not in dict(found)]


def vague(words: str) -> str | None:
    """Why a criterion is too general: as `limner.build.points.general`, or it only points to the task."""
    if match := _TASK.search(QUOTED.sub(" ", words)):
        return f'it asks whether the task was done ("{match[0]}"), and not what is to be seen'
    return general(words)


def always_true(words: str) -> str | None:
    """Why every picture meets a criterion; None where it could fail.

    >>> always_true("Is the label 'Anode' present or absent?")
    'both answers meet it: "present or absent"'
    >>> always_true("Are two lines drawn?") is None
    True
    """
    if match := _EITHER.search(words):
        return f'both answers meet it: "{match[0].strip(" ,")}"'
    if QUOTED.search(words) or re.search(r"\d", words):
        return None
    said = [word for word in _WORD.findall(words.casefold()) if word not in _TRIVIAL]
    return None if said else "whatever is drawn meets it: it names nothing in particular"


def invisible(words: str) -> str | None:
    """Why no picture can show what a criterion asks; None where one may.

    >>> invisible("Did the artist use a ruler?")
    'about what happened or would happen, not about what is drawn: "Did"'
    >>> invisible("Is the hand drawn above the table?") is None
    True
    """
    plain = QUOTED.sub(" ", words)
    for pattern, said in _UNSEEN.items():
        if match := pattern.search(plain):
            return f'{said}: "{match[0].strip()}"'
    return None


_UNSEEN = {
    _HAPPENED: "about what happened or would happen, not about what is drawn",
    _SENSES: "eyes do not tell it",
    _PEOPLE: "about somebody's mind",
    _FILE: "about the making or the file, not about what is drawn",
    _HIDDEN: "nobody can look there",
}
_RULES = {"compound": compound, "general": vague, "always-true": always_true, "invisible": invisible}
