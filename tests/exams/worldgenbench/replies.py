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
    "tight": lambda marks: "[" + ",".join(map(str, marks)) + "]",
    "one a line": lambda marks: json.dumps(list(marks), indent=2),
    "trailing comma": lambda marks: plain(marks)[:-1] + ",]",
    "fence": lambda marks: f"```\n{plain(marks)}\n```",
    "json fence": lambda marks: f"```json\n{plain(marks)}\n```",
    "python fence in prose": lambda marks: f"Here it is:\n\n```python\n{plain(marks)}\n```\nDone.",
    "prose around": lambda marks: f"After checking all {len(marks)} items twice: {plain(marks)}. Nothing was inferred.",
    "bold": lambda marks: f"**{plain(marks)}**",
    "code span": lambda marks: f"The result is `{plain(marks)}`",
    "assignment": lambda marks: f"result = {plain(marks)}",
    "object": lambda marks: json.dumps({"marks": list(marks)}),
    "object in a fence": lambda marks: "```json\n" + json.dumps({"result": list(marks)}, indent=1) + "\n```",
    "thinking first": lambda marks: f"<think>Perhaps [1, 1, 1, 1]? No: [0].</think>\n{plain(marks)}",
    "thinking without its opening": lambda marks: f"Perhaps [1, 0]?\n</think>\n{plain(marks)}",
    "draft, then fence": lambda marks: f"First pass: {plain([1] * len(marks))}\n```\n{plain(marks)}\n```",
    "said twice": lambda marks: f"{plain(marks)}\n\nSo the answer is {plain(marks)}.",
    "comments": lambda marks: "[\n" + "".join(f"  {m}, // item {n}\n" for n, m in enumerate(marks, 1)) + "]",
    "no brackets": lambda marks: ", ".join(map(str, marks)),
    "bracketed words": lambda marks: f"[Checked against the picture] {plain(marks)} [end of list]",
    "formula": lambda marks: f"\\[{', '.join(map(str, marks))}\\]",
    "empty lines": lambda marks: f"\n\n  {plain(marks)}  \n",
}
"""Ways of saying the same list."""

WRONG: dict[str, Form] = {
    "one too few": lambda marks: plain(marks[:-1]),
    "one too many": lambda marks: plain([*marks, 0]),
    "a two": lambda marks: plain([2, *marks[1:]]),
    "a minus": lambda marks: plain([-1, *marks[1:]]),
    "a half": lambda marks: "[0.5" + plain([0, *marks[1:]])[2:],
    "a float": lambda marks: "[1.0" + plain([0, *marks[1:]])[2:],
    "truth values": lambda marks: json.dumps([bool(mark) for mark in marks]),
    "a null": lambda marks: json.dumps([None, *marks[1:], 1]),
    "words": lambda marks: json.dumps([str(mark) for mark in marks]),
    "one word": lambda marks: json.dumps(["1", *marks[1:], 0][: len(marks)]),
    "nested": lambda marks: f"[{plain(marks)}]",
    "cut off": lambda marks: plain(marks)[:-1],
    "cut off in a fence": lambda marks: f"```json\n{plain(marks)[:-2]}",
    "two lists": lambda marks: f"{plain(marks)} or rather {plain([1 - mark for mark in marks])}",
    "two fences": lambda marks: f"```\n{plain(marks)}\n```\n```\n{plain([1 - mark for mark in marks])}\n```",
    "a list and a shorter one": lambda marks: f"{plain(marks)}, unsure about [{len(marks) + 1}]",
    "prose": lambda marks: "; ".join(f"item {n} is {'met' if m else 'not met'}" for n, m in enumerate(marks, 1)),
    "lines": lambda marks: "\n".join(f"{n}. {mark}" for n, mark in enumerate(marks, 1)),
    "semicolons": lambda marks: "[" + "; ".join(map(str, [*marks, 1])) + "]",
    "digits in a row": lambda marks: "[" + "".join(map(str, [1, *marks])) + "]",
    "objects": lambda marks: json.dumps([{"mark": mark} for mark in marks]),
    "nothing": lambda marks: "",
    "refusal": lambda marks: "I cannot evaluate this image.",
    "empty list": lambda marks: "[]",
    "thinking without an end": lambda marks: f"<think>So it is {plain(marks)}",
    "a letter inside": lambda marks: plain(marks)[:-1] + ", x]",
}
"""Replies that break the contract, for checklists of two items or more."""

MARKS = st.lists(st.integers(0, 1), min_size=1, max_size=14)
