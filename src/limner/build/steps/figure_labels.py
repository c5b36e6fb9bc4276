"""Domain, panel type and aspect of a figure: the aspect by its size, the others by a model."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..figures import list_lines
from ..replies import read_choice
from .classify import NONE

PANELS = ("single", "multi")


class FigureLabelsSettings(StrictModel):
    """The classes of figures.

    Attributes:
        domains: The domains; a figure of no domain is dropped.
        square: The largest ratio of the longer to the shorter side of a square figure; our choice.
        max_side: Pixels of the longer side of the picture that is sent.
        text_limit: Characters of source text that are shown.
    """

    domains: tuple[str, ...] = Field(min_length=1)
    square: float = Field(default=1.15, ge=1)
    max_side: int = Field(default=1024, ge=64)
    text_limit: int = Field(default=3000, ge=0)


def aspect(width: int, height: int, square: float = 1.15) -> str:
    """Return the aspect of a picture of this size.

    >>> aspect(1000, 1000), aspect(1600, 900), aspect(900, 1600)
    ('square', 'landscape', 'portrait')
    """
    if max(width, height) <= square * min(width, height):
        return "square"
    return "landscape" if width > height else "portrait"


async def figure_labels(item: BuildItem, context: StepContext) -> BuildItem:
    """Sort a figure by domain and panel type with a model, and by aspect from its size."""
    how: FigureLabelsSettings = context.settings

    def read(reply: str) -> tuple[str, str]:
        answer = loads(reply)
        return read_choice(answer, "domain", [*how.domains, NONE]), read_choice(answer, "panel_type", PANELS)

    words = context.prompts.fill(
        "figure-labels", domains=", ".join(how.domains), lines=list_lines(item.body["layout_lines"]),
        text=item.body["source_text"][: how.text_limit] or "(none)",
    )  # fmt: skip
    shown: list[Part] = [Text(words), Picture(item.body["image"], how.max_side)]
    domain, panel_type = await context.ask("annotator", item, shown, Contract(read))
    if domain == NONE:
        raise Dropped("no domain", "it belongs to none of the domains")
    shape = aspect(item.body["width"], item.body["height"], how.square)
    return item.having(domain=domain, panel_type=panel_type, aspect=shape)


STEP = BuildStep(
    "figure-labels", "sorts each figure by domain, panel type and aspect", FigureLabelsSettings, ("annotator",),
    ("figure-labels",), ("image", "source_text", "layout_lines", "width", "height"), each=figure_labels,
    use=(Use("annotator", 900, 30, 1),),
)  # fmt: skip
