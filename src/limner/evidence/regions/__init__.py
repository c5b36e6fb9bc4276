"""Counting the regions of a drawing: masks of a segmentation model, and lines of text, which are read first."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...calls import Attempt, Calls, Fault, Request, Result, digest
from ...core.catalogue import price_of
from ...core.errors import UsageError
from ...core.evidence import REGIONS, TextLine
from ...core.images import decode, is_one_colour
from ...exams.key import counted_regions
from ...workers import Recipe, WorkerUnfit, cores
from ..probe import Finding, LocalProbe, Probe
from .base import RegionCounter

COUNTERS = {
    "classical": "areas within edges, by OpenCV; no model",
    "sam2-tiny": "SAM 2 tiny under onnxruntime, on the CPU",
    "sam2.1-large": "SAM 2.1 large with the release's settings",
    "sam2.1:WEIGHTS": "the same with weights from a folder, or another repository",
}
"""The words for counters, with descriptions."""


def open_counter(word: str, **options: Any) -> RegionCounter:
    """Return the counter named by a word; nothing is loaded yet.

    Args:
        word: One of `COUNTERS`.
        options: Of a model, `limner.evidence.regions.boxes.MaskSettings` by name; ``batch``; for SAM 2.1 also
            ``device`` and ``precision``, for SAM 2 tiny ``threads``.

    Raises:
        UsageError: There is no such counter, or it has no such option.
    """
    from .boxes import RELEASE, mask_settings

    kind, _, place = word.partition(":")
    make: Callable[..., RegionCounter]
    given: dict[str, Any] = {}
    if word == "classical":
        from .base import ClassicalCounter

        make = ClassicalCounter
    elif kind == "sam2-tiny":
        from .sam import FAST, TinyCounter

        make, given = TinyCounter, {"folder": place or None, "settings": mask_settings(FAST, options)}
    elif word == "sam2.1-large" or (kind == "sam2.1" and place):
        from .sam import LARGE, SamCounter

        make, given = SamCounter, {"weights": place or LARGE, "settings": mask_settings(RELEASE, options)}
    else:
        raise UsageError(f"no region counter {word!r}; choose from: {', '.join(COUNTERS)}")
    unknown = options.keys() - (inspect.signature(make).parameters.keys() - given.keys())
    if unknown:
        raise UsageError(f"region counter {word}: no option {', '.join(sorted(unknown))}")
    return make(**given, **options)


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
            word, "limner.evidence.regions:counter", args, workers=cores() if light else 1, single=light,
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
