"""Which option a reply chooses: as the release takes it, and as a careful reader does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.asks import Unreadable, object_schema
from ...core.json_text import loads
from ...core.marks import Mark
from ...core.protocol import Reading
from .data import ChoiceQuestion

LETTERS = frozenset("ABCD")
NONE = "no answer, which counts as wrong"
_TAG = re.compile(r"</?\w+>|\\(?:boxed|text|textbf|mathbf|mathrm)\b")
_ORNAMENT = re.compile(r"""[*_`"'“”‘’$#{}\[\]\\]""")
_DASH = re.compile(r"^\s+[-–—]\s")
_BLANKS = re.compile(r"\s+")
_ONE = r"\(?\s*([A-D])\b\)?"
_HEAD = re.compile(
    r"(?i:(?:the )?(?:(?:correct |final |best )?(?:answer|option|choice|letter))[ :]*)?\(?([A-Da-d])"
    r"(?:\)|[.:,](?=\s|$)|[。：，、]|\s*(?:\n|$)|\s+[-–—]\s|\s+(?:because|since|as)\b)"
)
_SAID = (
    re.compile(
        r"\b(?i:answers?)(?:\s*[:：=]|(?i:\s+(?:is|would be|should be|must be|to (?:this|the) question|the|therefore|"
        rf"option|choice|letter|correct)))*\s*{_ONE}"
    ),
    re.compile(
        r"\b(?i:(?:correct|right|best) (?:option|choice|letter|one))(?:\s*[:：=]|(?i: (?:is|would be|should be|must be"
        rf")))(?i:\s+(?:option|choice|letter))?\s*{_ONE}"
    ),
    re.compile(r"答案\s*(?:应该?是|是|为|选)?\s*[:：]?\s*[(（]?([A-D])(?![A-Za-z])"),
    re.compile(rf"\b(?i:choose|select|pick|go with|going with)(?i:\s+(?:option|choice|letter|answer))?\s*:?\s*{_ONE}"),
    re.compile(rf"(?:\n|\b(?i:so|thus|hence|therefore)\b[,:]?)\s*{_ONE}\s*\.?\s*$"),
    re.compile(r"\b([A-D])\)? (?i:is (?:the )?(?:correct|right|best))\b"),
)
"""How a letter is said to be the answer: at the head of the reply, or in these words."""
_MORE = re.compile(r"\s*(?:,|/|&|and\b|or\b|[，、和或])?\s*\(?[A-D](?:\)|[.,:/。，、]|\s*$|\s+(?:and|or)\b)")
"""A second letter right behind the first."""


def release(text: str) -> str | None:
    """The first letter of the reply, else its last, where that is A to D: so the B of "Based on" is an answer.

    All dots at both ends are dropped first, and what is left is not stripped again.

    >>> release("b."), release("The answer is C.."), release("Based on the figure, yes"), release("(A)")
    ('B', 'C', 'B', None)
    """
    plain = _spoken(text).strip().strip(".").upper()
    return next((letter for letter in (plain[:1], plain[-1:]) if letter in LETTERS), None)


def careful(text: str, options: Mapping[Any, str]) -> str:
    """The one option a reply states, by its letter or in the option's own words.

    >>> careful("Based on the figure, the answer is **C**.", {"A": "Yes", "C": "No"})
    'C'

    Raises:
        Unreadable: It states none of the options, or several.
    """
    spoken = _spoken(text).rpartition("</think>")[2].partition("<think>")[0]
    body = _BLANKS.sub(_blank, _ORNAMENT.sub("", _TAG.sub(" ", spoken))).strip()
    if not body:
        raise Unreadable("the reply is empty")
    places = [found for said in _SAID for found in said.finditer(body)]
    if head := _HEAD.match(body):
        places.append(head)
    stated = {found[1].upper() for found in places}
    # "A. Yes" where A is the no: the words speak against the letter.
    behind = {_plain(_DASH.sub("", body[found.end() :])) for found in places}
    rest = {letter for letter, words in options.items() if _plain(words) in behind - {""}}
    stated |= set() if stated & rest else rest
    if not stated:
        said = {_plain(body), _yes_or_no(body)}
        stated = {letter for letter, words in options.items() if _plain(words) in said}
    letters = ", ".join(sorted(options))
    if len(stated) > 1 or any(_MORE.match(body, found.end()) for found in places):
        raise Unreadable(f"the reply must choose one option, by one letter of {letters}")
    if not stated & options.keys():
        raise Unreadable(f"the reply must be one letter of {letters}")
    return stated.pop()


def mark(item: ChoiceQuestion, text: str | None, reading: Reading, why: str) -> Mark:
    """Right or wrong; without an answer unread, or wrong as the authors count it. `why` tells why there is no text."""
    letter = None
    if text is not None and reading == "careful":
        try:
            letter = careful(text, item.options)
        except Unreadable as error:
            why = str(error)
    elif text is not None:
        letter, why = release(text), "neither its first nor its last character is one of A, B, C, D"
    if letter is not None:
        return Mark(item.key, int(letter == item.correct_option), f"answered {letter}; right is {item.correct_option}")
    return Mark.unread(item.key, why) if reading == "careful" else Mark(item.key, 0, f"{NONE}: {why}")


def check_all(text: str, items: Sequence[ChoiceQuestion]) -> None:
    """Look whether a reply to all questions answers each of them.

    Raises:
        Unreadable: It does not.
    """
    said = batched(text)
    for n, item in enumerate(items, 1):
        try:
            careful(said.get(str(n), ""), item.options)
        except Unreadable as error:
            raise Unreadable(f"question {n}: {error}") from error


def shape(items: Sequence[ChoiceQuestion]) -> dict[str, Any]:
    """The shape of a reply to all questions, as a JSON schema."""
    return object_schema({str(n): {"type": "string", "enum": sorted(one.options)} for n, one in enumerate(items, 1)})


def batched(text: str) -> dict[str, str]:
    """Question number -> what was answered, from one reply to all questions.

    Raises:
        Unreadable: The reply is no JSON object.
    """
    return {number: answer for number, answer in loads(text).items() if isinstance(answer, str)}


def _spoken(text: str) -> str:
    """The text without what stands between the marks of thinking."""
    kept, at = [], 0
    while (start := text.find("<think>", at)) >= 0 and (end := text.find("</think>", start)) >= 0:
        kept.append(text[at:start])
        at = end + len("</think>")
    return "".join(kept) + text[at:]


def _blank(found: re.Match[str]) -> str:
    return "\n" if "\n" in found[0] else " "


def _plain(words: str) -> str:
    return " ".join(_ORNAMENT.sub("", words).casefold().split()).strip(" .,:;!。：，、")


def _yes_or_no(body: str) -> str | None:
    """The "no" of "No, it is not shown"."""
    found = re.match(r"(yes|no)[,.;:!]", body, re.IGNORECASE)
    return found[1].casefold() if found else None
