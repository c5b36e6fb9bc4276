"""`limner spend`."""

from __future__ import annotations

import json

import click

from . import options


@click.command("spend")
@click.option(
    "--by", multiple=True, type=click.Choice(["target", "kind", "exam", "painter"]),
    default=("kind", "target", "exam"), show_default=True, help="How to group. Repeatable.",
)  # fmt: skip
@options.store
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(by: tuple[str, ...], store: str, as_json: bool) -> None:
    """Say what was spent: image calls (paint) and chat calls (chat), failed attempts included."""
    from .. import api
    from ..spending import spent

    with api.opened(store) as opened:
        rows = spent(opened, by)
    if as_json:
        click.echo(json.dumps([row.to_json() for row in rows], indent=2))
        return
    from rich.table import Table

    from ..report.console import console

    table = Table(title=f"spent in {store}: ${sum(row.dollars for row in rows):.4f}", title_justify="left")
    for name in by:
        table.add_column(name)
    for name in ("calls", "attempts", "failed", "unpriced", "tokens in", "tokens out", "dollars"):
        table.add_column(name, justify="right")
    for row in rows:
        numbers = [row.calls, row.attempts, row.failed, row.unpriced, row.tokens_in, row.tokens_out]
        table.add_row(*(row.group[name] or "–" for name in by), *map(str, numbers), f"{row.dollars:.4f}")
    console().print(table)
    if any(row.unpriced for row in rows):
        click.echo("unpriced: attempts whose cost nobody knows (no price known, or cut off in flight)")
