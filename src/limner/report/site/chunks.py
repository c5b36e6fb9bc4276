"""The site's data files: JavaScript that registers its data, since a page opened from disk can load nothing else."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MAX_HELD = 8 * 2**20
"""The most characters held in memory before they are written."""
MAX_KEY = 40
"""The most characters of a name in its key; the hash that follows distinguishes names."""
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def encode(value: Any) -> str:
    """Encode a value as ASCII JSON that cannot end a script or a line; NaN and infinity become null.

    >>> encode({"a": "</script>\u2028"}), encode([float("nan"), 1.5])
    ('{"a":"\\\\u003c/script\\\\u003e\\\\u2028"}', '[null,1.5]')
    """
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPED)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def make_key(*parts: str) -> str:
    """Return a short, readable and unique name for a file or a link, the same in every build.

    It has only letters, digits, ``-`` and ``_``, so it is safe in a URL and on every file system; the hash at its end
    distinguishes names that differ only in case or other characters.

    >>> make_key("Biology/1"), make_key("../../etc/passwd")
    ('Biology_1-9939d6df', 'etc_passwd-3754d6cb')
    """
    text = "\n".join(parts)
    word = re.sub(r"[^A-Za-z0-9]+", "_", " ".join(parts)).strip("_")[:MAX_KEY].rstrip("_")
    return f"{word or 'x'}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


class Chunks:
    """A writer of data files in one folder.

    A file is a sequence of calls ``limner('name', 'JSON')``, so it can be written piece by piece, in any order, and
    need not stay in memory. The JSON is a string that the page parses: that is faster than object literals, and no name
    in it, not even ``__proto__``, has a special meaning.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._waiting: dict[str, list[str]] = {}
        self._held = 0
        self._made: set[Path] = set()

    def add(self, name: str, part: Any) -> None:
        """Add a part to the file ``NAME.js``; `name` is a constant or ends with the result of `make_key`."""
        text = f"limner({_quoted(name)},{_quoted(encode(part))});\n"
        self._waiting.setdefault(name, []).append(text)
        self._held += len(text)
        if self._held > MAX_HELD:
            self.flush()

    def flush(self) -> None:
        """Write everything held in memory."""
        for name, texts in self._waiting.items():
            path = self.folder / f"{name}.js"
            if path.parent not in self._made:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._made.add(path.parent)
            with path.open("a", encoding="ascii") as file:
                file.writelines(texts)
        self._waiting, self._held = {}, 0


_STOP = r"\s/\\'\"`<>|:;,()\[\]{}"
_PATH = re.compile(rf"(?:^|(?<=[\s'\"`=(\[{{,:;<>])|(?<=\w/)|(?<=file://))/(?:[^{_STOP}]+/)+([^{_STOP}]*)")
_WINDOWS = re.compile(r"(?<![A-Za-z])[A-Za-z]:[\\/](?:[^\\/:*?\"<>|\r\n]+[\\/])+")


def no_folders(words: str) -> str:
    """Return a text in which absolute paths are reduced to their last name.

    Web addresses and names like ``openai/gpt-image-2`` stay.

    >>> no_folders("q1: no file q1.png in /home/anna/work/drawings")
    'q1: no file q1.png in …/drawings'
    >>> no_folders("replay//srv/a/replies.jsonl"), no_folders("https://host/a/b"), no_folders("and/or")
    ('replay/…/replies.jsonl', 'https://host/a/b', 'and/or')
    >>> no_folders(r"C:\\Users\\anna\\x.png: no such file")
    '…/x.png: no such file'
    """
    return _WINDOWS.sub("…/", _PATH.sub(lambda match: f"…/{match[1]}", words))


def without_folders(value: Any) -> Any:
    """Return plain JSON with `no_folders` applied to every text in it."""
    if isinstance(value, str):
        return no_folders(value)
    if isinstance(value, list | tuple):
        return [without_folders(item) for item in value]
    if isinstance(value, Mapping):
        return {key: without_folders(item) for key, item in value.items()}
    return value
