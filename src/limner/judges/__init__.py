"""Judges: what marks a drawing, found by ``ocr``, ``replay/FILE`` or ``provider/model``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.asks import Variant
from ..core.errors import UsageError
from ..core.images import Preparer
from ..core.prompts import Prompts
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..exams import Kind, wordings
from ..store import Blobs
from .base import JUDGES, Judge, JudgeInputs, JudgeKind, JudgeResult, Subject
from .model import ModelJudge
from .ocr.judge import RULES, OcrJudge

__all__ = [
    "JUDGES",
    "RULES",
    "Judge",
    "JudgeInputs",
    "JudgeKind",
    "JudgeResult",
    "ModelJudge",
    "OcrJudge",
    "Subject",
    "make_variant",
    "open_judge",
    "split_wording",
]

MODEL_KIND = "model"
"""The kind behind every ``provider/model``."""


def split_wording(words: Sequence[str]) -> tuple[str | None, str | None]:
    """Of the words that choose a wording, the one for the prompts and the one for the OCR examiner's rules."""
    rules = [word for word in words if word in RULES]
    prompts = [word for word in words if word not in RULES]
    for found in (rules, prompts):
        if len(found) > 1:
            raise UsageError(f"--wording {found[0]} and --wording {found[1]}: choose one; run again for the other")
    return (prompts[0] if prompts else None), (rules[0] if rules else None)


def make_variant(
    exam: Kind[Any],
    name: str | None,
    options: Mapping[str, str],
    prompts: Path | None = None,
    wording: str | None = None,
) -> Variant:
    """How to ask, checked against what the exam knows: in its newest wording, or in the one that `wording` chooses."""
    protocol = exam.protocol
    chosen = name or protocol.variants[0]
    if chosen not in protocol.variants:
        raise UsageError(f"{exam.name} has no variant {chosen!r}; there is: {', '.join(protocol.variants)}")
    full = {option: values[0] for option, values in protocol.options.items()}
    for option, value in options.items():
        allowed = protocol.options.get(option)
        if allowed is None:
            known = ", ".join(protocol.options) or "none"
            raise UsageError(f"{exam.name} has no option {option!r}; there is: {known}")
        if value not in allowed:
            raise UsageError(f"{option}={value}: {exam.name} takes {', '.join(allowed)}")
        full[option] = value
    variant = Variant(chosen, exam.load_prompts(prompts), full)
    if wording is None:
        return variant
    try:
        shipped = wordings.choose(exam, wording, protocol.templates(variant))
    except UsageError as error:
        raise UsageError(f"{error}; rules of the OCR examiner: {', '.join(RULES)}") from error
    return replace(variant, prompts=Prompts(shipped.folder, prompts))


def open_judge(
    spec: str,
    args: dict[str, Any],
    exam: Kind[Any],
    variant: Variant,
    settings: Settings,
    images: Preparer,
    blobs: Blobs,
    ocr: OcrProbe,
    rules: str | None = None,
) -> Judge:
    """The judge behind `spec`: of a registered kind, or ``provider/model`` for a chat model.

    `rules` are the OCR examiner's, the newest if none are named.
    """
    head, slash, rest = spec.partition("/")
    kind = head if JUDGES.serves(head, settings.providers) else MODEL_KIND
    if kind == MODEL_KIND and not (slash and rest):
        raise UsageError(f"{spec!r} is not a judge: write {', '.join(JUDGES.usages())}")
    return JUDGES.get(kind).open(JudgeInputs(spec, rest, args, exam, variant, settings, images, blobs, ocr, rules))
