"""Pictures that were found or made elsewhere, each for the prompt whose id or words it comes with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal

from ...core.training import plain
from ..base import Bench, BuildItem, BuildStep, Dropped
from .images import ImagesSettings, all_found, body_of, check_images, kept


class FoundPicturesSettings(ImagesSettings):
    """Where they lie.

    A picture is for the prompt whose id is its file's name, or whose prompt or concept is its ``keyword``.

    Attributes:
        origin: ``real`` for what people made, ``synthetic`` for what a model drew elsewhere.
    """

    origin: Literal["real", "synthetic"] = "real"


async def found_pictures(items: Sequence[BuildItem], bench: Bench) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """See the module."""
    how: FoundPicturesSettings = bench.settings
    ids: dict[str, list[BuildItem]] = {}
    words: dict[str, list[BuildItem]] = {}
    for one in items:
        if one.sort != "image":
            continue
        ids.setdefault(one.id, []).append(one)
        for field in ("prompt", "concept", "asked_concept"):
            words.setdefault(plain(str(one.body.get(field, ""))), []).append(one)
    taken: set[str] = set()
    for number, found in enumerate(all_found(how)):
        name = found.file.stem if found.file is not None else ""
        asked = ids.get(name) or words.get(plain(found.about.get("keyword", "") or name), [])
        free = [one for one in asked if one.id not in taken]
        if not free:
            why = "a prompt has one picture already" if asked else "no prompt for this picture"
            yield f"found-{number}", Dropped(why, found.origin)
            continue
        try:
            sha256 = await kept(found, bench)
        except Dropped as dropped:
            yield f"found-{number}", dropped
            continue
        item = free[0]
        taken.add(item.id)
        yield BuildItem(item.id, {**item.body, **body_of(found, sha256, how), "origin": how.origin})


STEP = BuildStep("found-pictures", "takes pictures that were found for prompts", FoundPicturesSettings,
                 source=found_pictures, check=check_images)  # fmt: skip
