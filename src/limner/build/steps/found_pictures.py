"""Pictures that were found or made elsewhere, each assigned to the prompt that its name or keyword gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal

from ...core.training import normalize_words
from ..base import BuildItem, BuildStep, Dropped, StepContext
from .images import ImagesSettings, check_images, picture_fields, source_pictures, store_picture


class FoundPicturesSettings(ImagesSettings):
    """The sources of pictures.

    A picture belongs to the prompt whose id is its file's name, or whose prompt or concept is its ``keyword``.

    Attributes:
        origin: ``real`` for pictures by people, ``synthetic`` for pictures by a model.
    """

    origin: Literal["real", "synthetic"] = "real"


async def found_pictures(
    items: Sequence[BuildItem], context: StepContext
) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield pictures made elsewhere, assigned to their prompts."""
    how: FoundPicturesSettings = context.settings
    ids: dict[str, list[BuildItem]] = {}
    words: dict[str, list[BuildItem]] = {}
    for candidate in items:
        if candidate.sort != "image":
            continue
        ids.setdefault(candidate.id, []).append(candidate)
        for field in ("prompt", "concept", "asked_concept"):
            words.setdefault(normalize_words(str(candidate.body.get(field, ""))), []).append(candidate)
    taken: set[str] = set()
    for number, picture in enumerate(source_pictures(how)):
        name = picture.file.stem if picture.file is not None else ""
        asked = ids.get(name) or words.get(normalize_words(picture.about.get("keyword", "") or name), [])
        free = [candidate for candidate in asked if candidate.id not in taken]
        if not free:
            why = "a prompt has one picture already" if asked else "no prompt for this picture"
            yield f"found-{number}", Dropped(why, picture.origin)
            continue
        try:
            sha256 = await store_picture(picture, context)
        except Dropped as dropped:
            yield f"found-{number}", dropped
            continue
        item = free[0]
        taken.add(item.id)
        yield BuildItem(item.id, {**item.body, **picture_fields(picture, sha256, how), "origin": how.origin})


STEP = BuildStep("found-pictures", "takes pictures found for prompts", FoundPicturesSettings,
                 source=found_pictures, check=check_images)  # fmt: skip
