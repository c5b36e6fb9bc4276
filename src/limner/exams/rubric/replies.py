"""Replies of judges: the form that follows from the criteria, and reading it into marks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.asks import Unreadable, text_in
from ...core.json_text import ReplyReader, check_length, loads
from ...core.marks import Mark
from ...core.vocabulary import ReplyField, describe_fields, example_reply, fields_schema, read_reply
from .criteria import RubricCriterion
from .definition import AskPlan, ReleasedForm

WORDING = """Reply with one JSON object and nothing else, of this form:

{example}

{fields}"""


def reply_fields(ask: AskPlan, criteria: Sequence[RubricCriterion]) -> dict[str, ReplyField]:
    """Return the fields of a reply about these criteria: a list for each family of a question's own, and values."""
    fields: dict[str, ReplyField] = {}
    for key, family in _by_key(ask, criteria).items():
        value = _value_field(family)
        if ask.reasons:
            words = ReplyField(kind="text", required=False)
            value = ReplyField(kind="group", fields={answer_key(ask, "reason"): words, answer_key(ask, "value"): value})
        about = _describe(ask, family[0], len(family))
        if _is_list(ask, family):
            fields[key] = ReplyField(kind="list", of=value, least=len(family), most=len(family), about=about)
        else:
            fields[key] = value.model_copy(update={"about": about})
    return fields


def reply_schema(ask: AskPlan, criteria: Sequence[RubricCriterion]) -> dict[str, Any] | None:
    """Return the JSON schema of a reply; None for a list of zeros and ones."""
    if ask.reply == "list":
        return None
    return fields_schema(reply_fields(ask, criteria))


def reply_words(ask: AskPlan, criteria: Sequence[RubricCriterion]) -> str:
    """Return the words that tell the judge the form of its reply."""
    if ask.reply == "list":
        return (
            f"Reply with a list alone, without a word before or after it: exactly {len(criteria)} numbers in square "
            "brackets, each 0 or 1, in the order above."
        )
    fields = reply_fields(ask, criteria)
    example = json.dumps(example_reply(fields), indent=2, ensure_ascii=False)
    return WORDING.format(example=example, fields=describe_fields(fields))


def read_answers(ask: AskPlan, criteria: Sequence[RubricCriterion], text: str) -> list[Mark]:
    """Return the marks in a reply to one call, in the exam's own form or that of its release.

    Raises:
        Unreadable: The reply has neither form; the message says how it differs from the exam's own.
    """
    try:
        return _read_own(ask, criteria, text)
    except Unreadable:
        if ask.also is None:
            raise
        try:
            return read_released_reply(ask.also, criteria, text)
        except Unreadable:
            pass
        raise


def _read_own(ask: AskPlan, criteria: Sequence[RubricCriterion], text: str) -> list[Mark]:
    if ask.reply == "list":
        flags = read_flags(text, len(criteria))
        return [Mark(each.criterion.id, flag) for each, flag in zip(criteria, flags, strict=True)]
    body, marks = loads(text), list[Mark]()
    values = read_reply(reply_fields(ask, criteria), body)
    for key, family in _by_key(ask, criteria).items():
        listed = _is_list(ask, family)
        entries, raw = (values[key], body[key]) if listed else ([values[key]], [body[key]])
        for each, entry, written in zip(family, entries, raw, strict=True):  # type: ignore[call-overload]
            reason = text_in(written, answer_key(ask, "reason")) if ask.reasons else ""
            marks.append(_mark(each, entry[answer_key(ask, "value")] if ask.reasons else entry, reason))
    return marks


def _by_key(ask: AskPlan, criteria: Sequence[RubricCriterion]) -> dict[str, list[RubricCriterion]]:
    """Return the criteria by their key in the reply, in order."""
    by_key: dict[str, list[RubricCriterion]] = {}
    for each in criteria:
        by_key.setdefault(answer_key(ask, each.family.name), []).append(each)
    return by_key


def answer_key(ask: AskPlan, name: str) -> str:
    """Return the key of a family, or of ``value`` or ``reason``, in the reply to an ask."""
    return ask.keys.get(name, "answer" if name == "value" else name)


def _is_list(ask: AskPlan, family: Sequence[RubricCriterion]) -> bool:
    return bool(family[0].family.column) and not ask.each


def _value_field(family: Sequence[RubricCriterion]) -> ReplyField:
    if words := max((each.words for each in family), key=len):
        return ReplyField(kind="choice", among=words)
    criterion = family[0].criterion
    return ReplyField(kind="scale", low=criterion.low, high=criterion.top)


def _describe(ask: AskPlan, first: RubricCriterion, count: int) -> str:
    criterion, words = first.criterion, first.words
    if first.family.kind == "yesno":
        values = "1 for yes or 0 for no"
    elif first.right:
        values = "the letter of an option"
    else:
        values = f"one of {', '.join(words)}" if words else f"a whole number from {criterion.low} to {criterion.top}"
    reason = f"`{answer_key(ask, 'reason')}` says in one sentence what is seen or missing" if ask.reasons else ""
    value = f"`{answer_key(ask, 'value')}` is {values}" if reason else values
    entries = f"exactly {count} entries in the order above" if _is_list(ask, [first]) else ""
    return "; ".join(part for part in (entries, reason, value) if part)


