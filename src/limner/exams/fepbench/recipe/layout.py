"""FEPBench's own step `layout`: the lines of text in a figure, with their positions and sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import Any

from pydantic import Field

from ....build.base import BuildItem, BuildStep, StepContext, judge
from ....core.evidence import TextLine
from ....core.schema import StrictModel
from ....core.vocabulary import Rule

_MARK = re.compile(r"^[(\[]?[a-h][)\].:]?$", re.IGNORECASE)
_ROWS, _COLUMNS = ("upper", "middle", "lower"), ("left", "center", "right")


def describe_position(left: float, top: float, right: float, bottom: float, width: int, height: int) -> str:
    """Return the approximate position of a box.

    >>> describe_position(0, 0, 10, 10, 90, 90), describe_position(40, 40, 50, 50, 90, 90)
    ('upper left', 'center')
    """
    row = _ROWS[min(2, int(3 * (top + bottom) / 2 / max(1, height)))]
    column = _COLUMNS[min(2, int(3 * (left + right) / 2 / max(1, width)))]
    return column if (row, column) == ("middle", "center") else f"{row} {column}"


def layout_lines(lines: Sequence[TextLine], width: int, height: int) -> list[dict[str, Any]]:
    """Return each line's text, position, relative size and whether it marks a panel, from top to bottom.

    ``about`` says the same in words.
    """
    heights = [line.bounds[3] - line.bounds[1] for line in lines]
    usual = median(heights) if heights else 1.0
    rows = []
    for line, tall in sorted(zip(lines, heights, strict=True), key=lambda pair: (pair[0].bounds[1], pair[0].bounds[0])):
        row = {"text": line.text, "place": describe_position(*line.bounds, width, height)}
        row["size"] = "large" if tall > 1.4 * usual else "small" if tall < 0.7 * usual else "usual"
        marks = bool(_MARK.match(line.text.strip()))
        about = f"{row['place']}, {row['size']}{', marks a panel' if marks else ''}"
        rows.append(row | {"panel_mark": marks, "about": about})
    return rows


class LayoutSettings(StrictModel):
    """The lines that are kept, and the rules on them.

    Attributes:
        confidence: The lowest confidence of OCR with which a line is kept.
        rules: The rules on the field ``layout_lines``.
    """

    confidence: float = Field(default=0.5, ge=0, le=1)
    rules: tuple[Rule, ...] = ()


async def _layout(item: BuildItem, context: StepContext) -> BuildItem:
    how: LayoutSettings = context.settings
    kept = [line for line in await context.read_text(item.body["image"]) if line.confidence >= how.confidence]
    lines = layout_lines(kept, item.body["width"], item.body["height"])
    return judge(how.rules, item.having(layout_lines=lines))


LAYOUT = BuildStep(
    "layout", "reads the text in each figure, with its position", LayoutSettings,
    reads=("image", "width", "height"), writes=("layout_lines",), each=_layout,
)  # fmt: skip
