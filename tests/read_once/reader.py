"""A reader that keeps what it has read in a folder, by the bytes of the picture and the engine's version."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from limner.evidence import ocr

Reader = Callable[..., list[Any]]


def reader(folder: str) -> Reader:
    """What a worker reads images with; the engine is loaded for the first picture that nobody has read."""
    version, engines = ocr.RapidOcr().version, list[Reader]()

    def read(data: bytes, again: bool = False, regions: bool = False) -> list[Any]:
        how = "regions" if regions else str(again)
        key = hashlib.sha256(f"{version} {how}\n".encode() + data).hexdigest()
        kept = Path(folder, f"{key}.json")
        with suppress(FileNotFoundError):
            found: list[Any] = json.loads(kept.read_text("utf-8"))
            return found
        if not engines:
            engines.append(ocr.rapidocr_reader())
        lines = engines[0](data, again, regions)
        # Whole or not at all, whoever is killed; two that read the same at once write the same.
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(lines), "utf-8")
        part.replace(kept)
        return lines

    return read
