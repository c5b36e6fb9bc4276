"""What is known of models: models, models update."""

from __future__ import annotations

import click

from .say import say


@click.group("models", invoke_without_command=True)
@click.option("--find", metavar="WORD", help="Only models whose name or maker has the word in it.")
@click.option("--gone", is_flag=True, help="Only models that are gone or will be soon.")
@click.option("--format", "form", type=click.Choice(["text", "json", "md"]), default="text", show_default=True)
@click.pass_context
def models_command(context: click.Context, find: str | None, gone: bool, form: str) -> None:
    """Show what is known of models: when they came, when they go and who comes after them, what they cost.

    Facts come with Limner; `limner models update` refreshes them, and limner.toml goes before both.
    """
    if context.invoked_subcommand is not None:
        return
    from ..core import catalogue, settings
    from ..core.errors import UsageError
    from ..report.tables.costs import chosen_models, models_body, models_table
    from ..report.tables.render import show

    known, day = settings.load(), catalogue.today()
    rows = chosen_models(known, find, gone, day)
    if not rows:
        raise UsageError("no such model is known; `limner models` shows all that are")
    show(form, lambda: [models_table(rows, known, day)], body=lambda: models_body(rows, known, day))


@models_command.command("update")
@click.argument("source", metavar="FILE|URL|SERVICE")
def update_command(source: str) -> None:
    """Refresh what is known of models, without waiting for a new Limner.

    FILE or URL is a catalogue: TOML or JSON with the fields of limner.toml. SERVICE is one that lists its models with
    the days on which they are shut down, such as openai. Kept in your configuration folder.
    """
    from ..core import catalogue, settings
    from ..models.refresh import update

    changes = update(source, settings.load())
    for change in changes:
        say(str(change))
    where = f"; kept in {catalogue.refreshed_file()}" if changes else ""
    say(f"{len(changes)} {'fact is' if len(changes) == 1 else 'facts are'} new{where}")
