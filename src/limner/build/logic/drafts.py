"""Questions as a generator writes them: each with what it is about, so that it is checked on the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from ...core.asks import Unreadable
from ...core.choices import LETTERS
from ...core.json_text import loads
from ...core.schema import FrozenModel, Words, first_wrong
from .graph import LogicGraph
from .rules import Level, QuestionRules

Letter = Literal["A", "B", "C", "D"]
Right = Annotated[Letter, BeforeValidator(lambda v: v.strip().upper() if isinstance(v, str) else v)]


class DraftQuestion(FrozenModel):
    """A question before it is an exam's.

    Attributes:
        track: At levels 1 and 2: A for what graph and figure show, B for what logic demands, absent for a part that
            the method does not have.
        nodes: What it is about, by ids of the graph.
        about: At level 2 next, previous or path; at level 3 a pattern; at level 4 an aspect.
        holds: At level 3 whether the graph has the pattern.
        part: At level 1 the part that is asked for, and at track absent the one that is not there.
        synonyms: At level 1 what else the part may be called.
    """

    question: Words = Field(min_length=10, max_length=600)
    options: dict[Letter, Words] = Field(min_length=2)
    correct_option: Right
    rationale: Words = Field(min_length=1)
    track: Literal["A", "B", "absent"] | None = None
    nodes: tuple[str, ...] = ()
    about: str = ""
    holds: bool | None = None
    part: Words = ""
    synonyms: tuple[Words, ...] = ()

    @property
    def right(self) -> str:
        """The words of the right option."""
        return self.options[self.correct_option]

    @property
    def yes_or_no(self) -> str | None:
        """``yes`` or ``no`` where the right option begins with it."""
        head = self.right.casefold().split()
        word = head[0].strip(".,:;!") if head else ""
        return word if word in ("yes", "no") else None


def parse_set(
    text: str, level: Level, graph: LogicGraph, method: str, absent: int, rules: QuestionRules
) -> list[DraftQuestion]:
    """The questions of one level in a generator's reply, which keep all of the level's rules.

    Raises:
        Unreadable: They do not; says which question breaks which rule.
    """
    from .checks import check_set

    body = loads(text).get("questions")
    if not isinstance(body, list):
        raise Unreadable('the reply must have a list under "questions"')
    found = [_draft(n, entry) for n, entry in enumerate(body, 1)]
    if problems := check_set(found, level, graph, method, absent, rules):
        raise Unreadable("; ".join(problems[:8]))
    return found


def checklist(sets: Mapping[Level, Sequence[Mapping[str, Any]]], rules: QuestionRules) -> list[dict[str, Any]]:
    """The questions of all levels as rows of one checklist, numbered throughout."""
    rows: list[dict[str, Any]] = []
    for level, own in rules.levels.items():
        rows += [{"id": len(rows) + n, "level": own.name, **draft} for n, draft in enumerate(sets.get(level, ()), 1)]
    return rows


def _draft(n: int, entry: Any) -> DraftQuestion:
    try:
        draft = DraftQuestion.model_validate(entry)
    except ValidationError as error:
        raise Unreadable(f"question {n}: {first_wrong(error)}") from error
    if draft.correct_option not in draft.options:
        raise Unreadable(f"question {n}: correct_option {draft.correct_option} is none of its options")
    if tuple(sorted(draft.options)) != LETTERS[: len(draft.options)]:
        raise Unreadable(f"question {n}: the letters of its options go from A on")
    words = [" ".join(option.casefold().split()) for option in draft.options.values()]
    if len(set(words)) < len(words) or "" in words:
        raise Unreadable(f"question {n}: two options say the same, or one says nothing")
    return draft
