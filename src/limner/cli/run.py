"""Drawing and marking: run, draw, mark, import."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from . import options, running
from .rate import rate_command as rate_command
from .say import say


@click.command("run", cls=options.Sectioned)
@options.exam
@options.painters
@options.painter_args
@options.devices
@running.work
@running.carried_out
def run_command(exam: str, **given: Any) -> None:
    """Draw what is missing, mark what is unmarked, show the scores. Run it again to resume.

    EXAM is an installed exam (see `limner exams`), sample/NAME for its bundled sample, or the path of an exam.toml.
    """
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("draw", cls=options.Sectioned)
@options.exam
@options.painters
@options.painter_args
@options.devices
@options.strategies
@options.exam_options
@running.questions
@running.drawings
@running.carried_out
def draw_command(exam: str, **given: Any) -> None:
    """Draw what is missing, without marking. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("mark", cls=options.Sectioned)
@options.exam
@options.painters
@options.asking
@options.measuring
@running.questions
@running.repeats
@running.carried_out
def mark_command(exam: str, **given: Any) -> None:
    """Mark stored drawings. Needs only the store; --data is not read. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=False))


@click.command("import")
@options.exam
@options.data
@click.option("--results", type=options.FOLDER, required=True, metavar="DIR", help="Output of the released scorer.")
@click.option("--images", type=options.FOLDER, metavar="DIR", help="The drawings, <id>.png, if you have them.")
@click.option("--regions", type=options.FOLDER, metavar="FILE", help="Region counts, for exams that use them.")
@click.option("--painter", required=True, metavar="NAME", help="The model that drew.")
@click.option("--judge", required=True, metavar="NAME", help="The model that marked.")
@options.store
@click.option("--json", "as_json", is_flag=True, help="Say what was imported as JSON.")
def import_command(
    exam: str,
    data: Path | None,
    results: Path,
    images: Path | None,
    regions: Path | None,
    painter: str,
    judge: str,
    store: str,
    as_json: bool,
) -> None:
    """Import results of a benchmark's own scorer, so that they are scored and compared like any others."""
    from ..running.import_results import import_results

    found = import_results(
        exam, results, painter=painter, judge=judge, data=data, images=images, regions=regions, store=store
    )
    if as_json:
        body = {"results": found.results, "images": found.images, "failures": dict(found.failures)}
        say(json.dumps(body))
    else:
        unread, unmeasured = found.failures["unreadable"], found.failures["probe"]
        said = f", {unread} of them unreadable" if unread else ""
        said += f", {unmeasured} with a measurement that failed" if unmeasured else ""
        say(f"{found.results} results imported, {found.images} with their drawing{said}, into {store}")
        for detail in found.details[:5]:
            say(f"note: {detail}", err=True)
        if len(found.details) > 5:
            say(f"… and {len(found.details) - 5} more", err=True)
    sys.exit(3 if found.failures else 0)
