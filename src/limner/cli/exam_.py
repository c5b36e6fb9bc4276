"""`limner exam`."""

from __future__ import annotations

from pathlib import Path

import click

from . import options


@click.group("exam")
def command() -> None:
    """Check an exam's data, or start an exam of your own."""


@command.command("check")
@click.argument("exam")
@options.data
def check(exam: str, data: Path | None) -> None:
    """Read an exam's data and say everything that is wrong with it, by file, line and id."""
    from collections import Counter

    from ..exams import kind, read, resolve

    named = resolve(exam, data)
    found = read(named)
    click.echo(f"{found.name}: {len(found.questions)} questions, all well-formed")
    for tag in kind(found.kind).protocol.breakdowns:
        counts = Counter(question.tags.get(tag, "(none)") for question in found.questions)
        shown = ", ".join(f"{value} {count}" for value, count in counts.most_common(12))
        click.echo(f"    {tag}: {shown}" + (" …" if len(counts) > 12 else ""))
    for name, ids in found.subsets.items():
        click.echo(f"    subset {name}: {len(ids)}")
    for note in found.notes:
        click.echo(f"note: {note}")


@command.command("new")
@click.argument("folder", type=options.FOLDER)
@click.option("--like", show_default="genexam", metavar="EXAM", help="The exam whose protocol it follows.")
def new(folder: Path, like: str | None) -> None:
    """Write a small valid exam into FOLDER, to edit."""
    from ..exams import SHIPPED
    from ..exams.starter import write_starter

    like = like or SHIPPED[0]
    path = write_starter(folder, like)
    click.echo(f"a small exam like {like} stands in {folder}; edit it, then:")
    click.echo(f"    limner exam check {path}")
    click.echo(f"    limner run {path} --painter control/reference --judge ocr")
