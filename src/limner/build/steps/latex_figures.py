"""The likeliest figures of a paper as pictures: PNG and its like as they are, PDF files as their first page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic import Field

from ...core.errors import DataError
from ...core.images import BadImage, inspect
from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped
from ..latex.figures import PDF, check_pdf, first_page
from ..latex.sources import read_source


class LatexFigureSettings(StrictModel):
    """Which figures are looked at.

    Attributes:
        top: So many of the likeliest; the paper does not tell how many it took.
        least_score: What a figure's name, caption and place must count for at least.
        least_side: Pixels that the shorter side must have.
        pdf: Whether PDF figures are taken.
    """

    top: int = Field(default=4, ge=1, le=20)
    least_score: float = 1.0
    least_side: int = 200
    pdf: bool = True


async def latex_figures(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    how: LatexFigureSettings = bench.settings
    why, chosen = list[str](), list[dict[str, Any]]()
    for one in item.body["figures"]:
        if one["why_not"] or (one["file"].lower().endswith(PDF) and not how.pdf):
            why.append(f"{one['file']}: {one['why_not'] or 'PDF is left out'}")
        elif one["score"] < how.least_score:
            why.append(f"{one['file']}: counts for {one['score']:g}")
        else:
            chosen.append(one)
    if any(one["file"].lower().endswith(PDF) for one in chosen):
        check_pdf()
    found = list[dict[str, Any]]()
    try:
        source = await asyncio.to_thread(read_source, Path(item.body["path"]), item.id)
        data = await asyncio.to_thread(source.take, *(one["file"] for one in chosen))
    except DataError as error:
        raise Dropped("no LaTeX that can be read", str(error)) from error
    for one in chosen:
        if len(found) == how.top:
            break
        try:
            sha256 = await asyncio.to_thread(_kept, one["file"], data.get(one["file"], b""), how, bench)
        except BadImage as error:
            why.append(f"{one['file']}: {error}")
            continue
        if sha256 not in [other["image"] for other in found]:
            found.append({"image": sha256, **{name: one[name] for name in ("file", "caption", "score")}})
    if not found:
        raise Dropped("no figure that could show the method", "; ".join(why) or "the paper has none")
    return item.having(candidates=found, figures_left_out=why)


def _kept(file: str, data: bytes, how: LatexFigureSettings, bench: Bench) -> str:
    picture = first_page(data) if file.lower().endswith(PDF) else data
    info = inspect(picture)
    if min(info.width, info.height) < how.least_side:
        raise BadImage(f"{info.width} x {info.height} pixels; at least {how.least_side} on each side are wanted")
    return bench.blobs.put(picture)[0]


STEP = BuildStep("latex-figures", "the likeliest figures as pictures", LatexFigureSettings,
                 reads=("path", "changed", "figures"), takes="paper", makes="paper", each=latex_figures)  # fmt: skip
