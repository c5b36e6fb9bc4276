"""Whether one prompt says what another says: nothing added, nothing dropped, nothing changed. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal

from ...core.schema import read_toml
from ..wording import PLAIN, WORD, stem
from .spans import QUOTED, labels, plain

_DATA = read_toml(Path(__file__).with_suffix(".toml"))
_NUMBERS = {word: n for n, word in enumerate(_DATA["numbers"], 2)}
_SCAFFOLD = frozenset(map(stem, _DATA["scaffold"]))
_COLOURS = frozenset(_DATA["colours"])
_OPPOSITES = [tuple(pair) for one in _DATA["opposites"] for pair in (one, one[::-1])]
_BREAK = re.compile(r"[.;:!?,]\s+|[.;:!?]$|\n+")
_FROM = re.compile(r"\bfrom\s+(.{2,60}?)\s+(?:in)?(?:to|into|towards)\s+(.{2,60}?)(?=[.,;:\n]|\band\b|$)")
NEW = 0.6
"""A clause of which this share of words is new says something new; ours, as `FEWEST`."""
FEWEST = 2
LOST, GAINED = 0.25, 0.5
"""The share of an atom's words by which it is dropped, or added; ours."""
TELLING = {"visual": ("name",), "text": ("text",), "relation": ("source", "target", "type")}
"""The fields whose words say what an atom is."""


@dataclass(frozen=True)
class Rewording:
    """One thing in which two prompts differ."""

    kind: Literal["added", "dropped", "changed"]
    detail: str

    def __str__(self) -> str:
        """The kind and what it is."""
        return f"{self.kind}: {self.detail}"


def rewordings(free: str, structured: str) -> list[Rewording]:
    """What rules see of the differences between a prompt and its structured form; an empty list where they agree.

    >>> [str(one) for one in rewordings("Two red boats at the left.", "Objects: three red boats at the right.")]
    ['dropped: the number 2', 'added: the number 3', "changed: 'left' has become 'right'"]
    >>> rewordings("Two red boats lie at the left.", "Objects: two red boats at the left.")
    []
    """
    return [*sure_rewordings(free, structured), *_turned(free, structured), *_clauses(free, structured)]


def sure_rewordings(free: str, structured: str) -> list[Rewording]:
    """Those that no rewriting brings about by itself: labels, numbers, colours, what leads from where to where."""
    ways = _labels, _numbers, _colours, _directions
    return [one for way in ways for one in way(free, structured)]


def _labels(free: str, structured: str) -> list[Rewording]:
    gone, new = sorted(labels(free) - labels(structured)), sorted(labels(structured) - labels(free))
    found = []
    for one in list(gone):
        near = [other for other in new if SequenceMatcher(None, one, other).ratio() > 0.6]
        if near:
            found.append(Rewording("changed", f"the label {one!r} has become {near[0]!r}"))
            gone.remove(one)
            new.remove(near[0])
    found += [Rewording("dropped", f"the label {one!r}") for one in gone]
    return found + [Rewording("added", f"the label {one!r}") for one in new]


def _numbers(free: str, structured: str) -> list[Rewording]:
    before, after = numbers(free), numbers(structured)
    found = [Rewording("dropped", f"the number {n}") for n in sorted(before - after)]
    return found + [Rewording("added", f"the number {n}") for n in sorted(after - before)]


def numbers(text: str) -> set[str]:
    """The numbers in a text but for one, in words or figures, labels aside.

    >>> sorted(numbers("Two panels with 12 cells, one marked 'Day 4'"))
    ['12', '2']
    """
    words = WORD.findall(_bare(text))
    figures = {word for word in words if word[0].isdigit() and word != "1"}
    return figures | {str(_NUMBERS[word]) for word in words if word in _NUMBERS}


def _bare(text: str) -> str:
    """The text without the labels in it."""
    return QUOTED.sub(" ", plain(text))


def _colours(free: str, structured: str) -> list[Rewording]:
    before, after = (set(WORD.findall(_bare(text))) & _COLOURS for text in (free, structured))
    found = [Rewording("dropped", f"the colour {one}") for one in sorted(before - after)]
    return found + [Rewording("added", f"the colour {one}") for one in sorted(after - before)]


def _turned(free: str, structured: str) -> list[Rewording]:
    """Words that are fewer than before while their opposite is more."""
    before, after = Counter(WORD.findall(_bare(free))), Counter(WORD.findall(_bare(structured)))
    found = []
    for word, other in _OPPOSITES:
        if before[word] and not after[word] and after[other] > before[other]:
            found.append(Rewording("changed", f"{word!r} has become {other!r}"))
    return found


def _directions(free: str, structured: str) -> list[Rewording]:
    """Of two that say "from … to …" about the same, whether they say it the same way round."""
    found, before = [], _ways(free)
    for subject, a, b in _ways(structured):
        alike = [way for way in before if (a & way[1] and b & way[2]) or (a & way[2] and b & way[1])]
        if alike:
            best = max(alike, key=lambda way: (len(subject & way[0]), bool(a & way[1] and b & way[2])))
            if not (a & best[1] and b & best[2]):
                told = f"from {' '.join(sorted(a))} to {' '.join(sorted(b))}"
                found.append(Rewording("changed", f"{told} was the other way round"))
    return found


def _ways(text: str) -> list[tuple[set[str], set[str], set[str]]]:
    words = plain(text).replace("'", "").replace('"', "")
    found = []
    for match in _FROM.finditer(words):
        before = re.split(r"[.,;:\n]", words[: match.start()])[-1]
        found.append((_stems(before), _stems(match[1]), _stems(match[2])))
    return found


def _clauses(free: str, structured: str) -> list[Rewording]:
    found = []
    for kind, one, other in (("dropped", free, structured), ("added", structured, free)):
        known = _stems(plain(other))
        for clause in _BREAK.split(plain(one)):
            said = _stems(clause)
            new = said - known
            if len(new) >= FEWEST and len(new) >= NEW * len(said):
                found.append(Rewording(kind, f"{clause.strip()[:80]!r}"))  # type: ignore[arg-type]
    return found


def _stems(text: str) -> set[str]:
    words = {stem(re.sub(r"(?<=[^s])s$", "", word)) for word in WORD.findall(text) if word not in PLAIN}
    return words - _SCAFFOLD


def moved(atoms: Mapping[str, Sequence[Mapping[str, Any]]], free: str, structured: str) -> list[Rewording]:
    """Atoms that one prompt names and the other does not, by the words of their fields.

    An instruction atom is dropped where the structured prompt lacks words of it that the free one has; a reasoning atom
    is added where the structured one has words of it that the free one lacks.
    """
    before, after = _stems(plain(free)), _stems(plain(structured))
    found = []
    for modality, fields in TELLING.items():
        for atom in atoms[modality]:
            words = _stems(plain(" ".join(str(atom[name]) for name in fields)))
            gone, new = words & before - after, words & after - before
            if atom["role"] == "instruction" and gone and len(gone) >= LOST * len(words):
                found.append(Rewording("dropped", f"{atom['id']}: {', '.join(sorted(gone))}"))
            if atom["role"] == "reasoning" and new and len(new) >= GAINED * len(words):
                found.append(Rewording("added", f"{atom['id']}: {', '.join(sorted(new))}"))
    return found
