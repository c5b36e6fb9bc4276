"""The name a level-1 question asks about, for the examiner that reads words."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...core.marks import Criterion
from .data import ChoiceQuestion

_QUOTED = re.compile(r"""(?<!\w)['"‘“](?=\S)(.+?)(?<=\S)['"’”](?!\w)""")
_ASIDE = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_ABBREVIATION = re.compile(r"\babbreviations? (?:like|such as|as|of) ([^,;()]+)", re.IGNORECASE)
_WORDS = """
    a an any architecture are as block blocks box called clearly component components contain contains depict depicted
    depicts diagram display displayed displays do does drawing element explicitly feature figure framework have
    illustrate illustrated illustration image in include included includes is it labeled labelled layer model module
    modules named network node of part phase picture pipeline present represent represented show shown shows stage step
    system the there this unit visible visually within
"""
_ALLOWED = frozenset(_WORDS.split())
"""Words around the name that ask for nothing but its presence."""


class ComponentName(NamedTuple):
    """A component by its name, and what else may stand for it."""

    name: str
    also: tuple[str, ...]


def criterion(item: ChoiceQuestion) -> Criterion:
    """A checklist question as a criterion, with the name whose presence answers it where there is one."""
    if item.dimension != "component":
        return Criterion(item.key, item.question, item.dimension)
    yes = yes_letter(item)
    if yes is None:
        return Criterion(item.key, item.question, "choice")
    named, right = asked(item.question), int(yes == item.correct_option)
    if named is None:
        return Criterion(item.key, item.question, "component", present_means=right)
    return Criterion(item.key, item.question, "component", labels=(named.name,), also=named.also, present_means=right)


def yes_letter(item: ChoiceQuestion) -> str | None:
    """The letter that says yes, where the options are a yes and a no."""
    words = {letter: text.casefold().split()[0].strip(".,:;!") for letter, text in item.options.items() if text.strip()}
    if len(item.options) != 2 or set(words.values()) != {"yes", "no"}:
        return None
    return next(letter for letter, word in words.items() if word == "yes")


def asked(question: str) -> ComponentName | None:
    """The one component whose presence is asked for; None where something else or more is asked.

    >>> asked("Is the 'Tide Encoder' component present (or an abbreviation such as TE)?")
    ComponentName(name='Tide Encoder', also=('TE',))
    >>> asked("Is the 'Tide Encoder' connected to the 'Decoder'?") is None
    True
    """
    shell = _QUOTED.sub(" □ ", question)
    names = [found[1] for found in _QUOTED.finditer(question)]
    outside = _ASIDE.sub(" ", shell)
    if not names or outside.count("□") != 1 or outside.index("□") != shell.index("□"):
        return None
    if not set(re.findall(r"\w+", outside.replace("□", " ").casefold())) <= _ALLOWED:
        return None
    name, *others = names
    others += [found.strip(" .'\"") for found in _ABBREVIATION.findall(question)]
    if inner := _ASIDE.search(name):
        # 'Teacher Model (TM)' has two names.
        name, others = _ASIDE.sub(" ", name), [inner[1], *others]
    name = " ".join(name.split())
    return ComponentName(name, tuple(dict.fromkeys(other for other in others if other != name))) if name else None
