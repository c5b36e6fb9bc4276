"""WorldGenBench's protocol: one ask per drawing, a zero or a one per item of its checklist, three averages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant, list_schema, object_schema, text_in
from ...core.exam import Question
from ...core.json_text import Reader, check_length, loads
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Row, Score, mean_of_known
from .data import ChecklistRubric

WITHIN = "within "
"""Before a category's abbreviation: its own mean, from which the mean over categories follows."""
_ANSWER = {"reason": {"type": "string"}, "mark": {"type": "integer", "enum": [0, 1]}}


class WorldGenBench(Protocol[ChecklistRubric]):
    """See the module."""

    scored = (
        Score("checklist", 100, "percent of a prompt's checklist that is met, mean over prompts", digits=2),
        Score("checklist_items", 100, "percent of all checklist items met: long checklists count more", digits=2),
        Score("checklist_macro", 100, "mean of the checklist scores of continents and disciplines", digits=2),
    )
    variants = ("paper",)
    options: Mapping[str, tuple[str, ...]] = {"explain": ("false", "true")}
    reasons = False
    label_kinds = frozenset({"item"})
    reply_tokens: Mapping[str, int] = {"mark": 40, "explain": 700}
    breakdowns = ("domain", "continent", "discipline")

    def criteria(self, question: Question[ChecklistRubric]) -> list[Criterion]:
        """Return the items; where one asks for nothing but words in the picture, with those words."""
        return [
            Criterion(f"item/{n}", entry.item, "item", labels=words_alone(entry.item, entry.explanation))
            for n, entry in enumerate(question.rubric.checklist, 1)
        ]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the rules, the checklist, and how to reply."""
        return ("mark", "checklist", _reply_template(variant))

    def asks(self, question: Question[ChecklistRubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """One ask: the rules, the drawing as it is, the checklist. What was to be drawn is not told."""
        entries, prompts = question.rubric.checklist, variant.prompts
        listed = [f"{n}. Item: {e.item}\n   Explanation: {e.explanation}" for n, e in enumerate(entries, 1)]
        reply = prompts.fill(_reply_template(variant), spare=["count"], count=str(len(entries))).strip()
        checklist = prompts.fill("checklist", spare=["reply"], checklist="\n".join(listed), reply=reply)
        shown = (Text(prompts.fill("mark")), Picture(image), Text(checklist))
        name = "explain" if _explains(variant) else "mark"
        schema = object_schema({"answers": list_schema(_ANSWER)}) if _explains(variant) else None
        contract = Contract(lambda text: _read(question, Reply(name, text)), schema)
        return [Ask(name, shown, tuple(self.criteria(question)), contract)]

    def marks(self, question: Question[ChecklistRubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return the same in every reading: the paper knows only whole lists of zeros and ones."""
        try:
            if len(replies) != 1:
                raise Unreadable(f"{len(replies)} replies where one is wanted")
            return _read(question, replies[0])
        except Unreadable as error:
            return [Mark.unread(criterion.id, str(error)) for criterion in self.criteria(question)]

    def scores(
        self, question: Question[ChecklistRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Items met of all items, in percent, once every item is decided."""
        known, count = values(marks), len(question.rubric.checklist)
        return {"checklist": 100 * sum(known.values()) / count if len(known) == count else None}

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Return the prompt's own score, its items, and its score once more for its continent or discipline."""
        score = row.scores.get("checklist")
        if score is None:
            return {}
        met = 100.0 * sum(values(row.marks).values())
        found = {"checklist": (score, 1.0), "checklist_items": (met, float(len(row.question.rubric.checklist)))}
        category = row.question.tags.get("continent") or row.question.tags.get("discipline")
        return found | {WITHIN + category: (score, 1.0)} if category else found

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Return the mean over those categories that have one; a resample may miss some."""
        found = {name: mean for name, mean in means.items() if not name.startswith(WITHIN)}
        within = [mean for name, mean in means.items() if name.startswith(WITHIN)]
        if within:
            found["checklist_macro"] = mean_of_known(within)
        return found


def _explains(variant: Variant) -> bool:
    return variant.options.get("explain") == "true"


def _reply_template(variant: Variant) -> str:
    return "reply-explain" if _explains(variant) else "reply-list"


def _read(question: Question[ChecklistRubric], reply: Reply) -> list[Mark]:
    count = len(question.rubric.checklist)
    if reply.ask == "explain":
        found = read_reasons(reply.text, count)
    else:
        found = [(value, "") for value in read_list(reply.text, count)]
    return [Mark(f"item/{n}", value, reason) for n, (value, reason) in enumerate(found, 1)]


_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_LONE_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"(```|~~~)(.*?)\1", re.DOTALL)
_BARE = re.compile(r"[-+.\d]+(?:\s*,\s*[-+.\d]+)*")
_NUMBERS_BEGIN = re.compile(r"\[\s*[-+.]?\d")
_BRACKET = re.compile(r"[\[\]]")


def read_list(text: str, count: int) -> list[int]:
    """Return the one list of zeros and ones in a reply.

    Prose, fences, thinking or an object may stand around it. Lists in fences go before lists in prose. Several
    lists must agree, since nothing says which of them is meant.

    Raises:
        Unreadable: There is no list, there are different ones, one is broken, or it is not `count` zeros and ones.

    >>> read_list("Checked twice: [1, 0, 1].", 3)
    [1, 0, 1]
    """
    check_length(text)
    body = _THOUGHT.sub("\n", text)
    if _OPEN_THOUGHT.search(body):
        raise Unreadable("the reply ends inside its thinking")
    body = _LONE_THOUGHT.sub("", body).replace("\\[", "[").replace("\\]", "]")
    found = [numbers for fence in _FENCE.finditer(body) for numbers in _lists(fence[2])] or list(_lists(body))
    if not found and _BARE.fullmatch(body.strip()):
        found = list(_lists(f"[{body.strip()}]"))
    if not found:
        raise Unreadable(f"no list of {count} zeros and ones found")
    if any(other != found[0] for other in found):
        raise Unreadable("the reply holds different lists; one list alone is wanted")
    if len(found[0]) != count:
        raise Unreadable(f"the list has {len(found[0])} values; the checklist has {count} items")
    return [_mark(value, n) for n, value in enumerate(found[0], 1)]


def read_reasons(text: str, count: int) -> list[tuple[int, str]]:
    """Mark and reason of every item, from the object ``{"answers": [{"reason": …, "mark": …}]}``.

    Raises:
        Unreadable: The object is not there or not whole.
    """
    answers = loads(text).get("answers")
    if not isinstance(answers, list):
        raise Unreadable('"answers" must be a list')
    if len(answers) != count:
        raise Unreadable(f'"answers" has {len(answers)} entries; the checklist has {count} items')
    found = []
    for n, answer in enumerate(answers, 1):
        if not isinstance(answer, Mapping) or "mark" not in answer:
            raise Unreadable(f'answer {n} must be an object with "mark"')
        found.append((_mark(answer["mark"], n), text_in(answer, "reason")))
    return found


def _mark(value: object, n: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value in (0, 1):
        return value
    raise Unreadable(f"value {n} must be 0 or 1, not {value!r}"[:200])


def _lists(text: str) -> Iterator[list[object]]:
    """Every list outside any other that holds a number; a list of numbers that breaks off or goes wrong is an error."""
    reader, at = Reader(text), 0
    while (at := text.find("[", at)) >= 0:
        try:
            value = reader.read(at)
        except Unreadable as error:
            if _NUMBERS_BEGIN.match(text, at):
                raise Unreadable(f"the list is broken: {error}") from error
            at = _after(text, at)
            continue
        at = reader.at
        if isinstance(value, list) and any(isinstance(one, int | float) for one in value):
            yield value


def _after(text: str, start: int) -> int:
    """Past the bracket that closes the one at `start`, so that nothing inside it is taken for the answer."""
    depth = 0
    for mark in _BRACKET.finditer(text, start):
        depth += 1 if mark[0] == "[" else -1
        if not depth:
            return mark.end()
    raise Unreadable("a bracket is not closed")


_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_QUOTED = re.compile(r"""(?:'[^']+'|"[^"]+")""")
_LIST = rf"{_QUOTED.pattern}(?:(?:, and |, | and ){_QUOTED.pattern})*"
_WRITING = r"(?:labels?|words?|texts?|names?|inscriptions?)"
_THERE = r"(?:(?:clearly|plainly) )?(?:written|present|visible|shown|legible|readable)"
_PRESENT = re.compile(
    rf"(?:the |an? )?{_WRITING} (?P<words>{_LIST}) (?:is|are|(?:should|must|shall) be) {_THERE}\.?", re.IGNORECASE
)
_DEMANDS = re.compile(
    r"\b(?:should|must|shall|needs?|ha(?:s|ve) to|requires?|required|only|not|never)\b", re.IGNORECASE
)
SHORTEST = 3
"""Letters and signs of less than this stand in a picture by chance."""


def words_alone(item: str, explanation: str) -> tuple[str, ...]:
    """Return the words whose presence anywhere meets an item, or nothing where more than that is asked.

    A title, a banner that reads something, a thing labelled so: there a place or a structure is asked for as well,
    which the words by themselves do not prove.

    >>> words_alone("The labels 'Sun' and 'Moon' are present.", "These bodies take part.")
    ('Sun', 'Moon')
    >>> words_alone("An arrow labelled 'Volume' points up.", "The direction is made plain.")
    ()
    """
    match = _PRESENT.fullmatch(" ".join(item.translate(_STRAIGHT).split()))
    if match is None or _DEMANDS.search(explanation):
        return ()
    found = _unquoted(match["words"])
    others = set(_unquoted(explanation.translate(_STRAIGHT))) - set(found)
    return () if others or any(sum(map(str.isalnum, word)) < SHORTEST for word in found) else found


def _unquoted(text: str) -> tuple[str, ...]:
    return tuple(quoted[1:-1].strip() for quoted in _QUOTED.findall(text))
