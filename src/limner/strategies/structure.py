"""FEPBench's structured regime for any prompt: reorganised with nothing added, dropped or altered, and checked."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ..core.asks import Contract, Text, Unreadable
from ..painters import PaintRequest
from .base import Stage, Studio
from .rewrite import planned, without_thought

HEADINGS = ("subject", "panels", "elements", "labels", "relations", "layout", "style")
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»\n]{1,200})[\"“”„«»]|(?<!\w)['‘]([^'‘’\n]{1,200})['’](?!\w)")
_PLAIN = frozenset((Path(__file__).parent / "plain_words.txt").read_text(encoding="utf-8").split())
"""Words that carry a sentence, not a picture: they may come and go."""
_NEGATIVE = frozenset({"not", "no", "without", "never"})


async def structure(request: PaintRequest, studio: Studio) -> PaintRequest:
    """A planner puts the prompt in order; see the module."""

    def read(reply: str) -> str:
        text = without_thought(reply)[1].strip().strip("`").strip()
        if faults := differences(request.prompt, text):
            raise Unreadable("; ".join(faults))
        return text

    shown = [Text(studio.prompts.fill("structure", prompt=request.prompt))]
    prompt, key = await studio.ask("planner", "structure", request, shown, Contract(read))
    studio.note("structure", text=prompt, call=key)
    return replace(request, prompt=prompt)


def differences(original: str, ordered: str) -> list[str]:
    """How an ordered prompt differs in substance: what it dropped, what it added, which quotations it changed.

    >>> differences('A red cell by a "nerve"', "Elements\\n- red cell\\nRelations\\n- red cell by nerve")
    ['changed in quotation: "nerve"']
    """
    before, after = (_content(_without_headings(text)) for text in (original, ordered))
    found = []
    if dropped := [word for key, word in before.items() if key not in after]:
        found.append(f"dropped: {', '.join(dropped[:12])}")
    if added := [word for key, word in after.items() if key not in before]:
        found.append(f"added: {', '.join(added[:12])}")
    quoted = _quotations(ordered)
    lost = [words for words in _quotations(original) if words not in quoted]
    found += [f'changed in quotation: "{words}"' for words in lost[:5]]
    denied = [sum(word in _NEGATIVE for word in _words(text)) for text in (original, ordered)]
    if denied[0] != denied[1]:
        found.append(f"{denied[0]} negations became {denied[1]}")
    return found


def _without_headings(text: str) -> str:
    kept = (line for line in text.splitlines() if line.strip(" #*:-_").casefold() not in HEADINGS)
    return "\n".join(re.sub(rf"^\W*(?:{'|'.join(HEADINGS)})\s*:", "", line, flags=re.IGNORECASE) for line in kept)


def _quotations(text: str) -> list[str]:
    return [" ".join((one or other).split()) for one, other in _QUOTED.findall(text)]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _content(text: str) -> dict[str, str]:
    """The words that say something, by their stems; numbers as they are."""
    return {_stem(word): word for word in _words(text) if word not in _PLAIN and word not in _NEGATIVE}


def _stem(word: str) -> str:
    """A word without the endings that move when a sentence is turned into a point."""
    if any(ch.isdigit() for ch in word) or not word.isascii():
        return word
    for ending in ("ings", "ing", "edly", "ies", "ied", "ed", "es", "ly", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


STRUCTURE = Stage(
    "structure", "a planner puts the prompt in order, nothing added, dropped or altered", "words", ("planner",),
    words=structure, guess=planned(400),
)  # fmt: skip
