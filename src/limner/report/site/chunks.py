"""The site's data: JavaScript files that register themselves, for a page opened from disk may load nothing else."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HELD = 8 * 2**20
"""So many characters wait in memory before they are written."""
LONGEST_KEY = 40
"""Of a name so much is kept; what follows it tells names apart."""
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def encode(value: Any) -> str:
    """JSON in plain ASCII that can end neither a script nor a line; a number that is none becomes null.

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


def key(*parts: str) -> str:
    """A short name for a file or a link: readable, the same in every build, and never two for one or one for two.

    Letters, digits, ``-`` and ``_`` alone, so that it means the same in a URL and on every file system; the hash at its
    end keeps apart what differs only in other signs or in case.

    >>> key("Biology/1"), key("../../etc/passwd")
    ('Biology_1-9939d6df', 'etc_passwd-3754d6cb')
    """
    text = "\n".join(parts)
    word = re.sub(r"[^A-Za-z0-9]+", "_", " ".join(parts)).strip("_")[:LONGEST_KEY].rstrip("_")
    return f"{word or 'x'}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


class Chunks:
    """Writes files of data under one folder.

    A file is a row of calls ``limner('name', 'JSON')``. So it can be written bit by bit, in whatever order the parts
    come, and nothing of it need stay in memory. The JSON stands there as text, for the page to parse: that is faster
    than a script's own objects, and no name in it, not even ``__proto__``, means more than itself.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._waiting: dict[str, list[str]] = {}
        self._held = 0
        self._made: set[Path] = set()

    def add(self, name: str, part: Any) -> None:
        """Add a part to the file ``NAME.js``; `name` is one of ours or ends in a `key`."""
        text = f"limner({_quoted(name)},{_quoted(encode(part))});\n"
        self._waiting.setdefault(name, []).append(text)
        self._held += len(text)
        if self._held > HELD:
            self.flush()

    def flush(self) -> None:
        """Write everything that waits."""
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
    """Return a text without the folders of absolute paths: of each, its last name is left.

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
