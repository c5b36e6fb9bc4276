"""The text in a picture, by OCR: in the picture itself, and in its light tones only."""

from __future__ import annotations

import asyncio

from ...core.images import decode, encode_png
from ...core.schema import StrictModel
from ...evidence.probe import OcrProbe
from ..base import BuildItem, BuildStep, StepContext
from ..picture_rules import light_tones


class ReadTextSettings(StrictModel):
    """The settings of OCR.

    Attributes:
        faint: Whether to look for faint print too, which doubles the time.
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
