"""WorldGenBench's protocol: one ask per drawing, zero or one for each checklist item, and three averages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant, list_schema, object_schema, text_in
from ...core.exam import Question
from ...core.json_text import ReplyReader, check_length, loads
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Row, Score, mean_of_known
from .data import ChecklistRubric

CATEGORY_PREFIX = "within "
"""The prefix for means of single categories, from which the mean over categories is computed."""
_ANSWER = {"reason": {"type": "string"}, "mark": {"type": "integer", "enum": [0, 1]}}


class WorldGenBench(Protocol[ChecklistRubric]):
    """WorldGenBench's protocol: zero or one for each checklist item, and three averages."""

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
        """Return the checklist items, with labels if an item asks only for text in the picture."""
        return [
            Criterion(f"item/{n}", entry.item, "item", labels=presence_words(entry.item, entry.explanation))
            for n, entry in enumerate(question.rubric.checklist, 1)
        ]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the templates of the rules, the checklist, and the form of the reply."""
        return ("mark", "checklist", _reply_template(variant))

    def asks(self, question: Question[ChecklistRubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return one ask, with the rules, the drawing at full size and the checklist, but not the drawing prompt."""
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
        """Return the marks, the same in every reading, because the paper has only complete lists of zeros and ones."""
        try:
            if len(replies) != 1:
                raise Unreadable(f"expected one reply, not {len(replies)}")
            return _read(question, replies[0])
        except Unreadable as error:
            return [Mark.unread(criterion.id, str(error)) for criterion in self.criteria(question)]

    def scores(
        self, question: Question[ChecklistRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Return the percentage of items met; None unless every item is decided."""
        answers, count = values(marks), len(question.rubric.checklist)
        return {"checklist": 100 * sum(answers.values()) / count if len(answers) == count else None}

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Return the parts of the prompt's score, of its items, and of the score of its continent or discipline."""
        score = row.scores.get("checklist")
        if score is None:
            return {}
        met = 100.0 * sum(values(row.marks).values())
        parts = {"checklist": (score, 1.0), "checklist_items": (met, float(len(row.question.rubric.checklist)))}
        category = row.question.tags.get("continent") or row.question.tags.get("discipline")
        return parts | {CATEGORY_PREFIX + category: (score, 1.0)} if category else parts

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Return the means, with those of single categories replaced by their mean; a resample may lack some."""
        averages = {name: mean for name, mean in means.items() if not name.startswith(CATEGORY_PREFIX)}
        within = [mean for name, mean in means.items() if name.startswith(CATEGORY_PREFIX)]
        if within:
            averages["checklist_macro"] = mean_of_known(within)
        return averages


def _explains(variant: Variant) -> bool:
    return variant.options.get("explain") == "true"


def _reply_template(variant: Variant) -> str:
    return "reply-explain" if _explains(variant) else "reply-list"


def _read(question: Question[ChecklistRubric], reply: Reply) -> list[Mark]:
    count = len(question.rubric.checklist)
    if reply.ask == "explain":
        answers = read_reasons(reply.text, count)
    else:
        answers = [(value, "") for value in read_list(reply.text, count)]
    return [Mark(f"item/{n}", value, reason) for n, (value, reason) in enumerate(answers, 1)]


_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_LONE_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"(```|~~~)(.*?)\1", re.DOTALL)
_BARE = re.compile(r"[-+.\d]+(?:\s*,\s*[-+.\d]+)*")
_NUMBERS_BEGIN = re.compile(r"\[\s*[-+.]?\d")
_BRACKET = re.compile(r"[\[\]]")


def read_list(text: str, count: int) -> list[int]:
    """Return the only list of zeros and ones in a reply.

    It may be surrounded by prose, fences, thinking or an object. Lists in fences take precedence over lists in prose.
    If there are several, they must agree, because it is unknown which one is meant.

    Raises:
        Unreadable: There is no list, lists differ, one is broken, or it does not consist of `count` zeros and ones.

    >>> read_list("Checked twice: [1, 0, 1].", 3)
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
    return [_mark(value, n) for n, value in enumerate(lists[0], 1)]


def read_reasons(text: str, count: int) -> list[tuple[int, str]]:
    """Return the mark and reason for each item from ``{"answers": [{"reason": …, "mark": …}]}``.

    Raises:
        Unreadable: The object is missing or incomplete.
    """
    answers = loads(text).get("answers")
    if not isinstance(answers, list):
        raise Unreadable('"answers" must be a list')
    if len(answers) != count:
        raise Unreadable(f'"answers" has {len(answers)} entries; the checklist has {count} items')
    answers_read = []
    for n, answer in enumerate(answers, 1):
        if not isinstance(answer, Mapping) or "mark" not in answer:
            raise Unreadable(f'answer {n} must be an object with "mark"')
        answers_read.append((_mark(answer["mark"], n), text_in(answer, "reason")))
    return answers_read


def _mark(value: object, n: int) -> int:
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
MIN_LETTERS = 3
"""The minimum number of letters in a label; shorter words occur in pictures by chance."""


def presence_words(item: str, explanation: str) -> tuple[str, ...]:
    """Return the words whose mere presence meets an item; empty if more is required.

    Items about a title, the text of a banner or a labelled thing also ask for a place or a structure, which words alone
    do not prove.

    >>> presence_words("The labels 'Sun' and 'Moon' are present.", "These bodies take part.")
    ('Sun', 'Moon')
    >>> presence_words("An arrow labelled 'Volume' points up.", "The direction is made plain.")
    ()
    """
    match = _PRESENT.fullmatch(" ".join(item.translate(_STRAIGHT).split()))
    if match is None or _DEMANDS.search(explanation):
        return ()
    words = _unquoted(match["words"])
    others = set(_unquoted(explanation.translate(_STRAIGHT))) - set(words)
    return () if others or any(sum(map(str.isalnum, word)) < MIN_LETTERS for word in words) else words


def _unquoted(text: str) -> tuple[str, ...]:
    return tuple(quoted[1:-1].strip() for quoted in _QUOTED.findall(text))
