"""`limner show`."""

from __future__ import annotations

import json
from typing import Any

import click

from . import options


@click.command("show")
@click.argument("exam")
@click.argument("id")
@options.painters
@options.judges
@options.reading
@options.asked
@options.store
@click.option("--steps", type=options.FOLDER, metavar="FILE.png", help="Also draw how each drawing came about.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(exam: str, id: str, as_json: bool, **given: Any) -> None:
    """Show one question: its prompt, every drawing, every mark with its reason; needs the store alone."""
    from ..report.question import describe_question, print_question

    body = describe_question(
        exam,
        id,
        store=given["store"],
        reading=given["reading"],
        **options.make_which(given),
    )
    if as_json:
        click.echo(json.dumps(body, ensure_ascii=False, indent=2))
    else:
        print_question(body)
    if given["steps"] is not None:
        from ..report.question import write_steps

        for file in write_steps(body, given["store"], given["steps"]):
            click.echo(f"steps: {file}", err=True)
