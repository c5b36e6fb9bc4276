"""`limner table`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options

if TYPE_CHECKING:
    from ..report.papertables import Choice, Layout, Table


@click.command("table")
@click.argument("name", required=False, metavar="[EXAM:TABLE]")
@options.painters
@options.without
@options.judges
@options.asked
@options.on
@options.reading
@options.store
@click.option("--exam", metavar="NAME", help="The exam's name in the store, where it has several of the kind.")
@click.option("--published/--no-published", default=True, show_default=True, help="The figures the paper prints.")
@click.option("--intervals/--no-intervals", default=True, show_default=True, help="Intervals of the store's numbers.")
@click.option("--section", metavar="TITLE", help="Of a table with sections, only this one, such as Biology.")
@click.option(
    "--format", "form", type=click.Choice(["text", "md", "csv", "latex", "html"]),
    help="By default what the name of --output ends in, or text.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def command(name: str | None, **given: Any) -> None:
    """Show a table as a benchmark's paper has it: the published figures, and beside them those of a store.

    Without a name it lists the tables.
    """
    from ..report.papertables import Choice, find, known, wrong

    if name is None:
        width = max(map(len, known()))
        for key, layout in known().items():
            click.echo(f"{key:{width}}  {layout.title}")
        for error in wrong().values():
            click.echo(f"limner: {error}", err=True)
        return
    layout = find(name)
    choice = Choice(
        published=given["published"],
        intervals=given["intervals"],
        reading=given["reading"],
        exam=given["exam"],
        on=options.make_on(given),
        which=options.make_which(given),
        section=given["section"],
    )
    source = click.get_current_context().get_parameter_source("store")
    named = source is not click.core.ParameterSource.DEFAULT
    table, found = _built(layout, choice, given["store"], named)
    _write(table, given["form"], given["output"])
    if not found:
        click.echo(f"limner: {given['store']} has nothing marked for {layout.key}; published figures only", err=True)


def _built(layout: Layout, choice: Choice, url: str, named: bool) -> tuple[Table, bool]:
    """The table, and whether a store has anything for it; a store nobody named need not be there."""
    from .. import api
    from ..errors import NoStore
    from ..report.papertables import build

    try:
        with api.opened(url) as store:
            table = build(layout, store, choice)
    except NoStore:
        if named or not choice.published:
            raise
        table = build(layout, None, choice)
    lines = [line for sheet in table.flat for line in sheet.lines()]
    return table, any(not line.published for line in lines)


def _write(table: Table, form: str | None, output: Path | None) -> None:
    from ..report.render import SUFFIXES, rendered

    if output is None:
        if form in (None, "text"):
            from ..report.render.text import show

            show(table)
        else:
            click.echo(rendered(table, form or "text"), nl=False)
        return
    form = form or SUFFIXES.get(output.suffix.lower())
    if form is None:
        raise click.UsageError(f"-o {output}: say --format, or end the name in {', '.join(SUFFIXES)}")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(rendered(table, form, page=True), encoding="utf-8")
