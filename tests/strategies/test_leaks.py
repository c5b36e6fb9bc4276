"""No strategy ever sends a word of a rubric, over all sample exams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limner import exams
from limner.core.exam import Exam, Question
from limner.running.plan import Arm, Plan
from limner.running.runner import Runner
from limner.running.setup import load_exam_or_data
from limner.store import Store
from tests.strategies.support import Brush, Mind, made, said_by_studio

CANARY = "xqzvwk"
STRATEGIES = (
    "direct", "rewrite", "structure", "recaption", "reason", "svg", "svg-prior", "best-of-2", "edit",
    "rewrite+svg-prior+best-of-2+edit",
)  # fmt: skip
SAMPLES = ("genexam", "mmmg", "worldgenbench", "fepbench", "aibench")


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def marked(value: Any) -> Any:
    """The same rubric with a canary in every text that may hold any."""
    if isinstance(value, str):
        return f"{value} {CANARY}"
    if isinstance(value, dict):
        return {key: marked(item) for key, item in value.items()}
    return [marked(item) for item in value] if isinstance(value, list) else value


def tampered(question: Question[Any], kind: Any) -> Question[Any] | None:
    """The question with canaries in its rubric's free texts; None where none can be put in."""
    body = question.to_json()
    rubric = body["rubric"]
    found = False
    for path, text in list(_leaves(rubric)):
        trial = json.loads(json.dumps(rubric))
        _put(trial, path, f"{text} {CANARY}")
        try:
            kind.rubric.model_validate(trial)
        except ValueError:
            continue
        rubric, found = trial, True
    return replace(question, rubric=kind.rubric.model_validate(rubric)) if found else None


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(item, str):
            yield (*path, key), item
        else:
            yield from _leaves(item, (*path, key))


def _put(value: Any, path: tuple[Any, ...], text: str) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = text


@pytest.mark.parametrize(
    ("sample", "word"),
    [*(("genexam", word) for word in STRATEGIES[:-1]), *((sample, STRATEGIES[-1]) for sample in SAMPLES)],
)
def test_canaries_in_rubric_are_never_sent(sample: str, word: str, tmp_path: Path) -> None:
    named, whole = load_exam_or_data(f"sample/{sample}", None, tmp_path / "none")
    kind = exams.kind(named.kind)
    questions = [one for question in whole.questions[:3] if (one := tampered(question, kind)) is not None]
    assert questions, "no rubric took a canary: the test proves nothing"
    exam: Exam[Any] = replace(whole, questions=tuple(questions))
    mind, brush = Mind(said_by_studio), Brush()
    strategy = made(word, mind, Brush("editor"))
    with Store(tmp_path / "store") as store:
        plan = Plan(exam, [brush], [], chosen_arms=[Arm(brush, strategy)], options=_usual(kind))
        progress = Runner(plan, store).run()
    assert (progress.failed, progress.done) == (0, progress.total)
    heard = [*mind.heard, *(json.dumps([sent.prompt, sent.question]) for sent in brush.drawn)]
    assert heard
    assert not [text for text in heard if CANARY in text]


def _usual(kind: Any) -> dict[str, str]:
    return {name: values[0] for name, values in kind.protocol.draw_options.items()}


def test_judge_criteria_contain_canaries() -> None:
    """The judge does see them, so that their absence above means something."""
    for sample in SAMPLES:
        named, whole = load_exam_or_data(f"sample/{sample}", None, "nowhere")
        kind = exams.kind(named.kind)
        question = tampered(whole.questions[0], kind)
        assert question is not None, sample
        criteria_text = " ".join(
            text for criterion in kind.protocol.criteria(question) for text in texts(criterion.text)
        )
        assert CANARY in criteria_text, sample
