"""Counting the regions of a drawing: its text is read first, then a counter looks for masks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ...calls import Calls, digest
from ...core.catalogue import price_of
from ...core.evidence import TextLine
from ...core.images import decode
from ...workers import Recipe, WorkerUnfit, cores
from ..probe import Finding, LocalProbe, Probe
from . import open_counter

REGIONS_S = 600.0
"""Seconds that counting on one image may take."""
LONGEST = 200
"""Characters of the longest name a store takes."""


class RegionsProbe(LocalProbe):
    """Counts regions with the counter that a word names; the value is their number.

    The journal keeps the boxes too. `ocr` reads the lines of text, which are regions themselves.
    """

    def __init__(self, word: str, options: Mapping[str, Any], ocr: Probe, seconds: float = REGIONS_S) -> None:
        self._counter, self._ocr = open_counter(word, **options), ocr
        # Models use all cores by themselves.
        light = word == "classical"
        args = json.dumps({"word": word, "options": dict(options)}, sort_keys=True)
        recipe = Recipe(
            word, "limner.evidence.regions.probe:counter", args, workers=cores() if light else 1, single=light,
            gpu=word.startswith("sam2.1") and options.get("device") != "cpu",
        )  # fmt: skip
        super().__init__("regions", "", recipe, seconds)

    @property
    def name(self) -> str:
        """The counter's name, and who read the lines."""
        if not self._name:
            reader = self._ocr.name
            name = f"{self._counter.name} lines={reader.partition(' ')[0]}#{digest(reader)[:12]}"
            self._name = name if len(name) <= LONGEST else f"{name[: LONGEST - 13]}#{digest(name)[:12]}"
        return self._name

    def check(self) -> None:
        """What the counter needs must be there, and what reads the lines."""
        self._ocr.check()
        self._counter.check()

    def unpriced(self) -> str | None:
        """Counting costs nothing; reading may."""
        return self._ocr.unpriced()

    def price(self) -> tuple[float | None, str]:
        """Return what reading the lines costs; see `limner.core.catalogue.Priced`."""
        return price_of(self._ocr)

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `limner.evidence.probe.Probe`."""
        read = await self._ocr.measure(image, calls)
        found, call = await self.ask(image, calls, lines=read.value, named=self._counter.name)
        return Finding(found["count"], self.name, call)


def counter(word: str, options: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """Return what a worker counts with."""
    made = open_counter(word, **options)

    def count(data: bytes, lines: list[dict[str, Any]], named: str) -> dict[str, Any]:
        if made.name != named:
            # Another machine may have other devices; its counts must not go by a name that is not theirs.
            raise WorkerUnfit(
                f"it counts as {made.name} there, not as {named}: say device= and precision= with --regions"
            )
        return made.count(decode(data), [TextLine.from_json(line) for line in lines]).to_json()

    return count
