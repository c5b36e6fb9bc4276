"""Opening of probes from words of the command line, and the probes of regions and aesthetics."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from ..calls import Attempt, Calls, Fault, Request, Result, digest
from ..core.catalogue import price_of
from ..core.errors import UsageError
from ..core.evidence import AESTHETICS, EVIDENCE, MODEL_PREFIX, OCR, REGIONS, TextLine
from ..core.images import BadImage, Preparer, decode, inspect, is_one_colour
from ..core.settings import Settings, parse_value
from ..exams.key import counted_regions
from ..workers import Recipe, WorkerUnfit, cores, environment
from .probe import (
    MODEL_KIND,
    Finding,
    LocalProbe,
    OcrProbe,
    Probe,
    ProbeInputs,
    ProbeKind,
    backends_of,
    evidence_names,
    probe_kind,
)
from .regions import COUNTERS, open_counter
from .unipercept import KEY

NONE = "none"
"""The word that turns off measuring evidence that the exam needs."""


@dataclass(frozen=True)
class Measuring:
    """The evidence to measure, and its backends.

    Attributes:
        words: The words for backends, by evidence; see `limner.evidence.probe`. ``none`` turns a measurement off.
        probes: The evidence to measure, regardless of the exam; by default, what the exam needs or a word names.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    probes: tuple[str, ...] = ()


def open_probes(
    needs: Iterable[str], uses: Iterable[str], measuring: Measuring, settings: Settings, images: Preparer
) -> list[Probe]:
    """Open probes for evidence that an exam needs, that it uses if a backend is named, and that the user names.

    Raises:
        UsageError: A word names no backend, or evidence that is to be measured has no backend.
    """
    names = evidence_names()
    usual = {name: getattr(settings.evidence, name) for name in EVIDENCE}
    given = {name: measuring.words.get(name) or usual.get(name) for name in names}
    wanted = set(measuring.probes) or {*needs, *measuring.words, *(name for name in uses if given.get(name))}
    if AESTHETICS in wanted and given[AESTHETICS] is None:
        raise UsageError("aesthetics: choose a backend, such as --aesthetics unipercept:PYTHON")
    wanted -= {name for name in wanted if given.get(name) == NONE}
    ocr = open_probe(OCR, given[OCR] or "", settings, images)
    probes: list[Probe] = []
    for name in (name for name in names if name in wanted):
        word = given[name] or _only_backend(name)
        probes.append(ocr if name == OCR else open_probe(name, word, settings, images, ocr))
    return probes


def _only_backend(evidence: str) -> str:
    """Return the only backend of evidence that has no default."""
    available = backends_of(evidence)
    if len(available) != 1:
        raise UsageError(f"{evidence}: choose a backend, such as --probe {evidence}={available[0]}")
    return available[0]


def open_probe(evidence: str, word: str, settings: Settings, images: Preparer, reader: Probe | None = None) -> Probe:
    """Return the probe behind a word: ``backend``, ``backend:rest``, ``backend?name=value``, or ``provider/model``."""
    option = f"--{evidence}" if evidence in EVIDENCE else f"--probe {evidence}="
    if is_table(word):
        raise UsageError(f"{option} {word}: import tables of regions and aesthetics with `limner evidence`")
    head, options = word_and_options(word)
    backend, _, rest = head.partition(":")
    kind = probe_kind(evidence, MODEL_KIND if "/" in backend else backend, f"{option} {word}")
    if kind.options is not None and (unknown := sorted(options.keys() - kind.options)):
        allowed = ", ".join(sorted(kind.options)) or "none"
        raise UsageError(f"{option} {word}: no option {', '.join(unknown)}; choose from: {allowed}")
    return kind.open(ProbeInputs(word, rest, options, settings, images, reader))


def _rapidocr(given: ProbeInputs) -> Probe:
    return OcrProbe(given.settings.evidence.ocr_timeout_s)


def _tesseract(given: ProbeInputs) -> Probe:
    from . import ocr as tesseract

    spoken, seconds = given.rest or tesseract.LANGUAGES, given.settings.evidence.ocr_timeout_s
    args = json.dumps({"languages": spoken, "seconds": seconds}, sort_keys=True)
    recipe = Recipe("tesseract", "limner.evidence.ocr:tesseract_reader", args)
    return LocalProbe(OCR, tesseract.name(spoken), recipe, seconds)


def _reader(given: ProbeInputs) -> Probe:
    from .by_model import ModelReader

    return ModelReader(_model(given))


