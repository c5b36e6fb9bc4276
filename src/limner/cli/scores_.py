"""`limner scores`."""

from __future__ import annotations

import json
from typing import Any

import click

from . import options


@click.command("scores")
@click.argument("exam")
@options.painters
@options.without
@options.judges
@options.on
@click.option(
    "--sort", metavar="NAME", help="Order rows by this score, name, coverage or cost; by the main score by default."
)
@click.option("--by", multiple=True, metavar="TAG", help="Break down by a tag, or by dimension. Repeatable.")
@click.option("--analyses", is_flag=True, help="Below the table, what the exam's paper reports beyond its scores.")
@options.reading
@options.asked
@options.selection
@options.exclude_flagged
@options.store
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def command(exam: str, **given: Any) -> None:
    """Show scores; needs the store alone."""
    from .. import api
    from ..report.tables import print_standings, standings_csv

    with api.opened(given["store"]) as store:
        found = api.scores(
            exam,
            by=given["by"],
            reading=given["reading"],
            store=store,
            on=options.make_on(given),
            sort=given["sort"],
            selection=options.make_selection(given),
            exclude_flagged=given["exclude_flagged"],
            **options.make_which(given),
        )
        kind = api.stored(exam, store).kind
    if given["form"] == "json":
        click.echo(json.dumps([standing.to_json() for standing in found], ensure_ascii=False, indent=2))
    elif given["form"] == "csv":
        click.echo(standings_csv(found), nl=False)
    else:
        print_standings(found, kind)
        if given["analyses"]:
            from ..report.analyses import analysis_sheets
            from ..report.sheets import print_sheets

            print_sheets(analysis_sheets(found))
