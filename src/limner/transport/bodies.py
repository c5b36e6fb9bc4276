"""JSON as it is sent: pictures go into it as they stand, and only the rest is looked through."""

from __future__ import annotations

import json
import secrets
from typing import Any

from ..core.prepared import PlainText

_MARK = secrets.token_hex(16)
"""Stands for a picture while the rest is written; nobody can have written it into a prompt."""


def json_bytes(body: Any) -> bytes:
    """The body in JSON without spaces, in UTF-8.

    >>> json_bytes({"a": ["é", PlainText("data:,x"), 1.5]})
    b'{"a":["\\xc3\\xa9","data:,x",1.5]}'
    """
    pictures: list[bytes] = []
    text = json.dumps(_marked(body, pictures), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    first, *rest = text.encode().split(_MARK.encode())
    return b"".join([first, *(part for pair in zip(pictures, rest, strict=True) for part in pair)])


def _marked(value: Any, pictures: list[bytes]) -> Any:
    """The same with a mark in the place of each picture, which is put aside."""
    if isinstance(value, PlainText):
        pictures.append(value.encode("ascii"))
        return _MARK
    if isinstance(value, dict):
        return {key: _marked(item, pictures) for key, item in value.items()}
    return [_marked(item, pictures) for item in value] if isinstance(value, list | tuple) else value
