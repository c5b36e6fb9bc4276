"""Commands on stores: verify, merge; and copies of damaged stores, for commands that only read."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import STORE, options, say, say_first

if TYPE_CHECKING:
    from ..running.merge import MergeReport
    from ..running.merge_tables import SourceReport
    from ..store import Store
    from ..store.verify import Defect, PartReport

MAX_SHOWN = 20
"""The most defects of a part that are printed; JSON has all of them."""
UNITS = {"database": "rows", "rows": "rows", "references": "rows", "images": "images", "orphans": "files"}


@click.command("verify")
@options.open_store
@click.option("--repair", is_flag=True, help="Repair what can be repaired for free; nothing is drawn or deleted.")
@options.table_or_json
def verify_command(store: Store, repair: bool, form: str) -> None:
    """Check a store: its database, references between rows, every image against its hash, and orphaned files.

    The exit code is 1 if something is wrong. --repair restores damaged images from their folder or from the service's
    stored job, rebuilds indexes, and moves orphaned images aside.
    """
    from ..running.repair import verify

    reports = []
    for report in verify(store, repair=repair):
        reports.append(report)
        if form != "json":
            _print_part(report)
    ok = all(report.state != "bad" for report in reports)
    if form == "json":
        say(json.dumps({"store": store.url, "ok": ok, "parts": [_part_json(report) for report in reports]}))
    sys.exit(0 if ok else 1)


def _print_part(report: PartReport) -> None:
    words = [f"{report.looked:,} {UNITS[report.name]} checked"]
    if report.repaired:
        words.append(f"{report.repaired:,} repaired")
    if report.defects:
        words.append(f"{len(report.defects):,} {'wrong' if report.state == 'bad' else 'not referenced'}")
    say(f"{report.state:>4}  {report.name}: {', '.join(words)}")
    say_first([f"{defect.subject}: {defect.detail}" for defect in report.defects], MAX_SHOWN, indent="      ")


def _part_json(report: PartReport) -> dict[str, Any]:
    return {
        "name": report.name, "state": report.state, "looked": report.looked, "repaired": report.repaired,
        "defects": [{"subject": defect.subject, "detail": defect.detail} for defect in report.defects],
    }  # fmt: skip


@click.command("merge")
@click.argument("target")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--keep-earlier", is_flag=True, help="Where rows contradict each other, keep the earlier and list both.")
@options.table_or_json
def merge_command(target: str, sources: tuple[str, ...], dry_run: bool, keep_earlier: bool, form: str) -> None:
    """Merge the stores SOURCE… into TARGET, which is created if it does not exist.

    Stores are named as with --store. Sources are only read. What several of them have is stored once, everything
    that was paid counts, and merging again changes nothing. If rows contradict each other, they are listed and nothing
    is written; the exit code is then 1. It is 3 if something was left out: calls in flight, lost images.
    """
    from ..running.merge import merge

    click.get_current_context().meta[STORE] = (target, *sources)
    report = merge(target, sources, dry_run=dry_run, keep_earlier=keep_earlier)
    refused = bool(report.contradictions) and not keep_earlier
    if form == "json":
        say(json.dumps(report.to_json()))
    else:
        for source in report.sources:
            _print_source(source)
        _print_result(report, dry_run, refused)
    sys.exit(1 if refused else 0 if report.whole else 3)


SUBMITTED = "submitted"
"""The owner of batched calls in a report."""
NAMED_TABLES = ("drawings", "markings", "calls", "ratings", "comparisons", "certificates", "questions")
"""Tables whose new rows are counted by name; JSON has all of them."""


def _print_source(source: SourceReport) -> None:
    images = source.images
    new = [f"{name} {source.new[name]:,}" for name in NAMED_TABLES if source.new[name]]
    if rest := sum(count for name, count in source.new.items() if name not in NAMED_TABLES):
        new.append(f"other rows {rest:,}")
    if images.new:
        new.append(f"images {images.new:,}")
    words = [f"new: {', '.join(new) or 'nothing'}"]
    if source.dollars:
        words.append(f"its cost: ${source.dollars:,.4f}")
    if changed := sum(source.changed.values()):
        words.append(f"rows updated: {changed:,}")
    say(f"{source.source}: {'; '.join(words)}")
    if source.flying:
        who = ", ".join(sorted(set(source.flying.values())))
        say(f"  calls in flight, left out: {len(source.flying):,} ({who}); merge again once they have ended")
        if waiting := sum(by == SUBMITTED for by in source.flying.values()):
            say(
                f"    {waiting:,} are in batches: fetch them there, with the command that submitted them; a run in the "
                "target would pay for them again"
            )
    if source.twice:
        say(f"  calls with two different answers: {len(source.twice):,}; both are kept, the earlier counts")
        say_first(source.twice, MAX_SHOWN, indent="    ")
    if images.lost:
        say(f"  images lost: {len(images.lost):,}; `limner verify --repair --store {source.source}` may restore them")
        say_first(list(images.lost.values()), MAX_SHOWN, indent="    ")


def _print_result(report: MergeReport, dry_run: bool, refused: bool) -> None:
    if report.contradictions:
        kept = "" if refused else ": the earlier ones are kept"
        say(f"rows that contradict another store's: {len(report.contradictions):,}{kept}", err=refused)
        say_first(list(map(str, report.contradictions)), MAX_SHOWN, indent="    ", err=refused)
    if refused:
        say(f"{report.target}: nothing was written. Fix this, or keep the earlier rows with --keep-earlier", err=True)
    elif dry_run:
        say(f"{report.target}: nothing was written (--dry-run)")
    elif not report.written:
        say(f"{report.target}: already up to date")


READERS = ("scores", "compare", "agree", "show", "export", "table", "plot", "report", "spend", "estimate", "reproduce",
           "study status", "study export", "build status", "build list")  # fmt: skip
"""The commands that change nothing in a store, and can be shown a part of it."""


def reads_only(words: Sequence[str]) -> bool:
    """Return whether a command only reads its store."""
    return any(words[: len(name.split())] == name.split() for name in READERS) and "--run" not in words


def copy_undamaged_of(urls: Sequence[str], folder: str) -> tuple[str | None, str]:
    """Copy the first damaged one of these stores without its damaged rows.

    Returns:
        The address of the copy, None if there is none; and the message about the damage, empty if there is no damage.
    """
    from ..core.errors import StoreError
    from ..running.repair import IDENTITIES
    from ..store import Store
    from ..store.verify import check_rows, copy_undamaged

    copy: str | None = None
    defects: list[Defect] = []
    for url in urls:
        with suppress(StoreError, sqlite3.Error), Store(url, create=False) as store:
            if store.file is None:
                defects = list(check_rows(store, IDENTITIES).defects)
            else:
                copy, defects = copy_undamaged(store, Path(folder), IDENTITIES)
        if defects:
            break
    else:
        return None, ""
    shown = "; ".join(f"table {defect.subject}: {defect.detail}" for defect in defects[:MAX_NAMED])
    more = f"; and {len(defects) - MAX_NAMED:,} more" if len(defects) > MAX_NAMED else ""
    return copy, (
        f"the store {store.url} is damaged: {shown}{more}. `limner verify --store {store.url}` lists all damaged rows"
    )


MAX_NAMED = 3
"""The most damaged rows that a message names."""
