"""The store itself: verify, merge."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from . import options
from .say import say

if TYPE_CHECKING:
    from ..running.merge import MergeReport, SourceReport
    from ..store.verify import PartReport

SHOWN = 20
"""So many defects of a part are told in words; JSON has them all."""
LOOKED = {"database": "rows", "references": "rows", "images": "images", "orphans": "files"}


@click.command("verify")
@options.store
@click.option("--repair", is_flag=True, help="Mend what can be mended for nothing; nothing is drawn or thrown away.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def verify_command(store: str, repair: bool, as_json: bool) -> None:
    """Check a store: its database, rows that name each other, every image against its hash, and orphaned files.

    Exit code 1 when something is wrong. With --repair, damaged images are taken again from their folder or from the
    service's stored job, indexes are made anew, and orphaned images are set aside.
    """
    from ..running.repair import verify
    from ..store.store import open_store, shown

    with open_store(store) as opened:
        reports = []
        for report in verify(opened, repair=repair):
            reports.append(report)
            if not as_json:
                _tell(report)
    fit = all(report.state != "bad" for report in reports)
    if as_json:
        say(json.dumps({"store": shown(store), "ok": fit, "parts": [_plain(one) for one in reports]}))
    sys.exit(0 if fit else 1)


def _tell(report: PartReport) -> None:
    words = [f"{report.looked:,} {LOOKED[report.name]} looked at"]
    if report.mended:
        words.append(f"{report.mended:,} repaired")
    if report.defects:
        words.append(f"{len(report.defects):,} {'wrong' if report.state == 'bad' else 'that nothing names'}")
    say(f"{report.state:>4}  {report.name}: {', '.join(words)}")
    for defect in report.defects[:SHOWN]:
        say(f"      {defect.subject}: {defect.detail}")
    if len(report.defects) > SHOWN:
        say(f"      … and {len(report.defects) - SHOWN:,} more")


def _plain(report: PartReport) -> dict[str, Any]:
    return {
        "name": report.name, "state": report.state, "looked": report.looked, "repaired": report.mended,
        "defects": [{"subject": defect.subject, "detail": defect.detail} for defect in report.defects],
    }  # fmt: skip


@click.command("merge")
@click.argument("target")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--keep-earlier", is_flag=True, help="Where rows contradict each other, let the earlier stand and say which."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def merge_command(target: str, sources: tuple[str, ...], dry_run: bool, keep_earlier: bool, as_json: bool) -> None:
    """Bring the stores SOURCE… together in TARGET, which is made where there is none.

    Stores are named as by --store. Sources are only read. What several of them have is there once, what each of them
    paid for counts, and merging again changes nothing. Rows that contradict each other are listed, and nothing is
    written. Exit code 1 then; 3 when something was left out: calls in flight, images that are lost.
    """
    from ..running.merge import merge

    report = merge(target, sources, dry_run=dry_run, keep_earlier=keep_earlier)
    refused = bool(report.contradictions) and not keep_earlier
    if as_json:
        say(json.dumps(report.to_json()))
    else:
        for source in report.sources:
            _tell_source(source)
        _tell_merge(report, dry_run, refused)
    sys.exit(1 if refused else 0 if report.whole else 3)


SUBMITTED = "submitted"
"""What a report has of calls that a batch has, in place of who makes them."""
TOLD = ("drawings", "markings", "calls", "ratings", "comparisons", "certificates", "questions")
"""Tables whose new rows are told by name; JSON has them all."""


def _tell_source(source: SourceReport) -> None:
    rows, images = source.rows, source.images
    new = [f"{name} {rows.new[name]:,}" for name in TOLD if rows.new[name]]
    if rest := sum(count for name, count in rows.new.items() if name not in TOLD):
        new.append(f"other rows {rest:,}")
    if images.new:
        new.append(f"images {images.new:,}")
    words = [f"new: {', '.join(new) or 'nothing'}"]
    if rows.dollars:
        words.append(f"spent for it: ${rows.dollars:,.4f}")
    if changed := sum(rows.changed.values()):
        words.append(f"rows brought up to date: {changed:,}")
    say(f"{source.source}: {'; '.join(words)}")
    if rows.flying:
        who = ", ".join(sorted(set(rows.flying.values())))
        say(f"  calls in flight, left out: {len(rows.flying):,} ({who}); merge again when that has ended")
        if waiting := sum(by == SUBMITTED for by in rows.flying.values()):
            say(
                f"    {waiting:,} stand in batches: have them fetched there, by the command that handed them in; a run "
                "in the target would pay for them again"
            )
    if rows.twice:
        say(f"  calls with two different answers: {len(rows.twice):,}; both are kept, the earlier stands")
        _list(rows.twice)
    if images.lost:
        say(f"  images lost: {len(images.lost):,}; `limner verify --repair --store {source.source}` looks for them")
        _list(list(images.lost.values()))


def _tell_merge(report: MergeReport, dry_run: bool, refused: bool) -> None:
    if report.contradictions:
        stands = "" if refused else ": the earlier stands"
        say(f"rows that contradict another store's: {len(report.contradictions):,}{stands}", err=refused)
        _list([str(one) for one in report.contradictions], err=refused)
    if refused:
        say(f"{report.target}: nothing was written. Mend that, or let the earlier stand with --keep-earlier", err=True)
    elif dry_run:
        say(f"{report.target}: nothing was written (--dry-run)")
    elif not report.written:
        say(f"{report.target}: everything was there")


def _list(lines: list[str], *, err: bool = False) -> None:
    for line in lines[:SHOWN]:
        say(f"    {line}", err=err)
    if len(lines) > SHOWN:
        say(f"    … and {len(lines) - SHOWN:,} more", err=err)
