"""The store itself: verify."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from . import options
from .say import say

if TYPE_CHECKING:
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
    from ..store.open import open_store
    from ..store.store import shown

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
