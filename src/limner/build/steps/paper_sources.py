"""Papers: every LaTeX source in a folder, with the data of the table in it."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from ...core.errors import DataError, UsageError
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..latex.sources import find_papers

TABLE = "papers.csv"
KNOWN = ("title", "url", "licence", "venue")


class SourceSettings(StrictModel):
    """The source of papers.

    Attributes:
        folder: A folder with archives from arXiv (.tar.gz) or folders with .tex files; folders above them are venues.
            A ``papers.csv`` in it may give ``id``, ``title``, ``url``, ``licence``, ``venue`` of each.
    """

    folder: Path | None = None


async def papers(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every paper in a folder of LaTeX sources."""
    how: SourceSettings = context.settings
    if how.folder is None:
        raise UsageError(f"where are the papers? --set {context.place}.folder=FOLDER")
    paper_list = await asyncio.to_thread(find_papers, how.folder)
    table = _table(how.folder / TABLE)
    for id, path in paper_list:
        details = table.get(id, {})
        venue, slash, _ = id.partition("/")
        source = {name: details[name] for name in ("title", "url") if details.get(name)}
        yield BuildItem(
            id,
            {
                "path": str(path.resolve()),
                "changed": _changed(path),
                "venue": details.get("venue") or (venue if slash else ""),
                "licence": details.get("licence") or "unknown",
                "source": source,
            },
            "paper",
        )


def _changed(path: Path) -> list[float]:
    """Return a value that changes with the files: their number, sizes and times."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    stats = [file.stat() for file in files]
    return [len(stats), sum(stat.st_size for stat in stats), max((stat.st_mtime for stat in stats), default=0)]


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
