"""One way for commands to show sheets: for a terminal, as JSON, CSV or Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..tables.sheets import Sheet

form = click.option(
    "--format", "form", type=click.Choice(["text", "json", "csv", "md"]), default="text", show_default=True
)


def show(form: str, as_json: Callable[[], Any], as_csv: Callable[[], str], sheets: Callable[[], list[Sheet]]) -> None:
    """Print what was found in the form asked for; only that form is made."""
    if form == "json":
        click.echo(json.dumps(as_json(), ensure_ascii=False, indent=2, allow_nan=False))
    elif form == "csv":
        click.echo(as_csv(), nl=False)
    else:
        from ..tables.sheets import markdown, print_sheets

        if form == "md":
            click.echo(markdown(sheets()), nl=False)
        else:
            print_sheets(sheets())
