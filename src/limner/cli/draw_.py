"""`limner draw`."""

from __future__ import annotations

import sys
from typing import Any

import click

from . import options, running


@click.command("draw")
@click.argument("exam")
@options.painters
@options.painter_args
@options.devices
@options.strategies
@options.exam_options
@options.data
@options.store
@options.selection
@running.seeds
@running.first_seed
@running.how
def command(exam: str, **given: Any) -> None:
    """Draw what is missing, without marking. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=True))
