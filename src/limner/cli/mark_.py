"""`limner mark`."""

from __future__ import annotations

import sys
from typing import Any

import click

from . import options, running


@click.command("mark")
@click.argument("exam")
@options.painters
@options.asking
@options.measuring
@options.data
@options.store
@options.selection
@running.repeats
@running.how
def command(exam: str, **given: Any) -> None:
    """Mark stored drawings; the store alone is needed, --data is not looked at. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=False))
