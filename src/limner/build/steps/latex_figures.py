"""The likeliest figures of a paper as pictures: images unchanged, PDF files as their first page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic import Field

from ...core.errors import DataError
from ...core.images import BadImage, inspect
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..latex.figures import PDF, check_pdf, first_page
from ..latex.sources import read_source


class LatexFigureSettings(StrictModel):
    """The choice of figures.

    Attributes:
        top: The number of the likeliest figures; the paper does not state its number.
        least_score: The lowest score of a figure's name, caption and position.
        least_side: The fewest pixels of the shorter side.
        pdf: Whether PDF figures are used.
    """

    top: int = Field(default=4, ge=1, le=20)
    least_score: float = 1.0
    least_side: int = 200
    pdf: bool = True


async def latex_figures(item: BuildItem, context: StepContext) -> BuildItem:
    """Turn the most likely figures of a paper into pictures."""
    how: LatexFigureSettings = context.settings
    why, chosen = list[str](), list[dict[str, Any]]()
    for figure in item.body["figures"]:
        if figure["why_not"] or (figure["file"].lower().endswith(PDF) and not how.pdf):
            why.append(f"{figure['file']}: {figure['why_not'] or 'PDF is left out'}")
        elif figure["score"] < how.least_score:
            why.append(f"{figure['file']}: counts for {figure['score']:g}")
        else:
            chosen.append(figure)
    if any(figure["file"].lower().endswith(PDF) for figure in chosen):
        check_pdf()
    pictures = list[dict[str, Any]]()
    try:
        source = await asyncio.to_thread(read_source, Path(item.body["path"]), item.id)
        data = await asyncio.to_thread(source.take, *(figure["file"] for figure in chosen))
    except DataError as error:
        raise Dropped("no LaTeX that can be read", str(error)) from error
    for figure in chosen:
        if len(pictures) == how.top:
            break
        try:
            sha256 = await asyncio.to_thread(_kept, figure["file"], data.get(figure["file"], b""), how, context)
        except BadImage as error:
            why.append(f"{figure['file']}: {error}")
            continue
        if sha256 not in [other["image"] for other in pictures]:
            pictures.append({"image": sha256, **{name: figure[name] for name in ("file", "caption", "score")}})
    if not pictures:
        raise Dropped("no figure that could show the method", "; ".join(why) or "the paper has none")
    return item.having(candidates=pictures, figures_left_out=why)


def _kept(file: str, data: bytes, how: LatexFigureSettings, context: StepContext) -> str:
    picture = first_page(data) if file.lower().endswith(PDF) else data
    info = inspect(picture)
    if min(info.width, info.height) < how.least_side:
        raise BadImage(f"{info.width} x {info.height} pixels; at least {how.least_side} on each side are wanted")
    return context.blobs.put(picture)[0]


STEP = BuildStep("latex-figures", "the likeliest figures as pictures", LatexFigureSettings,
                 reads=("path", "changed", "figures"), takes="paper", makes="paper", each=latex_figures)  # fmt: skip
