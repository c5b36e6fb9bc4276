"""`limner doctor`."""

from __future__ import annotations

import sys

import click

from . import options


@click.command("doctor")
@options.store
def command(store: str) -> None:
    """Look whether this machine and this store are fit for work."""
    from ..doctor import examine

    fit = True
    for check in examine(store):
        fit = fit and check.state != "bad"
        click.echo(f"{check.state:>4}  {check.name}: {check.detail}")
    sys.exit(0 if fit else 1)
