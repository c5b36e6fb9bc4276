"""Reads the images of a chat request: base64 data URLs of whole files in the formats a service takes."""

from __future__ import annotations

import binascii
import hashlib
from typing import Any


class ImageError(Exception):
    """The URL holds no image; `code` is the service's word for why."""

    def __init__(self, message: str, code: str):
        super().__init__(message)
        self.code = code


def read_data_url(url: str) -> tuple[str, bytes]:
    """The media type and the bytes of a data URL.

    Stricter than a real service in one thing: the media type must be the true one.

    Raises:
        ImageError: There is no whole image in it.
    """
    head, comma, payload = url.partition(",")
    if not (comma and head.startswith("data:image/") and head.endswith(";base64")):
        raise ImageError("Invalid image URL: want data:image/...;base64.", "invalid_image_url")
    media = head[len("data:") : -len(";base64")]
    try:
        data = binascii.a2b_base64(payload, strict_mode=True)
    except ValueError:
        raise ImageError("Invalid base64 image_url.", "invalid_base64") from None
    if media != media_of(data):
        formats = "['png', 'jpeg', 'gif', 'webp']"
        message = f"You uploaded an unsupported image. Want one of {formats}, whole and rightly named."
        raise ImageError(message, "invalid_image_format")
    return media, data


def outline(data: bytes, media: str | None) -> dict[str, Any]:
    """What the record shows of a file in place of its bytes."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "media": media}


def media_of(data: bytes) -> str | None:
    """The format told by the first bytes, if the last ones show that the file is whole."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png" if data[-8:-4] == b"IEND" else None
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg" if data.endswith(b"\xff\xd9") else None
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif" if data.endswith(b";") else None
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp" if int.from_bytes(data[4:8], "little") + 8 == len(data) else None
    return None
