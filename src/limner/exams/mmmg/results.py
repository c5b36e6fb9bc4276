"""Import of results from MMMG's released scorer: one file per judged image, and one with region counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.json_text import parse_json
from .. import ImportedReply
from .data import LEVELS
from .replies import FREE

NAME = re.compile(r"[^_]+?__(?P<key>.+)__eval_by__(?P<judge>.+)\.json")
_NUMBERED = re.compile(rf"\d_(?=(?:{'|'.join(LEVELS)})_)")
"""The number of a level, which the scorer puts before some keys when it looks for their images."""


def read_results(folder: Path, regions: Path | None = None) -> Iterator[ImportedReply]:
    """Yield the result in each ``<level>__<key>__eval_by__<judge>.json`` under `folder`, with its region count, if any.

    Raises:
        DataError: There are no results, they are of several judges, or the region counts cannot be read.
    """
    files = {file: match for file in sorted(folder.rglob("*.json")) if (match := NAME.fullmatch(file.name))}
    if not files:
        raise DataError("no <level>__<key>__eval_by__<judge>.json in this folder", file=folder)
    judges = sorted({match["judge"] for match in files.values()})
    if len(judges) > 1:
        raise DataError(f"results of several judges ({', '.join(judges)}): use a separate folder for each", file=folder)
    counts = {} if regions is None else read_regions(regions)
    for file, match in files.items():
        key = _NUMBERED.sub("", match["key"])
        evidence = {"regions": counts[key]} if key in counts else {}
        try:
            text = _reply(parse_json(file.read_bytes()), match["judge"])
        except (OSError, ValueError) as error:
            yield ImportedReply(key, (), file, fault=str(error), evidence=evidence)
        else:
            yield ImportedReply(key, ((FREE, text),), file, evidence=evidence)


def _reply(body: Any, judge: str) -> str:
    if not isinstance(body, dict) or not isinstance(text := body.get(judge), str):
        raise ValueError(f"no reply under the judge's name, {judge!r}")
    # UTF-8 cannot encode half of a surrogate pair.
    return text.encode("utf-8", "replace").decode()


def read_regions(file: Path) -> dict[str, int]:
    """Return the region counts in a file ``{key: {"region_count": n}}``, without negative ones.

    Raises:
        DataError: The file cannot be read, or a count is not a whole number.
    """
    try:
        body = parse_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", file=file) from error
    if not isinstance(body, dict):
        raise DataError('expected an object {key: {"region_count": n}}', file=file)
    counts = {}
    for key, entry in body.items():
        count = entry.get("region_count") if isinstance(entry, dict) else None
        if not isinstance(count, int) or isinstance(count, bool):
            raise DataError('"region_count" must be a whole number', file=file, id=key)
        if count >= 0:
            counts[_NUMBERED.sub("", key)] = count
    return counts
