"""`limner import`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from . import options


@click.command("import")
@click.argument("exam")
@options.data
@click.option("--results", type=options.FOLDER, required=True, metavar="DIR", help="What the released scorer wrote.")
@click.option("--images", type=options.FOLDER, metavar="DIR", help="The drawings, <id>.png, where you have them.")
@click.option("--regions", type=options.FOLDER, metavar="FILE", help="Region counts, for exams that use them.")
@click.option("--painter", required=True, metavar="NAME", help="The model that drew.")
@click.option("--judge", required=True, metavar="NAME", help="The model that marked.")
@options.store
@click.option("--json", "as_json", is_flag=True, help="Say what was imported as JSON.")
def command(
    exam: str,
    data: Path | None,
    results: Path,
    images: Path | None,
    regions: Path | None,
    painter: str,
    judge: str,
    store: str,
    as_json: bool,
) -> None:
    """Bring in results made by a benchmark's own scorer, so that they are scored and compared like any others."""
    from ..importing import import_results

    found = import_results(
        exam, results, painter=painter, judge=judge, data=data, images=images, regions=regions, store=store
    )
    if as_json:
        body = {"results": found.results, "images": found.images, "failures": dict(found.failures)}
        click.echo(json.dumps(body))
    else:
        unread = sum(found.failures.values())
        said = f", {unread} of them unreadable" if unread else ""
        click.echo(f"{found.results} results imported, {found.images} with their drawing{said}, into {store}")
        for detail in found.details[:5]:
            click.echo(f"note: {detail}", err=True)
        if len(found.details) > 5:
            click.echo(f"… and {len(found.details) - 5} more", err=True)
    sys.exit(3 if found.failures else 0)
