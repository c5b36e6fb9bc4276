"""The pictures that a rubric is proved on: the reference, controls that must fail, and corruptions of the reference."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..calls import Calls
from ..core.exam import Exam, Question
from ..core.images import encode_png
from ..painters.controls import images
from ..painters.controls.faults import FAULTS, Effect
from ..painters.controls.painter import SIZE, partners
from .bias import BARE, CLEAN, PLEA, UNSEEN
from .trials import OTHER, ExaminedReference, Trial, TrialMaker

BLANK, TEXT = "blank", "text"
CONTROLS = (BLANK, TEXT, OTHER)
"""Pictures that must fail: a white sheet, the prompt set in type, another question's reference."""
SWEEPING = (BARE, "arrow")
"""Corruptions that are tried first: all labels gone, and all that is drawn gone but the labels."""
CORRUPTIONS = (*SWEEPING, *(kind.name for kind in FAULTS.values() if kind.make and kind.name not in (*SWEEPING, PLEA)))
"""All that is done to a reference, each in its gravest dose."""
PURPOSE = "proof"


@dataclass(frozen=True)
class ProofTrials:
    """The pictures of one question.

    Attributes:
        first: Asked about in any case.
        rest: Corruptions that are asked about only where a criterion is met and none of the first took it away.
        impossible: What could not be tried, and why.
    """

    question: Question[Any]
    first: tuple[Trial, ...]
    rest: tuple[Trial, ...]
    impossible: Mapping[str, str]


async def proof_trials(maker: TrialMaker, calls: Calls) -> list[ProofTrials]:
    """The pictures of every question of the maker's exam; equal seeds make equal ones."""
    questions = maker.exam.questions
    found = {question.id: await maker.read(question, calls) for question in questions}
    there = [one for one in found.values() if one is not None]
    partner = partners(Exam(maker.exam.name, maker.exam.kind, tuple(one.question for one in there)))
    made = []
    for question in questions:
        one, other = found[question.id], found.get(partner.get(question.id, ""))
        made.append(await asyncio.to_thread(_of_question, maker, question, one, other))
    return made


def _of_question(
    maker: TrialMaker, question: Question[Any], one: ExaminedReference | None, other: ExaminedReference | None
) -> ProofTrials:
    criteria = maker.protocol.criteria(question)
    falls: dict[str, Effect] = {criterion.id: "fall" for criterion in criteria}
    sheet, _ = maker.blobs.put(encode_png(images.blank(maker.protocol.blank_size)))
    typed, _ = maker.blobs.put(encode_png(images.typeset(_prompt(maker, question), SIZE)))
    # Where there is no reference, steadiness is seen on the white sheet.
    first = [
        Trial(question, BLANK, 0, sheet, falls, "a white sheet", 1 if one else 2),
        Trial(question, TEXT, 0, typed, {}, "the prompt set in type"),
        Trial(question, UNSEEN, 1, sheet, falls, "no picture at all"),
    ]
    rest: list[Trial] = []
    impossible: dict[str, str] = {}
    if one is None:
        impossible = dict.fromkeys((CLEAN, OTHER, *CORRUPTIONS), "the question has no reference image here")
    else:
        clean, _ = maker.blobs.put(one.data)
        stands: dict[str, Effect] = {each.criterion.id: "stand" for each in one.labelled}
        first.insert(0, Trial(question, CLEAN, 0, clean, stands, "the reference as it is", 2))
        if other is None:
            impossible[OTHER] = "no other question has a reference image that differs"
        else:
            first.append(maker.exchanged(one, other))
        for name in CORRUPTIONS:
            trials = [replace(trial, repeats=1) for trial in maker.faulty(one, FAULTS[name], len(FAULTS[name].doses))]
            if not trials:
                impossible[name] = "nothing in the reference to do it to"
            (first if name in SWEEPING else rest).extend(trials)
    named = [tuple(replace(trial, purpose=PURPOSE) for trial in some) for some in (first, rest)]
    return ProofTrials(question, named[0], named[1], impossible)


def _prompt(maker: TrialMaker, question: Question[Any]) -> str:
    """What a painter would be sent, as ``control/text`` has it."""
    options = {name: values[0] for name, values in maker.protocol.draw_options.items()}
    return maker.protocol.drawing_prompt(question, None, options)
