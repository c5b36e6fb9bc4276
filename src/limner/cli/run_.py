"""`limner run`."""

from __future__ import annotations

import sys
from typing import Any

import click

from . import options, running


@click.command("run")
@click.argument("exam")
@options.painters
@options.painter_args
@options.devices
@options.strategies
@options.asking
@options.measuring
@options.data
@options.store
@options.selection
@running.seeds
@running.first_seed
@running.repeats
@running.how
def command(exam: str, **given: Any) -> None:
    """Draw what is missing, mark what is unmarked, show the scores. Run it again to resume.

    EXAM is an installed exam (see `limner exams`), sample/NAME for its bundled sample, or the path of an exam.toml.
    """
    sys.exit(running.carry_out(exam, given, draw=True))
