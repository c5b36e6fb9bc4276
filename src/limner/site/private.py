"""What a page that anybody may read must not tell: the folders of the machine that things were made on. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_STOP = r"\s/\\'\"`<>|:;,()\[\]{}"
_PATH = re.compile(rf"(?:^|(?<=[\s'\"`=(\[{{,:;<>])|(?<=\w/)|(?<=file://))/(?:[^{_STOP}]+/)+([^{_STOP}]*)")
_WINDOWS = re.compile(r"(?<![A-Za-z])[A-Za-z]:[\\/](?:[^\\/:*?\"<>|\r\n]+[\\/])+")


def no_folders(words: str) -> str:
    """A text without the folders of absolute paths: of each, its last name is left.

    Addresses of the web stay, and so do names like ``openai/gpt-image-2``.

    >>> no_folders("q1: no file q1.png in /home/anna/work/drawings")
    'q1: no file q1.png in …/drawings'
    >>> no_folders("replay//srv/a/replies.jsonl"), no_folders("https://host/a/b"), no_folders("and/or")
    ('replay/…/replies.jsonl', 'https://host/a/b', 'and/or')
    >>> no_folders(r"C:\\Users\\anna\\x.png: no such file")
    '…/x.png: no such file'
    """
    return _WINDOWS.sub("…/", _PATH.sub(lambda match: f"…/{match[1]}", words))


def without_folders(value: Any) -> Any:
    """Plain JSON, every text in it without the folders of absolute paths."""
    if isinstance(value, str):
        return no_folders(value)
    if isinstance(value, list | tuple):
        return [without_folders(item) for item in value]
    if isinstance(value, Mapping):
        return {key: without_folders(item) for key, item in value.items()}
    return value
