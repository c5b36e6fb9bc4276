"""`limner exams`."""

from __future__ import annotations

import click


@click.command("exams")
def command() -> None:
    """List installed exams with their scores, variants, options and presets."""
    import tomllib

    from ..exams import kind, kinds

    for name in kinds():
        found = kind(name)
        protocol = found.protocol
        click.echo(f"{name}: {found.title}")
        for score in protocol.scored:
            click.echo(f"    {score.name} (0-{score.top:g}): {score.about}")
        click.echo(f"    variants: {', '.join(protocol.variants)}")
        for option, values in protocol.options.items():
            click.echo(f"    -O {option}={'|'.join(values)}")
        if found.presets is not None:
            click.echo(f"    presets: {', '.join(tomllib.loads(found.presets.read_text(encoding='utf-8')))}")
        if found.sample is not None:
            click.echo(f"    bundled sample: sample/{name}")
