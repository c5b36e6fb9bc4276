"""How many regions each backend counts, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..evidence.regions.compare import CounterPair
from .model import Table, simple_table


def regions_table(images: Sequence[Mapping[str, Any]], backends: Sequence[str], pairs: Sequence[CounterPair]) -> Table:
    """A row for every image; below it how far apart the backends are."""
    rows = [
        [Path(image["image"]).name, *(_count(image["regions"].get(backend)) for backend in backends)]
        for image in images
    ]
    notes = ["regions (masks + lines of text)"]
    notes += [
        f"{pair.second} against {pair.first}: {pair.difference:+.1f} regions on average; "
        f"readability moves by more than 0.1 for {pair.moved:.0%} of {pair.images} images"
        for pair in pairs
        if pair.difference is not None
    ]
    return simple_table("", ["image", *backends], rows, notes)


def _count(found: Any) -> str:
    return "failed" if found is None else f"{found.count} ({found.masks} + {found.lines})"
