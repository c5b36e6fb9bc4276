"""Reading of a judge's reply about a knowledge graph: yes or no, with a reason, for each item. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ...core.asks import Unreadable, list_schema, object_schema, text_in
from ...core.json_text import check_length, loads
from ...core.marks import Mark
from ...core.protocol import Reading

STRUCTURED, FREE = "mark", "checklist"
"""The names of the two kinds of ask, which determine how a reply is read."""
MISSING = "missing"
"""The source of the mark for a missing answer, in readings that count it as no."""
PARTS = {"entities": "entity", "dependencies": "dependency"}
ANSWERS = {"yes": 1, "no": 0, "true": 1, "false": 0}
MAX_REASON_CHARS = 400

_WORDS = {"type": "string"}
_ANSWER = {"type": "string", "enum": ["yes", "no"]}
_ITEMS = list_schema({"item": {"type": "integer"}, "reason": _WORDS, "answer": _ANSWER})
SCHEMA = object_schema({"description": _WORDS, "entities": _ITEMS, "dependencies": _ITEMS})
"""The shape of a structured reply."""

Items = Mapping[str, str]
"""Criterion id -> the item's text, entities first, in the order of the rubric."""
ItemAnswers = dict[str, list[tuple[int, str]]]
"""Criterion id -> all answers given to it, each with its reason."""


def read_answers(items: Items, ask: str, text: str, reading: Reading) -> list[Mark]:
    """Return one mark per item.

    In the reading ``careful``, an item without an answer or with contradictory answers is unread. In ``paper`` and
    ``release``, the last answer counts and a missing answer means no; ``release`` reads free text by the rules of the
    released parser.

    Raises:
        Unreadable: A structured reply is not an object, or the text is too long.
    """
    if ask == STRUCTURED:
        answers = read_structured(items, text)
    elif reading == "release":
        answers = read_released(items, text)
    else:
        answers = read_free_text(items, text)
    return [_mark(item, answers.get(item, []), reading == "careful") for item in items]


def require_complete(items: Items, text: str) -> ItemAnswers:
    """Return the answers of a structured reply that answers every item.

    Raises:
        Unreadable: Answers are missing or contradictory; the message says which.
    """
    answers = read_structured(items, text)
    wrong = [f"{item} ({why})" for item in items if (why := _why_unclear(answers.get(item, [])))]
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise Unreadable(f"no usable answer for {', '.join(wrong[:5])}{more}; each item needs one")
    return answers


def require_some(items: Items, text: str) -> ItemAnswers:
    """Return the answers of a free-text reply, which must have at least one.

    Raises:
        Unreadable: There is no answer.
    """
    answers = read_free_text(items, text)
    if not answers:
        raise Unreadable("no line has the text of an item, a colon and yes or no")
    return answers


def _mark(item: str, answers: list[tuple[int, str]], careful: bool) -> Mark:
    unclear = _why_unclear(answers)
    if careful and unclear:
        return Mark.unread(item, unclear)
    if not answers:
        return Mark(item, 0, f"{unclear}: counts as no", MISSING)
    return Mark(item, *answers[-1])


def _why_unclear(answers: list[tuple[int, str]]) -> str | None:
    if not answers:
        return "not answered"
    return "answered both yes and no" if len({value for value, _ in answers}) > 1 else None


def read_structured(items: Items, text: str) -> ItemAnswers:
    """Return the answers in a reply that contains an object of the shape `SCHEMA`."""
    body = loads(text)
    answers: ItemAnswers = {}
    for part, kind in PARTS.items():
        entries = body.get(part)
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, Mapping):
                continue
            item = f"{kind}/{entry.get('item')}"
            value = ANSWERS.get(str(entry.get("answer")).strip().casefold())
            if value is not None and item in items:
                answers.setdefault(item, []).append((value, text_in(entry, "reason")[:MAX_REASON_CHARS]))
    return answers


_ORNAMENT = re.compile(r"[*`\"“”„'‘’\[\]]")
_JOINTS = re.compile(r"\s*([(),])\s*")
_BULLETS = r"(?:[-–—•·>#|\s]|\(?\d{1,3}(?:\)|\.(?=\s)))*"
_LINK = r"\s*(?:[:：=|→⇒]|[-–—]+>?)[\s|]*"
_VERDICT = r"(?P<answer>yes|no|true|false)\b(?!\s*/)"


def read_free_text(items: Items, text: str) -> ItemAnswers:
    """Return the answers in free text, line by line, regardless of form.

    Accepted are bullets and numbers of any kind; quotes, brackets and asterisks around item or answer; other blanks
    inside an item; a dash, an arrow or a table column instead of the colon; and true or false instead of yes or no.
    """
    check_length(text)
    names: dict[str, list[str]] = {}
    for item, name in items.items():
        names.setdefault(_normalize(name), []).append(item)
    choice = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    if not choice:
        return {}
    line_of = re.compile(rf"{_BULLETS}(?P<name>{choice}){_LINK}(?:{_VERDICT}|(?P<open>$))")
    answers: ItemAnswers = {}
    lines = [line for line in text.splitlines() if line.strip()]
    for line, following in pairwise([*lines, ""]):
        match = line_of.match(_normalize(line))
        answer = match["answer"] if match else None
        if match and answer is None and (later := re.match(_BULLETS + _VERDICT, _normalize(following))):
            answer, line = later["answer"], f"{line} {following}"
        if match and answer is not None:
            for item in names[match["name"]]:
                answers.setdefault(item, []).append((ANSWERS[answer], line.strip()[:MAX_REASON_CHARS]))
    return answers


def _normalize(text: str) -> str:
    """Return a text in lower case with single blanks, and none next to brackets and commas."""
    return _JOINTS.sub(r"\1", " ".join(_ORNAMENT.sub("", text).casefold().split()))


def read_released(items: Items, text: str) -> ItemAnswers:
    """Return the answers in free text as the released parser finds them.

    An answer is found only at the start of a line: an optional bullet (star, hyphen, dot, or digits with a full stop),
    optional backticks, the item's exact text in any case, a colon, and yes or no. A single letter of these words also
    counts as an answer, and means no.
    """
    check_length(text)
    plain = text.replace("**", "").replace("[yes]", "yes").replace("[no]", "no")
    choice = "|".join(map(re.escape, items.values()))
    pattern = rf"^[^\S\n]*+(?:(?:[*•-]|\d+\.)\s*+)?(?:`+\s*+)?({choice})`*\s*+[:：]\s*+(yes|no|[yesno])\b"
    answers: ItemAnswers = {}
    for match in re.finditer(pattern, plain, re.IGNORECASE | re.MULTILINE):
        item = _find_item(match[1], items)
        if item is not None:
            line = plain[match.start() :].lstrip().split("\n", 1)[0]
            answers.setdefault(item, []).append((int(match[2].lower() == "yes"), line[:MAX_REASON_CHARS]))
    return answers


def _find_item(written: str, items: Items) -> str | None:
    """Return the item with this text, preferably in the same case; surrounding asterisks and backticks are ignored."""
    bare = re.sub(r"[:：]$", "", written.strip().strip("*`")).strip()
    same: Sequence[str] = [item for item, name in items.items() if name == bare]
    same = same or [item for item, name in items.items() if name.lower() == bare.lower()]
    return same[0] if same else None
