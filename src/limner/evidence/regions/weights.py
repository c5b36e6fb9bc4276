"""Where weights lie, and whether they are the right ones."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...core.errors import UsageError

CACHE = "LIMNER_CACHE"


def cache() -> Path:
    """The folder for weights that users put there: ``LIMNER_CACHE``, or ``~/.cache/limner``."""
    given = os.environ.get(CACHE, "").strip()
    return Path(given).expanduser() if given else Path.home() / ".cache" / "limner"


def sha256(file: Path) -> str:
    """The file's hash; the file is read once, until it changes."""
    state = file.stat()
    return _hashed(file.resolve(), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=16)
def _hashed(file: Path, _size: int, _changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pinned_files(folder: Path, files: dict[str, str], how: str) -> dict[str, Path]:
    """The files of a folder by name, each with exactly the hash that is asked for.

    Args:
        folder: Where they should lie.
        files: Hash by name.
        how: What to do when one is missing, for the message.
    """
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"{' and '.join(missing)}: not in {folder}. {how}")
    for name, wanted in files.items():
        found = sha256(folder / name)
        if found != wanted:
            raise UsageError(f"{folder / name} is another file: its sha256 is {found}, not {wanted}. {how}")
    return {name: folder / name for name in files}


def read_config(folder: Path) -> dict[str, Any]:
    """A model folder's ``config.json``; empty when there is none to read."""
    try:
        found = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def tensor_names(file: Path) -> set[str]:
    """The names in a safetensors file's header, without reading any weights."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length)) if length < 2**26 else {}
    except (OSError, ValueError):
        return set()
    return set(header) if isinstance(header, dict) else set()
