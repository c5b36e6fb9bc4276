"""Judges: what marks a drawing, found by ``ocr``, ``replay/FILE`` or ``provider/model``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..evidence.probe import OcrProbe
from ..exams import Kind
from ..images import Preparer
from ..protocol import Variant
from ..settings import Settings
from ..store import Blobs
from .base import Judge, Marked, Subject
from .kinds import JUDGES, JudgeInputs, JudgeKind
from .model import ModelJudge
from .ocr import OcrJudge

__all__ = [
    "JUDGES",
    "Judge",
    "JudgeInputs",
    "JudgeKind",
    "Marked",
    "ModelJudge",
    "OcrJudge",
    "Subject",
    "make_variant",
    "open_judge",
]

MODEL_KIND = "model"
"""The kind behind every ``provider/model``."""


def make_variant(exam: Kind[Any], name: str | None, options: Mapping[str, str], prompts: Path | None = None) -> Variant:
    """How to ask, checked against what the exam knows."""
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
    return Variant(chosen, exam.load_prompts(prompts), full)


def open_judge(
    spec: str,
    args: dict[str, Any],
    exam: Kind[Any],
    variant: Variant,
    settings: Settings,
    images: Preparer,
    blobs: Blobs,
    ocr: OcrProbe,
) -> Judge:
    """The judge behind `spec`: of a registered kind, or ``provider/model`` for a chat model."""
    head, slash, rest = spec.partition("/")
    kind = head if JUDGES.serves(head, settings.providers) else MODEL_KIND
    if kind == MODEL_KIND and not (slash and rest):
        raise UsageError(f"{spec!r} is no judge: write {', '.join(JUDGES.usages())}")
    return JUDGES.get(kind).open(JudgeInputs(spec, rest, args, exam, variant, settings, images, blobs, ocr))
