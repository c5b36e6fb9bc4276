"""Watermarks, recognised by the text in the picture."""

from __future__ import annotations

from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..picture_rules import find_watermark


async def unmarked(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop pictures with a watermark."""
    if mark := find_watermark(item.body["lines"], item.body["faint_lines"]):
        raise Dropped("watermark", mark)
    return item


STEP = BuildStep("watermark", "drops pictures with a watermark", reads=("lines", "faint_lines"), each=unmarked)