def _regions(given: ProbeInputs) -> Probe:
    assert given.reader is not None
    word = given.word.partition("?")[0]
    return RegionsProbe(word, given.options, given.reader, given.settings.evidence.regions_timeout_s)


def _key_regions(given: ProbeInputs) -> Probe:
    return KeyRegions()


def _unipercept(given: ProbeInputs) -> Probe:
    how = {key: str(value) for key, value in given.options.items()}
    return UniPercept(given.rest or None, seconds=given.settings.evidence.aesthetics_timeout_s, **how)


def _rating(given: ProbeInputs) -> Probe:
    from .by_model import ModelRating

    return ModelRating(_model(given))


def _model(given: ProbeInputs) -> Any:
    from ..models import open_model

    return open_model(given.word.removeprefix(MODEL_PREFIX), {}, given.settings, given.images)


def word_and_options(word: str) -> tuple[str, dict[str, Any]]:
    """Split a word from the options after its question mark; values that are valid JSON are parsed.

    >>> word_and_options("sam2.1-large?device=cuda:1&points=16")
    ('sam2.1-large', {'device': 'cuda:1', 'points': 16})
    """
    head, _, tail = word.partition("?")
    return head, {key: parse_value(value) for key, value in parse_qsl(tail, keep_blank_values=True)}


def is_table(word: str | None) -> bool:
    """Return whether a word names a table of values: ``FILE.csv`` or ``NAME=FILE.csv``."""
    return word is not None and word.lower().endswith(".csv")


def table_of(word: str) -> tuple[str | None, Path]:
    """Return the name of a table's values, if given, and the file."""
    name, sep, path = word.partition("=")
    return (name, Path(path)) if sep and name and not Path(word).exists() else (None, Path(word))


RAPIDOCR = ProbeKind("rapidocr", "RapidOCR: PP-OCRv6 models on onnxruntime", _rapidocr)
TESSERACT = ProbeKind(
    "tesseract, tesseract:LANGUAGES", "the program Tesseract, which finds words anywhere (mode 11)", _tesseract
)
MODEL_READER = ProbeKind("PROVIDER/MODEL", "a chat model that is asked for lines and boxes", _reader, None)
CLASSICAL = ProbeKind("classical", COUNTERS["classical"], _regions, None)
SAM2_TINY = ProbeKind("sam2-tiny, sam2-tiny:FOLDER", COUNTERS["sam2-tiny"], _regions, None)
SAM21_LARGE = ProbeKind("sam2.1-large", COUNTERS["sam2.1-large"], _regions, None)
SAM21 = ProbeKind("sam2.1:WEIGHTS", COUNTERS["sam2.1:WEIGHTS"], _regions, None)
KEY_REGIONS = ProbeKind("key", "the answer key of a bundled sample, for its own pictures", _key_regions)
UNIPERCEPT = ProbeKind(
    "unipercept, unipercept:PYTHON", "UniPercept's rating of image aesthetics", _unipercept,
    frozenset({"device", "model"}),
)  # fmt: skip
MODEL_RATING = ProbeKind("PROVIDER/MODEL", "a chat model that is asked for a rating", _rating, None)


PACKAGE = "unipercept-reward"
MODEL = "Thunderbolt215215/UniPercept"
"""The model that the package loads by default."""
AESTHETICS_S = 600.0
"""Seconds allowed for rating one image."""
LOAD_S = 3600.0
"""Seconds allowed for loading the model, which may have to be downloaded first."""
VERSION_PROGRAM = "from importlib.metadata import version; print(version('unipercept-reward'))"
HELP = (
    f"make an environment for it (`python -m venv uni && uni/bin/pip install {PACKAGE}`) and say "
    "--aesthetics unipercept:uni/bin/python"
)


