"""Why wrong answers are wrong, by the four modes of failure that the paper shows examples of.

The paper names the modes and counts nothing. That a chat model assigns each wrong answer to one of them is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ...core.asks import Ask, Contract, Picture, Text, Unreadable, object_schema
from ...core.exam import Question
from ...core.json_text import loads
from ...core.marks import Mark
from ...core.prompts import Prompts
from ...core.protocol import FailureModes
from . import answers
from .data import QuestionsRubric

NAMES = {
    "missing": "missing components",
    "layout": "layout errors",
    "logic": "wrong logic",
    "text": "unclear text",
}
TEMPLATE = "wrong-answers"


def wrong(marks: Sequence[Mark]) -> list[Mark]:
    """Those answered, and answered wrongly; questions without an answer say nothing about the drawing."""
    return [mark for mark in marks if mark.value == 0 and not mark.reason.startswith(answers.NONE)]


def ask(question: Question[QuestionsRubric], marks: Sequence[Mark], image: str, prompts: Prompts) -> Ask:
    """The drawing and its wrongly answered questions, each with the right answer and the one that was given."""
    items = {item.key: item for item in question.rubric.checklist}
    told = []
    for number, mark in enumerate(marks, 1):
        item = items[mark.criterion]
        options = "\n".join(f"{letter}. {text}" for letter, text in sorted(item.options.items()))
        given = mark.reason.partition("answered ")[2][:1]
        said = f"\nAnswered: {given}" if given in item.options else ""
        told.append(f"{number}. {item.question}\n{options}\nRight answer: {item.correct_option}{said}")
    text = prompts.fill(TEMPLATE, count=str(len(marks)), questions="\n\n".join(told))
    shape = object_schema({str(n): {"type": "string", "enum": list(NAMES)} for n in range(1, len(marks) + 1)})
    contract = Contract(partial(_checked, marks=marks), shape, required=False)
    return Ask(TEMPLATE, (Picture(image), Text(text)), (), contract)


def read(text: str, marks: Sequence[Mark]) -> dict[str, str]:
    """Criterion -> mode, as far as the reply names one.

    >>> read('{"1": "layout", "2": "bad luck"}', [Mark("a", 0), Mark("b", 0)])
    {'a': 'layout'}
    """
    try:
        said = loads(text)
    except Unreadable:
        return {}
    named = {mark.criterion: said.get(str(number)) for number, mark in enumerate(marks, 1)}
    return {criterion: word for criterion, word in named.items() if isinstance(word, str) and word in NAMES}


def _checked(text: str, marks: Sequence[Mark]) -> dict[str, str]:
    loads(text)
    found = read(text, marks)
    for number, mark in enumerate(marks, 1):
        if mark.criterion not in found:
            raise Unreadable(f"question {number} needs one of {', '.join(NAMES)}")
    return found


MODES = FailureModes(
    names=NAMES,
    about="modes as in the paper's Figure 5; that a model assigns them, and the counts, are Limner's own",
    prompts=Path(__file__).parent / "sorting",
    wrong=wrong,
    ask=ask,
    read=read,
)
