"""Questions and replies for tests: lists of zeros and ones in the many ways models wrap them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from limner.core.exam import Question
from limner.exams.worldgenbench.data import ChecklistItem, ChecklistRubric

TAGS = {"domain": "nature", "discipline": "CHEM"}


def question(count: int, **tags: str) -> Question[ChecklistRubric]:
    entries = tuple(ChecklistItem(item=f"Part {n} is shown.", explanation=f"Reason {n}.") for n in range(1, count + 1))
    return Question("q", "Draw the scene.", ChecklistRubric(checklist=entries), tags or TAGS)


Form = Callable[[Sequence[int]], str]


def plain(marks: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, marks)) + "]"


FORMS: dict[str, Form] = {
    "list": plain,
    "trailing comma": lambda marks: plain(marks)[:-1] + ",]",
    "json fence": lambda marks: f"```json\n{plain(marks)}\n```",
    "python fence in prose": lambda marks: f"Here it is:\n\n```python\n{plain(marks)}\n```\nDone.",
    "prose around": lambda marks: f"After checking all {len(marks)} items twice: {plain(marks)}. Nothing was inferred.",
    "object in a fence": lambda marks: "```json\n" + json.dumps({"result": list(marks)}, indent=1) + "\n```",
    "thinking first": lambda marks: f"<think>Perhaps [1, 1, 1, 1]? No: [0].</think>\n{plain(marks)}",
    "draft, then fence": lambda marks: f"First pass: {plain([1] * len(marks))}\n```\n{plain(marks)}\n```",
    "said twice": lambda marks: f"{plain(marks)}\n\nSo the answer is {plain(marks)}.",
    "comments": lambda marks: "[\n" + "".join(f"  {m}, // item {n}\n" for n, m in enumerate(marks, 1)) + "]",
    "no brackets": lambda marks: ", ".join(map(str, marks)),
}
"""Ways of saying the same list."""

WRONG: dict[str, Form] = {
    "one too few": lambda marks: plain(marks[:-1]),
    "one too many": lambda marks: plain([*marks, 0]),
    "a two": lambda marks: plain([2, *marks[1:]]),
    "a half": lambda marks: "[0.5" + plain([0, *marks[1:]])[2:],
    "truth values": lambda marks: json.dumps([bool(mark) for mark in marks]),
    "words": lambda marks: json.dumps([str(mark) for mark in marks]),
    "nested": lambda marks: f"[{plain(marks)}]",
    "cut off": lambda marks: plain(marks)[:-1],
    "two lists": lambda marks: f"{plain(marks)} or rather {plain([1 - mark for mark in marks])}",
    "a list and a shorter one": lambda marks: f"{plain(marks)}, unsure about [{len(marks) + 1}]",
    "prose": lambda marks: "; ".join(f"item {n} is {'met' if m else 'not met'}" for n, m in enumerate(marks, 1)),
    "nothing": lambda marks: "",
    "thinking without an end": lambda marks: f"<think>So it is {plain(marks)}",
}
"""Replies that break the contract, for checklists of two items or more."""

MARKS = st.lists(st.integers(0, 1), min_size=1, max_size=14)
