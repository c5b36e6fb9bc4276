"""Papers: every LaTeX source under a folder, with what a table beside them tells."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from ...core.errors import DataError, UsageError
from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped
from ..latex.sources import find_papers

TABLE = "papers.csv"
KNOWN = ("title", "url", "licence", "venue")


class SourceSettings(StrictModel):
    """Where the papers are.

    Attributes:
        folder: Archives as arXiv gives them (.tar.gz), or folders with .tex files; folders above them are venues.
            A ``papers.csv`` in it may tell ``id``, ``title``, ``url``, ``licence``, ``venue`` of each.
    """

    folder: Path | None = None


async def papers(items: Sequence[BuildItem], bench: Bench) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """See the module."""
    how: SourceSettings = bench.settings
    if how.folder is None:
        raise UsageError(f"where are the papers? --set {bench.place}.folder=FOLDER")
    found = await asyncio.to_thread(find_papers, how.folder)
    table = _table(how.folder / TABLE)
    for id, path in found:
        told = table.get(id, {})
        venue, slash, _ = id.partition("/")
        source = {name: told[name] for name in ("title", "url") if told.get(name)}
        yield BuildItem(
            id,
            {
                "path": str(path.resolve()),
                "changed": _changed(path),
                "venue": told.get("venue") or (venue if slash else ""),
                "licence": told.get("licence") or "unknown",
                "source": source,
            },
            "paper",
        )


def _changed(path: Path) -> list[float]:
    """Return what changes with the files: their number, sizes and times."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    stats = [one.stat() for one in files]
    return [len(stats), sum(one.st_size for one in stats), max((one.st_mtime for one in stats), default=0)]


def _table(path: Path) -> dict[str, dict[str, str]]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if "id" not in (rows.fieldnames or ()):
            raise DataError(f"has no column id; it may also have {', '.join(KNOWN)}", file=path)
        return {row["id"]: {name: row[name] for name in KNOWN if row.get(name)} for row in rows}


STEP = BuildStep("paper-sources", "LaTeX sources: archives and folders", SourceSettings, takes="paper", makes="paper",
                 source=papers)  # fmt: skip
