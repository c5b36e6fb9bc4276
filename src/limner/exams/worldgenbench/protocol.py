"""WorldGenBench's protocol: one ask per drawing, a zero or a one per item of its checklist, three averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant, list_schema, object_schema
from ...core.exam import Question
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Row, Score, mean_of_known
from .data import ChecklistRubric
from .labels import words_alone
from .replies import read_list, read_reasons

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
        """The items; where one asks for nothing but words in the picture, with those words."""
        return [
            Criterion(f"item/{n}", entry.item, "item", labels=words_alone(entry.item, entry.explanation))
            for n, entry in enumerate(question.rubric.checklist, 1)
        ]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """The rules, the checklist, and how to reply."""
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
        """The same in every reading: the paper knows only whole lists of zeros and ones."""
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
        """The prompt's own score, its items, and its score once more for its continent or discipline."""
        score = row.scores.get("checklist")
        if score is None:
            return {}
        met = 100.0 * sum(values(row.marks).values())
        found = {"checklist": (score, 1.0), "checklist_items": (met, float(len(row.question.rubric.checklist)))}
        category = row.question.tags.get("continent") or row.question.tags.get("discipline")
        return found | {WITHIN + category: (score, 1.0)} if category else found

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """The mean over those categories that have one; a resample may miss some."""
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
