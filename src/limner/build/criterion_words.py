"""Lints of a criterion's wording: several demands, no demand, always true, not visible. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .wording import PLAIN, QUOTED, VAGUE, WORD, read_patterns, why_not_english

_FILE = Path(__file__).with_name("patterns.toml")
_PATTERNS, _INVISIBLE = read_patterns(_FILE, "criterion"), read_patterns(_FILE, "invisible")
_ASIDE = re.compile(rf"\([^()]*\)|{QUOTED.pattern}")


@dataclass(frozen=True)
class Lint:
    """A lint. `point` counts from 1, and 0 is the prompt; `word` is the exam's word for a point."""

    kind: str
    point: int
    detail: str
    word: str = "point"

    def __str__(self) -> str:
        """Return the kind, the place and the details."""
        return f"{self.kind}: {f'{self.word} {self.point}: ' if self.point else ''}{self.detail}"


def lint_prompt(prompt: str, most: int) -> list[Lint]:
    """Return the lints of a prompt alone; it must have fewer than `most` words."""
    words = prompt.split()
    if not words:
        return [Lint("empty", 0, "there is no prompt")]
    lints = []
    if len(words) >= most:
        lints.append(Lint("length", 0, f"{len(words)} words; fewer than {most} are asked for"))
    if why := why_not_english([prompt], 0.2):
        lints.append(Lint("language", 0, f"not English: {why}"))
    return lints


def plain(text: str) -> str:
    """Return a text's words alone, for comparison."""
    return " ".join(WORD.findall(text.casefold()))


def why_not_yes(words: str) -> list[tuple[str, str]]:
    """Return kinds and details of why yes is not the answer of a right picture.

    >>> [kind for kind, _ in why_not_yes("How many cells are drawn?")]
    ['not-yes-no']
    >>> [kind for kind, _ in why_not_yes("Is the label 'Anode' missing?")]
    ['polarity']
    """
    reasons = []
    if _PATTERNS["wh"].search(words) or not _PATTERNS["asks"].search(words) or "?" not in words:
        reasons.append(("not-yes-no", f"yes or no does not answer {words[:80]!r}"))
    if (denied := _PATTERNS["denies"].search(words)) and not _PATTERNS["kept_right"].search(words):
        reasons.append(("polarity", f"yes would be wrong: {denied[0][:80]!r}"))
    elif match := _PATTERNS["negates"].search(QUOTED.sub("“…”", words)):
        reasons.append(("negated", f"is yes right? {match[0][:80]!r}"))
    return reasons


def why_compound(words: str) -> str | None:
    """Return why a point seems to ask several things at once; None if it does not.

    >>> why_compound("Is the nucleus drawn, and is it labeled?")
    'a second question: ", and is"'
    >>> why_compound("Is the angle between AB and CD equal to 90 degrees?") is None
    True
    """
    text = _ASIDE.sub(" ", words)
    if text.count("?") > 1:
        return "several question marks"
    asks = _PATTERNS["asks"].search(text)
    if match := _PATTERNS["clauses"].search(text, asks.end() if asks else 0):
        return f'a second question: "{match[0].strip()[:40]}"'
    if match := _PATTERNS["verbs"].search(text) or _PATTERNS["both"].search(text):
        return f'a second demand: "{match[0].strip()}"'
    return None


def why_general(words: str, specific: int = 4) -> str | None:
    """Return why a point is too general; None if it says what to look for.

    >>> why_general("Does the image show the correct structure of benzene?")
    'it says "correct" of benzene, and not what is to be seen'
    >>> why_general("Are there exactly 6 carbon atoms in the ring?") is None
    True
    """
    praise = _PATTERNS["praise"].findall(words)
    specifics = [
        word
        for word in WORD.findall(words.casefold())
        if word not in VAGUE and word not in PLAIN and not _PATTERNS["praise"].fullmatch(word)
    ]
    exact = any(ch.isdigit() for ch in words) or re.search(r"[\"“'‘=<>+→]", words) is not None
    if praise and not exact and len(specifics) <= specific:
        return (
            f'it says "{praise[0].lower()}" of {", ".join(specifics[:4]) or "everything"}, and not what is to be seen'
        )
    if not specifics:
        return "it names nothing that could be looked for"
    return None


FAULT_KINDS = ("compound", "general", "always-true", "invisible")
"""Kinds of faults: several questions at once, praise without specifics, true of every picture, visible in none."""
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_TRIVIAL = frozenset((Path(__file__).parent / "trivial_words.txt").read_text(encoding="utf-8").split())
"""Words that apply to every drawing."""


def criterion_faults(words: str) -> list[tuple[str, str]]:
    """Return kind and description of every fault that the rules find.

    >>> [kind for kind, _ in criterion_faults("Is something drawn in the picture?")]
    ['always-true']
    >>> criterion_faults("Are there exactly 6 carbon atoms in the ring?")
    []
    """
    faults = [(kind, why) for kind, rule in _RULES.items() if (why := rule(words)) is not None]
    # A criterion that every picture meets is not also reported as general.
    return [fault for fault in faults if fault[0] != "general" or "always-true" not in dict(faults)]


def why_vague(words: str) -> str | None:
    """Return why a criterion is too general (see `why_general`), or that it only refers to the task."""
    if match := _PATTERNS["task"].search(QUOTED.sub(" ", words)):
        return f'it asks whether the task was done ("{match[0]}"), and not what is to be seen'
    return why_general(words)


def why_always_true(words: str) -> str | None:
    """Return why every picture meets a criterion; None if a picture could fail it.

    >>> why_always_true("Is the label 'Anode' present or absent?")
    'both answers meet it: "present or absent"'
    >>> why_always_true("Are two lines drawn?") is None
    True
    """
    if match := _PATTERNS["either"].search(words):
        return f'both answers meet it: "{match[0].strip(" ,")}"'
    if QUOTED.search(words) or re.search(r"\d", words):
        return None
    specifics = [word for word in _WORD.findall(words.casefold()) if word not in _TRIVIAL]
    return None if specifics else "whatever is drawn meets it: it names nothing in particular"


def why_invisible(words: str) -> str | None:
    """Return why no picture can show what a criterion asks; None if a picture can.

    >>> why_invisible("Did the artist use a ruler?")
    'about what happened or would happen, not about what is drawn: "Did"'
    >>> why_invisible("Is the hand drawn above the table?") is None
    True
    """
    plain = _ASIDE.sub(" ", words)  # What stands in brackets explains, such as what a part does.
    for reason, pattern in _INVISIBLE.items():
        if match := pattern.search(plain):
            return f'{reason}: "{match[0].strip()}"'
    return None


_RULES = {"compound": why_compound, "general": why_vague, "always-true": why_always_true, "invisible": why_invisible}
