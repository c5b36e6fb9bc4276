"""`limner report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from . import options


@click.command("report")
@click.argument("exams", nargs=-1, metavar="[EXAM]...")
@click.option("-o", "--output", required=True, type=options.FOLDER, metavar="DIR", help="Where the site goes.")
@options.judges
@options.without
@options.asked
@options.on
@options.reading
@click.option("--no-images", is_flag=True, help="Small pictures alone: a lighter site, drawings not in full size.")
@click.option(
    "--max-side", type=click.IntRange(320, 8192), metavar="PIXELS", help="Scale full-size pictures down to this."
)
@options.store
def command(exams: tuple[str, ...], output: Path, no_images: bool, **given: Any) -> None:
    """Build a site of static pages from a store; all its exams by default.

    Leaderboards, painters, every question with all drawings and marks, a gallery, differences, failures. It opens from
    disk, without a server or a network. Run it again at any time, also while a run goes on: pictures made once are
    taken again.
    """
    from ..report.site import build

    loud = sys.stderr.isatty()

    def watch(words: str) -> None:
        if loud:
            click.echo(f"\r\033[K{words}", err=True, nl=False)

    built = build(
        output,
        exams,
        store=given["store"],
        on=options.make_on(given),
        reading=given["reading"],
        images=not no_images,
        max_side=given["max_side"],
        watch=watch,
        **options.make_which(given),
    )
    if loud:
        click.echo("\r\033[K", err=True, nl=False)
    for image, why in list(built.unshown.items())[:5]:
        click.echo(f"image {image[:12]} cannot be shown: {why}", err=True)
    if len(built.unshown) > 5:
        click.echo(f"and {len(built.unshown) - 5} more images cannot be shown", err=True)
    for said in built.broken:
        click.echo(f"limner: {said}", err=True)
    counts = {"exam": built.exams, "drawing": built.drawings, "new picture": built.pictures}
    told = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
    click.echo(f"{built.index}: {told}, {built.seconds:.1f} s")
