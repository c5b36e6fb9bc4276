"""`limner export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import options


@click.command("export")
@click.argument("exam")
@options.painters
@options.without
@options.judges
@options.reading
@options.asked
@options.selection
@options.exclude_flagged
@options.store
@click.option("--format", "form", type=click.Choice(["jsonl", "csv", "parquet"]), default="jsonl", show_default=True)
@click.option("-o", "--output", type=options.FOLDER, metavar="FILE", help="Standard output by default.")
@click.option("--images", type=options.FOLDER, metavar="DIR", help="Also write the drawings as DIR/PAINTER/ID.png.")
def command(exam: str, form: str, output: Path | None, images: Path | None, **given: Any) -> None:
    """Write one row per question, painter and judge; needs the store alone."""
    from .. import api, exams
    from ..report.rows import export_rows, write_images, write_rows

    with api.opened(given["store"]) as store:
        kind, groups = api.groups(
            exam,
            store=store,
            reading=given["reading"],
            selection=options.make_selection(given),
            exclude_flagged=given["exclude_flagged"],
            **options.make_which(given),
        )
        rows = list(export_rows(api.stored(exam, store).name, exams.kind(kind).protocol, groups, given["reading"]))
        write_rows(rows, form, output)
        if images is not None:
            click.echo(f"{write_images(groups, store.blobs, images)} images in {images}", err=True)
