"""Questions as a generator writes them: each with what it is about, so that it is checked on the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError

from ....core.asks import Unreadable
from ....core.data_files import FrozenModel, Words, first_wrong
from ....core.json_reader import loads
from ..data import LEVELS, ChoiceQuestion, OptionLetter, RightLetter
from .graph import LogicGraph

LEVEL_OF = {ours: name for name, ours in LEVELS.items()}
LETTERS: tuple[OptionLetter, ...] = ("A", "B", "C", "D")


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
    options: dict[OptionLetter, Words] = Field(min_length=2)
    correct_option: RightLetter
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


def parse_set(text: str, level: str, graph: LogicGraph, method: str, absent: int) -> list[DraftQuestion]:
    """The questions of one level in a generator's reply, which keep all of the level's rules.

    Raises:
        Unreadable: They do not; says which question breaks which rule.
    """
    from .checks import check_set

    body = loads(text).get("questions")
    if not isinstance(body, list):
        raise Unreadable('the reply must have a list under "questions"')
    found = [_draft(n, entry) for n, entry in enumerate(body, 1)]
    if problems := check_set(found, level, graph, method, absent):
        raise Unreadable("; ".join(problems[:8]))
    return found


def checklist(sets: dict[str, Sequence[DraftQuestion]]) -> list[dict[str, Any]]:
    """The rows of an exam's checklist, numbered throughout, each with its track and rationale."""
    rows = []
    for level in LEVELS.values():
        for draft in sets.get(level, ()):
            row = {"id": len(rows) + 1, "level": LEVEL_OF[level], **draft.model_dump(mode="json", exclude_defaults=True)}
            rows.append(row)
    return rows


def choice(row: dict[str, Any]) -> ChoiceQuestion:
    """The exam's question in a row."""
    return ChoiceQuestion.model_validate({name: row[name] for name in ChoiceQuestion.model_fields})


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
