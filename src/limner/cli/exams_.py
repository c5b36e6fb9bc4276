"""`limner exams`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click


@click.command("exams")
def command() -> None:
    """List installed exams with their scores, variants, options and presets."""
    import tomllib

    from ..errors import UsageError
    from ..exams import kind, kinds
    from ..exams.wordings import wordings

    for name in kinds():
        try:
            found = kind(name)
        except UsageError as error:
            click.echo(f"{name}: {error}")
            continue
        protocol = found.protocol
        click.echo(f"{name}: {found.title}")
        for score in protocol.scored:
            click.echo(f"    {score.name} (0-{score.top:g}): {score.about}")
        click.echo(f"    variants: {', '.join(protocol.variants)}")
        for option, values in {**protocol.options, **protocol.draw_options}.items():
            click.echo(f"    -O {option}={'|'.join(values)}")
        for constant, number in protocol.constants.items():
            click.echo(f"    -O {constant}={number:g} with scores, show and export")
        shipped = wordings(found)
        if shipped[-1].date is not None:
            click.echo(f"    wordings: {', '.join(f'{one.version} ({one.date})' for one in shipped)}")
        if found.presets is not None:
            for preset, body in tomllib.loads(found.presets.read_text(encoding="utf-8")).items():
                click.echo(f"    --preset {preset}: {_words(body)}")
        if found.sample is not None:
            click.echo(f"    bundled sample: sample/{name}")


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
