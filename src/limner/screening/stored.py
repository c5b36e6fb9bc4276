"""Which stored drawings carry words addressed to the examiner, by the OCR lines that the store has of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from ..core.evidence import OCR, TextLine
from ..core.exam import Question
from ..core.protocol import Protocol
from ..store import Store
from ..store.records import Drawing, load_results
from ..store.schema import calls, evidence
from .screen import Flag, screen

Flags = tuple[Flag, ...]


def screen_drawings(
    store: Store, drawings: Iterable[Drawing], questions: Mapping[str, Question[Any]], protocol: Protocol[Any]
) -> dict[str, Flags]:
    """Drawing's id -> what it carries; drawings whose text nobody has read are not in it.

    Words of a kind that the question itself has in its prompt or its criteria are asked for, and raise no flag.
    """
    done = [drawing for drawing in drawings if drawing.status == "done" and drawing.image]
    read = _lines_by_image(store, {drawing.image for drawing in done if drawing.image})
    asked: dict[str, frozenset[str]] = {}
    flagged: dict[str, Flags] = {}
    found: dict[str, Flags] = {}
    for drawing in done:
        image, question = drawing.image or "", questions.get(drawing.question_hash)
        if image not in read:
            continue
        if image not in flagged:
            flagged[image] = tuple(flag for lines in read[image] for flag in screen(lines))
        flags = flagged[image]
        if flags and question is not None:
            if question.hash not in asked:
                asked[question.hash] = _rules_in_question(question, protocol)
            flags = tuple(flag for flag in flags if flag.rule not in asked[question.hash])
        found[drawing.id] = flags
    return found


def _rules_in_question(question: Question[Any], protocol: Protocol[Any]) -> frozenset[str]:
    """The kinds of words that the question itself would raise."""
    texts = [question.prompt, *(criterion.text for criterion in protocol.criteria(question))]
    here = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    return frozenset(flag.rule for text in texts for flag in screen([TextLine(text, here, 1.0)]))


def _lines_by_image(store: Store, images: set[str]) -> dict[str, list[list[TextLine]]]:
    """Image -> its lines by every engine that has read it: those kept as evidence, else those in the call journal."""
    found: dict[str, list[list[TextLine]]] = {}
    wanted = sorted(images)
    with store.reading() as connection:
        for start in range(0, len(wanted), 500):
            some = evidence.c.subject.in_(wanted[start : start + 500])
            query = sa.select(evidence.c.subject, evidence.c.value).where(some, evidence.c.name == OCR)
            for row in connection.execute(query.order_by(evidence.c.backend)):
                found.setdefault(row.subject, []).append([TextLine.from_json(line) for line in row.value])
        engines = connection.scalars(
            sa.select(calls.c.target).where(calls.c.kind == "probe", calls.c.target.startswith(f"{OCR}/")).distinct()
        ).all()
    if not engines:
        return found
    from ..calls import Request

    keys = {
        Request("probe", engine, {"image": image}).key: image
        for engine in sorted(engines)
        for image in wanted
        if image not in found
    }
    for key, result in load_results(store, keys).items():
        lines = [TextLine.from_json(line) for line in result.get("lines", ())]
        found.setdefault(keys[key], []).append(lines)
    return found
