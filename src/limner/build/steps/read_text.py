"""The text in a picture, by OCR: as it is, and where only its light tones are shown."""

from __future__ import annotations

import asyncio

from ...core.images import decode, encode_png
from ...core.schema import StrictModel
from ...evidence.probe import OcrProbe
from ..base import BuildItem, BuildStep, StepContext
from ..picture_rules import light_tones


class ReadTextSettings(StrictModel):
    """What is read.

    Attributes:
        faint: Whether faint print is looked for too, which takes as long again.
    """

    faint: bool = True


async def read_text(item: BuildItem, context: StepContext) -> BuildItem:
    """Read the text in a picture."""
    lines = [line.text for line in await context.read_text(item.body["image"])]
    faint: list[str] = []
    if context.settings.faint:
        data = await context.picture(item.body["image"])
        light = await asyncio.to_thread(lambda: encode_png(light_tones(decode(data))))
        faint = [line.text for line in (await OcrProbe().measure(light, context.calls)).lines]
    return item.having(lines=lines, faint_lines=faint)


STEP = BuildStep("read-text", "reads the text in each picture", ReadTextSettings, reads=("image",), each=read_text)
