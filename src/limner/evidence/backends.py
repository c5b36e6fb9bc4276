"""Finds probes by the words of the command line: what is measured, and with what."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ..errors import UsageError
from ..images import Preparer
from ..settings import Settings
from ..words import typed
from .names import AESTHETICS, EVIDENCE, MODEL, OCR, REGIONS
from .probe import Local, OcrProbe, Probe

NONE = "none"
"""The word for not measuring what the exam needs."""


@dataclass(frozen=True)
class Measuring:
    """What to measure, and with what.

    Attributes:
        probes: What to measure, whatever the exam needs; without it, what the exam needs and what a word names.
        ocr: ``rapidocr``, ``tesseract`` or ``provider/model``.
        regions: A word of `limner.evidence.regions.WORDS`, or ``none``.
        aesthetics: ``unipercept``, ``unipercept:PYTHON`` or ``provider/model``.
    """

    probes: tuple[str, ...] = ()
    ocr: str | None = None
    regions: str | None = None
    aesthetics: str | None = None

    @property
    def named(self) -> frozenset[str]:
        """What a word was given for."""
        return frozenset(name for name in EVIDENCE if getattr(self, name) is not None)


def open_probes(
    needs: Iterable[str], uses: Iterable[str], measuring: Measuring, settings: Settings, images: Preparer
) -> list[Probe]:
    """The probes for what an exam needs, for what it uses where a backend is named, and for what the user names.

    Raises:
        UsageError: A word names no backend, or none is named for what is to be measured.
    """
    usual = settings.evidence
    given = {name: getattr(measuring, name) or getattr(usual, name) for name in EVIDENCE}
    wanted = set(measuring.probes) or {*needs, *measuring.named, *(name for name in uses if given.get(name))}
    if AESTHETICS in wanted and given[AESTHETICS] is None:
        raise UsageError("aesthetics: name what rates, such as --aesthetics unipercept:PYTHON")
    wanted -= {name for name in wanted if given.get(name) == NONE}
    ocr = open_ocr(given[OCR], settings, images)
    found: list[Probe] = []
    for name in (name for name in EVIDENCE if name in wanted):
        if name == OCR:
            found.append(ocr)
        elif name == REGIONS:
            from .counting import RegionsProbe

            _no_table(given[REGIONS], "--regions")
            word, options = parted(given[REGIONS])
            found.append(RegionsProbe(word, options, ocr, usual.regions_timeout_s))
        else:
            found.append(open_aesthetics(given[AESTHETICS], settings, images))
    return found


def open_ocr(word: str, settings: Settings, images: Preparer) -> Probe:
    """The reader of text behind a word."""
    _no_table(word, "--ocr")
    seconds = settings.evidence.ocr_timeout_s
    kind, _, rest = word.partition(":")
    if word == "rapidocr":
        return OcrProbe(seconds)
    if kind == "tesseract":
        return _tesseract(rest or None, seconds)
    if "/" in word:
        from .models import ModelReader

        return ModelReader(_model(word, settings, images))
    raise UsageError(f"--ocr {word}: there is rapidocr, tesseract, tesseract:LANGUAGES, and PROVIDER/MODEL")


def _tesseract(languages: str | None, seconds: float) -> Probe:
    from ..workers import Recipe
    from . import tesseract

    spoken = languages or tesseract.LANGUAGES
    args = json.dumps({"languages": spoken, "seconds": seconds}, sort_keys=True)
    recipe = Recipe("tesseract", "limner.evidence.tesseract:reader", args)
    return Local(OCR, tesseract.name(spoken), recipe, seconds)


def open_aesthetics(word: str, settings: Settings, images: Preparer) -> Probe:
    """The rater behind a word."""
    _no_table(word, "--aesthetics")
    head, options = parted(word)
    kind, _, python = head.partition(":")
    if kind == "unipercept":
        from .aesthetics import UniPercept

        if unknown := options.keys() - {"device", "model"}:
            raise UsageError(f"--aesthetics {word}: no option {', '.join(sorted(unknown))}; there is: device, model")
        how = {key: str(value) for key, value in options.items()}
        return UniPercept(python or None, seconds=settings.evidence.aesthetics_timeout_s, **how)
    if "/" in word:
        from .models import ModelRating

        return ModelRating(_model(word, settings, images))
    raise UsageError(f"--aesthetics {word}: there is unipercept, unipercept:PYTHON, PROVIDER/MODEL")


def _model(word: str, settings: Settings, images: Preparer) -> Any:
    from ..models import open_model

    return open_model(word.removeprefix(MODEL), {}, settings, images)


def parted(word: str) -> tuple[str, dict[str, Any]]:
    """A word and the options behind its question mark; values that read as JSON are taken as such.

    >>> parted("sam2.1-large?device=cuda:1&points=16")
    ('sam2.1-large', {'device': 'cuda:1', 'points': 16})
    """
    head, _, tail = word.partition("?")
    return head, {key: typed(value) for key, value in parse_qsl(tail, keep_blank_values=True)}


def is_table(word: str | None) -> bool:
    """Whether a word names a table of values: ``FILE.csv`` or ``NAME=FILE.csv``."""
    return word is not None and word.lower().endswith(".csv")


def _no_table(word: str, option: str) -> None:
    if is_table(word):
        raise UsageError(f"{option} {word}: tables of regions and aesthetics are brought in by `limner evidence`")


def table_of(word: str) -> tuple[str | None, Path]:
    """The name that a table's values go by, where one is given, and the file."""
    name, sep, path = word.partition("=")
    return (name, Path(path)) if sep and name and not Path(word).exists() else (None, Path(word))