def _mark(each: RubricCriterion, value: Any, reason: str) -> Mark:
    id = each.criterion.id
    if each.right:
        if value not in each.words:
            raise Unreadable(f"{id}: {value} is none of its options")
        return Mark(id, int(value == each.right), f"{value}: {reason}" if reason else f"{value} chosen")
    return Mark(id, each.words.index(value) if each.words else value, reason)


_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_LONE_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"(```|~~~)(.*?)\1", re.DOTALL)
_BARE = re.compile(r"[-+.\d]+(?:\s*,\s*[-+.\d]+)*")
_NUMBERS_BEGIN = re.compile(r"\[\s*[-+.]?\d")
_BRACKET = re.compile(r"[\[\]]")


def read_flags(text: str, count: int) -> list[int]:
    """Return the only list of zeros and ones in a reply.

    It may be surrounded by prose, fences, thinking or an object. Lists in fences take precedence over lists in prose.
    If there are several, they must agree, because it is unknown which one is meant.

    Raises:
        Unreadable: There is no list, lists differ, one is broken, or it does not consist of `count` zeros and ones.

    >>> read_flags("Checked twice: [1, 0, 1].", 3)
    [1, 0, 1]
    """
    check_length(text)
    body = _THOUGHT.sub("\n", text)
    if _OPEN_THOUGHT.search(body):
        raise Unreadable("the reply ends inside its thinking")
    body = _LONE_THOUGHT.sub("", body).replace("\\[", "[").replace("\\]", "]")
    lists = [numbers for fence in _FENCE.finditer(body) for numbers in _lists(fence[2])] or list(_lists(body))
    if not lists and _BARE.fullmatch(body.strip()):
        lists = list(_lists(f"[{body.strip()}]"))
    if not lists:
        raise Unreadable(f"no list of {count} zeros and ones found")
    if any(other != lists[0] for other in lists):
        raise Unreadable("the reply holds different lists; one list alone is wanted")
    if len(lists[0]) != count:
        raise Unreadable(f"the list has {len(lists[0])} values; the checklist has {count} items")
    return [_flag(value, n) for n, value in enumerate(lists[0], 1)]


def _flag(value: object, n: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value in (0, 1):
        return value
    raise Unreadable(f"value {n} must be 0 or 1, not {value!r}"[:200])


def _lists(text: str) -> Iterator[list[object]]:
    """Yield every outermost list that contains a number; a broken list of numbers is an error."""
    reader, at = ReplyReader(text), 0
    while (at := text.find("[", at)) >= 0:
        try:
            value = reader.read(at)
        except Unreadable as error:
            if _NUMBERS_BEGIN.match(text, at):
                raise Unreadable(f"the list is broken: {error}") from error
            at = _after_bracket(text, at)
            continue
        at = reader.at
        if isinstance(value, list) and any(isinstance(item, int | float) for item in value):
            yield value


def _after_bracket(text: str, start: int) -> int:
    """Return the position after the bracket that closes the one at `start`, to skip everything inside."""
    depth = 0
    for mark in _BRACKET.finditer(text, start):
        depth += 1 if mark[0] == "[" else -1
        if not depth:
            return mark.end()
    raise Unreadable("a bracket is not closed")


_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_NUMBER = re.compile(r"^[\s*]*(\d+)[\s*]*$", re.MULTILINE)


def read_released_reply(form: ReleasedForm, criteria: Sequence[RubricCriterion], text: str) -> list[Mark]:
    """Return the marks in a reply of the release's form.

    Raises:
        Unreadable: The reply does not have the form; the message says how.
    """
    check_length(text)
    if form.key:
        body = loads(text)
        values = [body.get(form.key.replace("*", each.family.name)) for each in criteria]
    elif form.entries:
        values = _entries(form.entries, text, len(criteria))
    elif len(criteria) != 1:
        raise Unreadable(f"a single answer cannot decide {len(criteria)} criteria")
    else:
        values = [_yes_or_no(text) if form.word else _labelled(form.label, text)]
    return [_released_mark(each, value) for each, value in zip(criteria, values, strict=True)]


def _entries(key: str, text: str, count: int) -> list[Any]:
    start = text.find("[")
    entries = ReplyReader(text).read(start) if start >= 0 else None
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise Unreadable(f'expected a list of objects with "{key}"')
    if len(entries) != count:
        raise Unreadable(f"the list has {len(entries)} entries; there are {count} criteria")
    return [entry.get(key) for entry in entries]


def _yes_or_no(text: str) -> int:
    words = {word.casefold() for word in _WORD.findall(text)}
    if not words:
        raise Unreadable("neither yes nor no is said")
    return int("yes" in words)


def _labelled(label: str, text: str) -> int:
    labelled = re.search(rf"{re.escape(label)}s?[\s*:\uff1a]*(\d+)", text, re.IGNORECASE)
    alone = _NUMBER.findall(text)
    if not labelled and len(alone) != 1:
        raise Unreadable(f"no number follows {label!r}, and there is not one alone on a line")
    return int(labelled[1] if labelled else alone[0])


def _released_mark(each: RubricCriterion, value: Any) -> Mark:
    criterion = each.criterion
    if isinstance(value, str):
        value = _yes_or_no(value) if _WORD.search(value) else _labelled(criterion.id, value)
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
    if not whole or not criterion.low <= value <= criterion.top:
        wanted = f"a whole number from {criterion.low} to {criterion.top}"
        raise Unreadable(f"{criterion.id}: {str(value)[:80]!r} is not {wanted}")
    return Mark(criterion.id, int(value))
