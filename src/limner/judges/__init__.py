"""Judges, opened by their spec: ``ocr``, ``replay/FILE``, ``panel/NAME`` or ``provider/model``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.asks import Variant
from ..core.errors import UsageError
from ..core.images import Preparer
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..exams import Kind
from ..exams.released import PREFIX, read_release, release_folder
from ..store import Blobs
from .base import JUDGES, Judge, JudgeInputs, JudgeKind, JudgeResult, Subject, Unseeing, Weigh, setup_id
from .model import ModelJudge
from .ocr.judge import OcrJudge
from .panel import KIND as PANEL_KIND
from .panel import Panel

MODEL_KIND = "model"
"""The kind behind every ``provider/model``."""


def make_variant(
    exam: Kind[Any],
    name: str | None,
    options: Mapping[str, str],
    prompts: Path | str | None = None,
) -> Variant:
    """Return how to ask, checked against the variants and options of the exam.

    `prompts` is a folder of the user's own wording, or ``release:FOLDER`` for that of a clone of the release.
    """
    protocol, clone = exam.protocol, release_folder(prompts)
    if clone is not None:
        return _released_variant(exam, name, options, clone)
    own = Path(prompts) if prompts is not None else None
    chosen = name or protocol.variants[0]
    if chosen not in protocol.variants:
        raise UsageError(f"{exam.name} has no variant {chosen!r}; it has: {', '.join(protocol.variants)}")
    return Variant(chosen, exam.load_prompts(own), _all_options(exam, options))


def _all_options(exam: Kind[Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return the exam's options of asking: those given, and defaults for the others."""
    allowed = exam.protocol.options
    for option, value in given.items():
        if option not in allowed:
            raise UsageError(f"{exam.name} has no option {option!r}; it has: {', '.join(allowed) or 'none'}")
        if value not in allowed[option]:
            raise UsageError(f"{option}={value}: {exam.name} takes {', '.join(allowed[option])}")
    return {option: given.get(option, values[0]) for option, values in allowed.items()}


def _released_variant(exam: Kind[Any], name: str | None, options: Mapping[str, str], clone: Path) -> Variant:
    """Return the release's way of asking in the wording of the user's clone; refuse options that contradict it."""
    release, prompts = read_release(exam, clone)
    option_text = f"--prompts {PREFIX}{clone}"
    full = _all_options(exam, {**release.options, **options})
    wrong = [f"-O {option}={full[option]}" for option, value in release.options.items() if full[option] != value]
    if name not in (None, release.variant):
        wrong.append(f"--variant {name}")
    if wrong:
        right = [f"--variant {release.variant}", *(f"-O {key}={value}" for key, value in release.options.items())]
        raise UsageError(
            f"{option_text}: the release uses {' '.join(right)}, not {' '.join(wrong)}; remove or change that option"
        )
    return Variant(release.variant, prompts, full)


def open_judge(given: JudgeInputs) -> Judge:
    """Return the judge behind a spec: of a registered kind, or ``provider/model`` for a chat model."""
    head = given.spec.partition("/")[0]
    kind = head if JUDGES.serves(head, given.settings.providers) else MODEL_KIND
    if kind == MODEL_KIND and not given.rest:
        raise UsageError(f"{given.spec!r} is not a judge: write {', '.join(JUDGES.usages())}")
    return JUDGES.get(kind).open(given)


def evaluator_kind(judge: Judge) -> str:
    """Return the kind of evaluator that a judge is."""
    return PANEL_KIND if isinstance(judge, Panel) else "judge"


def with_members(judges: Sequence[Judge]) -> list[Judge]:
    """Return the judges without duplicates, each panel preceded by its members."""
    by_setup: dict[str, Judge] = {}
    for judge in judges:
        for marker in (*(judge.members if isinstance(judge, Panel) else ()), judge):
            by_setup.setdefault(setup_id(marker.setup), marker)
    return list(by_setup.values())
