"""Watermarks, by the text in the picture."""

from __future__ import annotations

from ..base import Bench, BuildItem, BuildStep, Dropped
from ..picture_rules import watermark


async def unmarked(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    if found := watermark(item.body["lines"], item.body["faint_lines"]):
        raise Dropped("watermark", found)
    return item


STEP = BuildStep("watermark", "drops pictures with a watermark", reads=("lines", "faint_lines"), each=unmarked)
