"""Small things as pages know them: pictures, shares, the steps of a strategy. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .pictures import Pictures

TEXT = 20_000
"""Of a step's words so much is shown."""


def picture(image: str | None, pictures: Pictures) -> dict[str, Any] | None:
    """A picture: its hash and its large file's ending, or what is wrong with it."""
    if image is None:
        return None
    if not pictures.has(image):
        return {"sha": image, "wrong": pictures.bad.get(image, "it came in after the pictures were made")}
    return {"sha": image, "large": pictures.suffixes[image]}


def small(image: str | None, pictures: Pictures) -> str | int:
    """A small picture for a list: its hash, or 0 where there is none to show."""
    return image if image and pictures.has(image) else 0


def share(value: float) -> float | None:
    """A share for a file: short, None where there is none."""
    return None if math.isnan(value) else round(value, 4)


def steps_of(notes: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The steps of a strategy, where a drawing's notes have some."""
    steps = (notes or {}).get("steps")
    return [dict(step) for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []


def step_images(step: Mapping[str, Any]) -> list[str]:
    """The images that a step names, by their hashes."""
    several = step.get("pictures")
    found = [step.get("image"), *(several if isinstance(several, list) else [])]
    return [image for image in found if isinstance(image, str) and len(image) == 64 and image.isalnum()]


def step_json(step: Mapping[str, Any], pictures: Pictures) -> dict[str, Any]:
    """A step with its pictures; everything else about it as words."""
    body = {name: str(value)[:TEXT] for name, value in step.items() if name not in ("image", "pictures")}
    return body | {"images": [picture(image, pictures) for image in step_images(step)]}
