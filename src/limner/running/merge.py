"""The merging of stores: nothing is lost or doubled, and contradictions are reported."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, IntegrityError

from ..core.errors import LostImage, NoStore, StoreError, UsageError
from ..core.images import SUFFIXES
from ..store import Store, store_exists
from ..store.blobs import PARALLEL_READS
from ..store.schema import metadata
from ..store.store import hide_password, open_or_empty
from ..store.verify import referenced_images
from .merge_tables import Contradiction, CopiedImages, SourceReport, TableMerge


@dataclass
class MergeReport:
    """The outcome of a merge, or of a dry run.

    Attributes:
        written: Whether the target was changed.
        contradictions: Rows that cannot both be right. If there are any, nothing is written without `keep_earlier`.
    """

    target: str
    sources: list[SourceReport]
    written: bool = False
    contradictions: list[Contradiction] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether everything was merged."""
        return not any(source.flying or source.images.lost for source in self.sources)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        wrong = [vars(source) | {"columns": list(source.columns)} for source in self.contradictions]
        sources = [source.to_json() for source in self.sources]
        return {"target": self.target, "written": self.written, "sources": sources, "contradictions": wrong}


def merge(target: str, sources: Sequence[str], *, dry_run: bool = False, keep_earlier: bool = False) -> MergeReport:
    """Merge stores into the target.

    Args:
        target: The store to merge into, created if it does not exist.
        sources: The stores to merge; they are only read.
        dry_run: Whether only to report what would be done.
        keep_earlier: Whether to keep the earlier of two contradictory rows instead of writing nothing.

    Raises:
        StoreError: A store does not exist, or has another version.
        UsageError: A store is named twice.
    """
    _check(target, sources)
    with ExitStack() as stack:
        opened = [stack.enter_context(Store(source, create=False)) for source in sources]
        with open_or_empty(target) as trial:
            report = _rows(trial, hide_password(target), opened, keep=False)
            present = images_of(trial)
            refused = bool(report.contradictions) and not keep_earlier
            if dry_run or refused:
                _images(trial, opened, report, present, dry_run=True)
                return report
        with Store(target) as written:
            _images(written, opened, report, present, dry_run=False)
            report.written = any(one.images.new for one in report.sources)
            if all(one.idle for one in report.sources):
                return report
            copied = [one.images for one in report.sources]
            # Checked again within the transaction: the target may have changed while images were copied.
            report = _rows(written, hide_password(target), opened, keep=True, keep_earlier=keep_earlier)
            for one, images in zip(report.sources, copied, strict=True):
                one.images = images
    return report


def _check(target: str, sources: Sequence[str]) -> None:
    places = [_place(url) for url in (target, *sources)]
    for n, place in enumerate(places):
        if place in places[:n]:
            raise UsageError(
                f"{hide_password((target, *sources)[n])} is named twice; a store cannot be merged with itself"
            )
    for url in sources:
        if not store_exists(url):
            raise NoStore(f"no store at {hide_password(url)}; name the folder or URL that `--store` had")


def _place(url: str) -> str:
    """Return a canonical name of a store, however it is written."""
    if "://" not in url:
        return str(Path(url).resolve() / "limner.db")
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return str(Path(str(parsed.database)).resolve())
    return parsed.set(drivername="postgresql").difference_update_query(["blobs"]).render_as_string()


class _Undone(Exception):
    """The exception that rolls a transaction back."""

    def __init__(self, report: MergeReport) -> None:
        self.report = report


def _rows(target: Store, name: str, sources: Sequence[Store], *, keep: bool, keep_earlier: bool = False) -> MergeReport:
    """Merge all rows in one transaction, and commit it only if requested and if there is no contradiction."""

    def operation(writing: sa.Connection) -> MergeReport:
        report = MergeReport(name, [])
        _alone(writing)
        for source in sources:
            with source.reading() as reading:
                brought = TableMerge(target, writing, source, reading).merge()
            report.sources.append(brought)
            report.contradictions += brought.contradictions
        if not keep or (report.contradictions and not keep_earlier):
            raise _Undone(report)
        report.written = True
        return report

    try:
        return target.write(operation)
    except _Undone as undone:
        return undone.report
    except (IntegrityError, DataError) as error:
        cause = " ".join(str(error.orig).split())
        looked = ", ".join(f"limner verify --store {source.url}" for source in sources)
        raise StoreError(
            f"{name}: a row cannot be merged: {cause}; nothing was written. Check the stores with {looked}"
        ) from error


def _images(target: Store, sources: Sequence[Store], report: MergeReport, present: set[str], *, dry_run: bool) -> None:
    for source, part in zip(sources, report.sources, strict=True):
        part.images = copy_images(target, source, present, dry_run=dry_run)
        for image, owners in referenced_images(source).items():
            if image not in present:
                part.images.lost.setdefault(image, f"{owners[0]}: image {image} is not among its blobs")
    for part in report.sources:  # An image that one source lacks may be in another.
        part.images.lost = {image: why for image, why in part.images.lost.items() if image not in present}


def _alone(writing: sa.Connection) -> None:
    """Lock the tables until the rows are merged; SQLite has a single writer anyway."""
    if writing.dialect.name == "postgresql":
        names = ", ".join(table.name for table in metadata.sorted_tables)
        writing.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


NAME = re.compile(rf"[0-9a-f]{{2}}/([0-9a-f]{{64}})\.({'|'.join(SUFFIXES.values())})")


def images_of(store: Store) -> set[str]:
    """Return the hashes of all images in a store."""
    return {hashes[1] for name, _ in store.blobs.names() if (hashes := NAME.fullmatch(name))}


def copy_images(target: Store, source: Store, present: set[str], *, dry_run: bool = False) -> CopiedImages:
    """Copy the images that the target lacks, checked against their hashes, and add them to `present`."""
    lacking = sorted((source_images := images_of(source)) - present)
    copied = CopiedImages(same=len(source_images) - len(lacking))
    if dry_run:
        copied.new = len(lacking)
        present.update(lacking)
        return copied

    with ThreadPoolExecutor(PARALLEL_READS) as pool:
        writing: deque[Future[object]] = deque()
        for sha256, data in source.blobs.each(lacking):
            if isinstance(data, LostImage):
                copied.lost[sha256] = str(data)
                continue
            copied.new += 1
            present.add(sha256)
            writing.append(pool.submit(target.blobs.put, data))
            if len(writing) > PARALLEL_READS:  # Bound the images in memory.
                writing.popleft().result()
        for image in writing:
            image.result()
    return copied
