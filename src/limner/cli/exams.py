"""Exams: those installed, and your own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from . import options
from .rubrics import prove, stats
from .say import say


@click.command("exams")
def exams_command() -> None:
    """List installed exams with their scores, variants, options and presets."""
    from ..core.errors import UsageError
    from ..exams import kind, kinds

    for name in kinds():
        try:
            found = kind(name)
        except UsageError as error:
            say(f"{name}: {error}")
            continue
        protocol = found.protocol
        say(f"{name}: {found.title}")
        for score in protocol.scored:
            say(f"    {score.name} (0-{score.top:g}): {score.about}")
        say(f"    variants: {', '.join(protocol.variants)}")
        for option, values in {**protocol.options, **protocol.draw_options}.items():
            say(f"    -O {option}={'|'.join(values)}")
        for constant, number in protocol.constants.items():
            say(f"    -O {constant}={number:g} with scores, show and export")
        for preset, body in found.all_presets.items():
            say(f"    --preset {preset}: {_words(body)}")
        if found.sample is not None:
            say(f"    bundled sample: sample/{name}")


def _words(body: Mapping[str, Any]) -> str:
    """A preset in one line: judge and arguments, variant, options, reading, drawing."""
    args = [f"{key}={value}" for key, value in body.get("judge_args", {}).items()]
    options = [f"{key}={value}" for key, value in body.get("options", {}).items()]
    drawn = {**body.get("painter_args", {}), **body.get("draw_options", {})}
    drawing = [f"{key}={value}" for key, value in drawn.items()]
    parts = [
        " ".join([f"judge {body['judge']}", *args]) if "judge" in body else "",
        f"variant {body['variant']}" if "variant" in body else "",
        " ".join(options),
        f"reading {body['reading']}" if "reading" in body else "",
        f"seed {body['seed']}" if "seed" in body else "",
        " ".join(["drawing", *drawing]) if drawing else "",
    ]
    return ", ".join(part for part in parts if part)


@click.group("exam")
def exam_command() -> None:
    """Check an exam's data and its rubric, or start an exam of your own."""


exam_command.add_command(prove)
exam_command.add_command(stats)


@exam_command.command("check")
@options.exam
@options.data
def check(exam: str, data: Path | None) -> None:
    """Read an exam's data and list all problems, with file, line and id."""
    from collections import Counter

    from ..exams import kind, read, resolve

    named = resolve(exam, data)
    found = read(named)
    say(f"{found.name}: {len(found.questions)} questions, all well-formed")
    for tag in kind(found.kind).protocol.breakdowns:
        counts = Counter(question.tags.get(tag, "(none)") for question in found.questions)
        shown = ", ".join(f"{value} {count}" for value, count in counts.most_common(12))
        say(f"    {tag}: {shown}" + (" …" if len(counts) > 12 else ""))
    for name, ids in found.subsets.items():
        say(f"    subset {name}: {len(ids)}")
    for note in found.notes:
        say(f"note: {note}")


@exam_command.command("rename")
@options.exam
@click.argument("folder", type=options.FOLDER)
@options.data
@options.store
def rename(exam: str, folder: Path, data: Path | None, store: str) -> None:
    """List files in FOLDER that look misnamed, as commands that rename them.

    Nothing is renamed: read the list, then run it in a shell. EXAM is read from --data, or from the store.
    """
    from shlex import join

    from ..painters import FolderPainter
    from ..running.setup import load_exam_or_data

    ids = [question.id for question in load_exam_or_data(exam, data, store)[1].questions]
    painter = FolderPainter(str(folder), f"folder/{folder}", folder)
    found = painter.misnamed(ids, ids)
    for old, new in found:
        if not (target := folder / new).parent.is_dir():
            say(join(["mkdir", "-p", "--", str(target.parent)]))
        say(join(["mv", "-n", "--", str(folder / old), str(target)]))
    missing = painter.missing(ids)
    say(f"{len(missing)} of {len(ids)} questions have no image; {len(found)} would be mended", err=True)


class FirstShipped(click.Option):
    """An option for which the first of the shipped exams is taken where it is not given."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The help, with that exam's name."""
        from ..exams import SHIPPED

        self.show_default = SHIPPED[0]
        return super().get_help_record(ctx)


@exam_command.command("new")
@click.argument("folder", type=options.FOLDER)
@click.option("--like", cls=FirstShipped, metavar="EXAM", help="The exam whose rules and sample to start from.")
def new(folder: Path, like: str | None) -> None:
    """Write a small valid exam into FOLDER, for you to edit."""
    from ..exams import SHIPPED, write_starter

    like = like or SHIPPED[0]
    path = write_starter(folder, like)
    say(f"a small exam like {like} is now in {folder}; edit it, then:")
    say(f"    limner exam check {path}")
    say(f"    limner run {path} --painter control/reference --judge ocr")
