"""A painter for `python/tools.recordings.painter:quill`: small pictures that depend on prompt and seed alone."""

from __future__ import annotations

from tests.fakes.images_truth import stamped

SIDE = 40
"""Pixels; the judge knows the painter's skill by them, see `tools.recordings.judge`."""


def quill(prompt: str, seed: int) -> bytes:
    """Draw a picture."""
    return stamped(f"{prompt}\0{seed}", (SIDE, SIDE))
