"""A small valid exam to start from: the bundled sample of the exam it is like."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from ..core.errors import UsageError
from . import kind


def write_starter(folder: Path, like: str) -> Path:
    """Copy the sample's data into `folder` and write an exam.toml beside it; returns that file's path.

    Raises:
        UsageError: The folder has something in it, or the exam has no sample to start from.
    """
    found = kind(like)
    if found.sample is None:
        raise UsageError(f"the exam {like} has no sample to start from")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty")
    shutil.copytree(found.sample, folder / "data", dirs_exist_ok=True)
    path = folder / "exam.toml"
    name = folder.resolve().name
    # JSON and TOML spell basic strings alike.
    lines = [f"name = {json.dumps(name, ensure_ascii=False)}", f"kind = {json.dumps(like)}", 'data = "data"']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
