"""Strategies that make the drawing: direct, svg, svg-prior."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ..calls import Fault
from ..core.asks import Contract, Text, Unreadable
from ..core.errors import UsageError
from ..painters import PaintRequest
from ..painters.base import too_many_pictures
from .base import Canvas, Guess, Stage, Studio, facts_of

SIZES = {"square": (1024, 1024), "landscape": (1280, 896), "portrait": (896, 1280)}


async def direct(request: PaintRequest, studio: Studio) -> Canvas:
    """Draw from the unchanged prompt."""
    return await studio.paint(request)


async def write_svg(request: PaintRequest, studio: Studio) -> tuple[str, str]:
    """Return a coder's cleaned SVG and its picture's content hash; broken code is requested again with the error."""
    from . import svg

    size = SIZES[request.aspect]

    def read(reply: str) -> tuple[str, bytes]:
        try:
            cleaned = svg.clean(svg.extract(reply))
            return cleaned, svg.render(cleaned)
        except svg.BadSvg as error:
            raise Unreadable(str(error)) from error

    words = studio.prompts.fill("svg", prompt=request.prompt, size=f"{size[0]} x {size[1]}")
    # Another seed asks the coder for another attempt.
    (cleaned, picture), key = await studio.ask(
        "coder", "svg", request, [Text(words)], Contract(read, heavy=True), repeat=request.seed
    )
    image, _ = await asyncio.to_thread(studio.blobs.put, picture)
    studio.note("svg", text=cleaned, image=image, seed=request.seed, call=key)
    return cleaned, image


async def svg_drawing(request: PaintRequest, studio: Studio) -> Canvas:
    """Draw with the SVG that a coder writes."""
    _, image = await write_svg(request, studio)
    return Canvas(image, request.prompt)


async def svg_prior(request: PaintRequest, studio: Studio) -> Canvas:
    """Draw with the painter from a coder's SVG: as a picture if the painter accepts one, else as text."""
    source, image = await write_svg(request, studio)
    how = studio.options.get("prior", "auto")
    refusal = too_many_pictures(studio.painter, len(request.inputs) + 1)
    if how == "image" and refusal is not None:
        raise UsageError(f"-S prior=image: {refusal}; use prior=text")
    if how != "text" and refusal is None:
        prompt = studio.prompts.fill("svg_prior_image", prompt=request.prompt)
        canvas = await studio.paint(replace(request, prompt=prompt, images=(image,)))
    else:
        prompt = studio.prompts.fill("svg_prior_text", prompt=request.prompt, svg=source)
        facts = facts_of(studio.painter)
        if facts is not None and facts.beyond_limit(prompt) == "refused":
            raise Fault(
                "bad_request",
                f"prompt and SVG have {len(prompt)} characters; {studio.painter.name} takes {facts.prompt_limit}",
            )
        canvas = await studio.paint(replace(request, prompt=prompt))
    studio.note("drawing", image=canvas.image)
    return canvas


def _coder(tokens: int) -> Guess:
    return Guess("coder", 1, tokens + 300, 2500)


DIRECT = Stage(
    "direct", "the question's own prompt, sent as it is", "drawing",
    draw=direct, guess=lambda tokens, options, n: [Guess("painter", 1)],
)  # fmt: skip
SVG = Stage(
    "svg", "a model writes the drawing as SVG", "drawing", ("coder",),
    draw=svg_drawing, guess=lambda tokens, options, n: [_coder(tokens)], paints=False,
)  # fmt: skip
SVG_PRIOR = Stage(
    "svg-prior", "a model's SVG goes to the painter, as a picture or as text", "drawing", ("coder",),
    {"prior": "image or text; by default whichever the painter takes"}, {"prior": ("auto", "image", "text")},
    draw=svg_prior, guess=lambda tokens, options, n: [_coder(tokens), Guess("painter", 1, pictures=1)],
)  # fmt: skip
