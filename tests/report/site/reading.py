"""A site's data files as a page gets them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

CALL = re.compile(r"^limner\('([^'\\]+)','((?:[^'\\]|\\['\\])*)'\);$")


def parts(folder: Path, name: str) -> list[Any]:
    """The parts of a data file; every line is a call, and nothing else stands in it."""
    found = []
    for line in (folder / f"{name}.js").read_text("ascii").splitlines():
        match = CALL.match(line)
        assert match, line[:200]
        assert match[1] == name
        assert not set(match[2]) & set("<>&")
        found.append(json.loads(re.sub(r"\\(['\\])", r"\1", match[2])))
    return found


def question(folder: Path, key: str) -> dict[str, list[Any]]:
    """The parts of a question's file, by what they are."""
    found: dict[str, list[Any]] = {}
    for part in parts(folder, f"q/{key}"):
        ((what, body),) = part.items()
        found.setdefault(what, []).append(body)
    return found


def keys(folder: Path) -> dict[str, str]:
    """Question id -> key."""
    (head, *rest) = parts(folder, "questions")
    found = dict(zip(head["id"], head["key"], strict=True))
    for part in rest:
        found |= dict(zip(part["id"], part["key"], strict=True))
    return found
