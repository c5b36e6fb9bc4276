"""One file per exam: all its outputs, normalised, as gzipped JSON."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support import environment

from tools.recordings.compare import Difference, compare
from tools.recordings.normal import normalise
from tools.recordings.outputs import take_outputs
from tools.recordings.store import make_store, services

DATA = Path(__file__).parent / "data"
Outputs = dict[str, Any]


def take(exam: str) -> Outputs:
    """Make the exam's store in a folder of its own and return every output, normalised."""
    settings = {"COLUMNS": "200", "NO_COLOR": "1"}
    with (
        tempfile.TemporaryDirectory() as name,
        chdir(name),
        mock.patch.dict(os.environ, environment(settings), clear=True),
    ):
        with services(Path(name)):
            found: Outputs = {"make.json": make_store(exam)}
        found.update(take_outputs(exam))
    return {output: normalise(content) for output, content in sorted(found.items())}


def record_exam(exam: str, folder: Path) -> Path:
    """Write the exam's recording; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{exam}.json.gz"
    text = json.dumps(take(exam), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # Without a time in it, the same recording is the same file.
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return path


def check_exam(exam: str, folder: Path) -> list[Difference]:
    """Compare the exam's recording with what the present code gives."""
    path = folder / f"{exam}.json.gz"
    if not path.exists():
        raise SystemExit(f"there is no recording {path}: run python -m tools.recordings record")
    old: Outputs = json.loads(gzip.decompress(path.read_bytes()))
    new: Outputs = json.loads(json.dumps(take(exam)))
    return [compare(output, old.get(output), new.get(output)) for output in sorted(old.keys() | new)]
