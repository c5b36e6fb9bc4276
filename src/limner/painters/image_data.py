"""Images in the replies of services: unpacked, and left out of what is kept of a reply."""

from __future__ import annotations

import binascii
from typing import Any

LONGEST = 20_000
"""Longer texts of a reply are image data or sealed reasoning, not kept beside the image."""
BULKY = ("b64_json", "data", "thoughtSignature")
"""Fields that hold nothing else."""
LINK = ("http:", "https:")


def decode_base64(text: str) -> bytes:
    """The bytes behind base64, alone or as a data URL.

    Raises:
        ValueError: It is no whole base64.
    """
    payload = text.partition(",")[2] if text.startswith("data:") else text
    return binascii.a2b_base64("".join(payload.split()), strict_mode=True)


def without_image_data(value: Any, name: str = "") -> Any:
    """A reply without the image's data, which is kept by hash."""
    if isinstance(value, list):
        return [without_image_data(item) for item in value]
    if isinstance(value, dict):
        return {key: without_image_data(item, key) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    bulky = len(value) > LONGEST or value.startswith("data:") or (name in BULKY and not value.startswith(LINK))
    return f"({len(value)} characters)" if bulky else value
