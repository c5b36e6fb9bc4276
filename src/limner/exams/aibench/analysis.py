"""Failure modes and plots of AIBench's paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ...core.asks import Ask, Contract, Picture, Prompts, Text, Unreadable, object_schema
from ...core.errors import UsageError
from ...core.exam import Question
from ...core.json_text import loads
from ...core.marks import Mark
from ...core.plot_data import Grid, Plot, PlotSource, Point, Points, describe_left_out, score_with_scale
from ...core.protocol import FailureModes
from . import protocol
from .data import QuestionsRubric
from .protocol import LEVEL_NAMES

NAMES = {
    "missing": "missing components",
    "layout": "layout errors",
    "logic": "wrong logic",
    "text": "unclear text",
}
TEMPLATE = "wrong-answers"


def wrong_answers(marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks of wrong answers, without unanswered questions, which say nothing about the drawing."""
    return [mark for mark in marks if mark.value == 0 and not mark.reason.startswith(protocol.NO_ANSWER)]


def ask(question: Question[QuestionsRubric], marks: Sequence[Mark], image: str, prompts: Prompts) -> Ask:
    """Return the ask with the drawing and the wrongly answered questions, each with the right and the given answer."""
    items = {item.key: item for item in question.rubric.checklist}
    listed = []
    for number, mark in enumerate(marks, 1):
        item = items[mark.criterion]
        options = "\n".join(f"{letter}. {text}" for letter, text in sorted(item.options.items()))
        given = mark.reason.partition("answered ")[2][:1]
        answer = f"\nAnswered: {given}" if given in item.options else ""
        listed.append(f"{number}. {item.question}\n{options}\nRight answer: {item.correct_option}{answer}")
    text = prompts.fill(TEMPLATE, count=str(len(marks)), questions="\n\n".join(listed))
    shape = object_schema({str(n): {"type": "string", "enum": list(NAMES)} for n in range(1, len(marks) + 1)})
    contract = Contract(partial(_require_modes, marks=marks), shape, required=False)
    return Ask(TEMPLATE, (Picture(image), Text(text)), (), contract)


def read(text: str, marks: Sequence[Mark]) -> dict[str, str]:
    """Return criterion -> failure mode, for criteria to which the reply assigns a known one.

    >>> read('{"1": "layout", "2": "bad luck"}', [Mark("a", 0), Mark("b", 0)])
    {'a': 'layout'}
    """
    try:
        answers = loads(text)
    except Unreadable:
        return {}
    modes = {mark.criterion: answers.get(str(number)) for number, mark in enumerate(marks, 1)}
    return {criterion: word for criterion, word in modes.items() if isinstance(word, str) and word in NAMES}


def _require_modes(text: str, marks: Sequence[Mark]) -> dict[str, str]:
    loads(text)
    modes = read(text, marks)
    for number, mark in enumerate(marks, 1):
        if mark.criterion not in modes:
            raise Unreadable(f"question {number} needs one of {', '.join(NAMES)}")
    return modes


MODES = FailureModes(
    names=NAMES,
    about="modes as in the paper's Figure 5; that a model assigns them, and the counts, are Limner's own",
    prompts=Path(__file__).parent / "sorting",
    wrong=wrong_answers,
    ask=ask,
    read=read,
)


def levels(source: PlotSource) -> Grid:
    """Return the scores of the four levels."""
    return source.shares(LEVEL_NAMES)


def logic_aesthetics(source: PlotSource) -> Points:
    """Return the aesthetics rating against the mean of the four levels.

    Raises:
        UsageError: Aesthetics were not rated, or the judge's marks do not determine the levels.
    """
    aesthetics = next(score for score in source.protocol.scored if score.name == "aesthetics")
    rated = source.cells(aesthetics.name)
    points = [
        Point(name, x, y, None, name in source.controls)
        for name, x, y in zip(source.names, source.mean(LEVEL_NAMES), rated, strict=True)
        if x.value is not None and y.value is not None
    ]
    if not any(cell.value is not None for cell in rated):
        raise UsageError(
            f"{source.exam} has no aesthetics; `limner evidence {source.exam} --aesthetics WORD` measures it"
        )
    if not points:
        raise UsageError(f"{source.exam}: this judge does not decide all four levels; mark with a model, not with ocr")
    caption = source.caption + describe_left_out(len(source.names) - len(points), "without both numbers")
    return Points(
        tuple(points), "logic, mean of the four levels (of 100)", score_with_scale(aesthetics), caption
    ).with_front()


PLOTS: Mapping[str, Plot] = {
    "levels": Plot("the four levels", levels, "profiles"),
    "logic-aesthetics": Plot("looks against logic", logic_aesthetics, "points"),
}