class UniPercept(LocalProbe):
    """A probe that rates aesthetics with UniPercept, from 0 to 100.

    Args:
        python: The Python that has the package; this one by default.
        device: The device of the model.
        model: A folder or repository of weights; the package's own choice by default.
        seconds: The time allowed for one image.
    """

    def __init__(
        self, python: str | None = None, device: str = "cuda", model: str | None = None, seconds: float = AESTHETICS_S
    ) -> None:
        self._python, self._model = python, model
        args = {"device": device} if model is None else {"device": device, "model": model}
        script = Path(__file__).with_name("unipercept.py")
        recipe = Recipe(
            "unipercept", f"{script}:rater", json.dumps(args, sort_keys=True),
            python=None if python is None else _find_python(python), workers=1, start_s=LOAD_S, single=False,
            gpu=device != "cpu",
        )  # fmt: skip
        super().__init__("aesthetics", "", recipe, seconds)

    @property
    def name(self) -> str:
        """The package's version, the kind of rating, and the weights."""
        return f"unipercept/{self._version} {KEY} model={self._model or MODEL}"

    def check(self) -> None:
        """Check that the package is installed; weights are checked when they are loaded."""
        _ = self._version

    @cached_property
    def _version(self) -> str:
        if self._python is None:
            try:
                return metadata.version(PACKAGE)
            except metadata.PackageNotFoundError as error:
                raise UsageError(f"{PACKAGE} is not installed with Limner; {HELP}") from error
        words = [_find_python(self._python), "-c", VERSION_PROGRAM]
        try:
            done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"{self._python} cannot be run: {error}") from error
        if done.returncode:
            raise UsageError(f"{self._python} has no package {PACKAGE}; {HELP}")
        return done.stdout.strip()

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `limner.evidence.probe.Probe`."""
        try:
            inspect(image)  # The worker itself does not check limits.
        except BadImage as error:
            raise Fault("image", str(error)) from error
        ratings, call = await self.ask(image, calls)
        return Finding(ratings[KEY], self.name, call)


def _find_python(python: str) -> str:
    program = shutil.which(str(Path(python).expanduser()))
    if program is None:
        raise UsageError(f"unipercept:{python}: no such program; {HELP}")
    # Not resolved: the Python of a virtual environment is a link, and finds its packages by the link's location.
    return str(Path(program).absolute())


REGIONS_S = 600.0
"""Seconds allowed for counting on one image."""
MAX_NAME_CHARS = 200
"""The longest backend name that a store accepts, in characters."""


class RegionsProbe(LocalProbe):
    """A probe that counts regions with the counter named by a word.

    The journal also keeps the boxes. `ocr` reads the lines of text, which count as regions.
    """

    def __init__(self, word: str, options: Mapping[str, Any], ocr: Probe, seconds: float = REGIONS_S) -> None:
        self._counter, self._ocr = open_counter(word, **options), ocr
        # Each model uses all cores.
        light = word == "classical"
        args = json.dumps({"word": word, "options": dict(options)}, sort_keys=True)
        recipe = Recipe(
            word, "limner.evidence.backends:counter", args, workers=cores() if light else 1, single=light,
            gpu=word.startswith("sam2.1") and options.get("device") != "cpu",
        )  # fmt: skip
        super().__init__("regions", "", recipe, seconds)

    @property
    def name(self) -> str:
        """The names of the counter and of the text reader."""
        if not self._name:
            reader = self._ocr.name
            name = f"{self._counter.name} lines={reader.partition(' ')[0]}#{digest(reader)[:12]}"
            self._name = name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 13]}#{digest(name)[:12]}"
        return self._name

    def check(self) -> None:
        """Check that the counter and the text reader can work."""
        self._ocr.check()
        self._counter.check()

    def unpriced(self) -> str | None:
        """Return the text reader's answer, as counting costs nothing."""
        return self._ocr.unpriced()

    def price(self) -> tuple[float | None, str]:
        """Return the price of reading the lines; see `limner.core.catalogue.Priced`."""
        return price_of(self._ocr)

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `limner.evidence.probe.Probe`."""
        read = await self._ocr.measure(image, calls)
        counted, call = await self.ask(image, calls, lines=read.value, named=self._counter.name)
        return Finding(counted["count"], self.name, call)


def counter(word: str, options: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """Return the function with which a worker counts."""
    made = open_counter(word, **options)

    def count(data: bytes, lines: list[dict[str, Any]], named: str) -> dict[str, Any]:
        if made.name != named:
            # Another machine may have other devices; its counts must not be stored under this name.
            raise WorkerUnfit(
                f"the worker counts as {made.name}, not as {named}: give device= and precision= with --regions"
            )
        return made.count(decode(data), [TextLine.from_json(line) for line in lines]).to_json()

    return count


class KeyRegions(Probe):
    """The probe that looks a picture up in the answer keys of the bundled samples; a blank sheet has no regions."""

    evidence, name = REGIONS, "key"

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `limner.evidence.probe.Probe`."""
        sha256 = hashlib.sha256(image).hexdigest()
        count = counted_regions(sha256)
        if count is None and not is_one_colour(image):
            raise Fault("probe", f"image {sha256[:12]}: no answer key knows this picture; use another --regions")

        async def perform(_attempt: Attempt) -> Result:
            return Result({"value": count or 0})

        outcome = await calls.do(Request("probe", f"{REGIONS}/{self.name}", {"image": sha256}), perform)
        return Finding(outcome.payload["value"], self.name, outcome.key)
