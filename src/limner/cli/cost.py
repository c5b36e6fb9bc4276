"""What a run costs and did cost: estimate, spend."""

from __future__ import annotations

from typing import Any

import click

from . import options, running
from .say import say


@click.command("estimate")
@options.exam
@options.painters
@options.painter_args
@running.work
@running.retry_failed
@running.part
@click.option("--batch", is_flag=True, help="What it would cost with --batch.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def estimate_command(exam: str, as_json: bool, **given: Any) -> None:
    """Say what `limner run` with the same options would still cost; what is already stored costs nothing.

    Without --painter it says what `limner mark` would cost, with --shard what that part of the run alone would.
    """
    from ..core import settings
    from ..core.errors import UsageError
    from ..report.tables.costs import estimate_table
    from ..report.tables.render import show
    from ..running.estimate import estimate, total
    from ..store.store import open_or_empty, open_store

    asking, draw = options.make_asking(given), bool(given["painters"] or given["strategies"])
    if not draw and not asking.judges and not asking.preset:
        raise UsageError("name a painter with --painter, or a judge with --judge")
    shard = running.make_shard(given)
    place = open_or_empty(given["store"]) if draw else open_store(given["store"])
    with place as store:
        plan = running.make_plan(exam, store, given, asking, draw, batch=given["batch"], shard=shard)
        running.tell_models(plan, asking)
        found = estimate(plan, store, settings.load())
    dollars, unknown = total(found)
    body = {"steps": [one.to_json() for one in found], "dollars": dollars, "unknown_prices": unknown}
    if shard is not None:
        body["shard"] = str(shard)
    show(
        "json" if as_json else "text",
        lambda: [estimate_table(exam, len(plan.exam.questions), found, shard)],
        body=lambda: body,
    )


@click.command("spend")
@click.option(
    "--by", multiple=True, type=click.Choice(["target", "kind", "exam", "painter"]),
    default=("kind", "target", "exam"), show_default=True, help="How to group. Repeatable.",
)  # fmt: skip
@click.option(
    "--purse", metavar="[NAME]", is_flag=False, flag_value="",
    help="Show the purses instead, or one of them: limit, spent, set aside, and by which process.",
)  # fmt: skip
@options.store
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def spend_command(by: tuple[str, ...], purse: str | None, store: str, as_json: bool) -> None:
    """Say what was spent: image calls (paint) and chat calls (chat), failed attempts included."""
    from ..calls.purse import read_purses
    from ..report.tables.costs import purse_table, spend_table
    from ..report.tables.render import show
    from ..running.estimate import spent
    from ..store.store import open_store

    with open_store(store) as opened:
        if purse is not None:
            found = read_purses(opened, purse or None)
            how = "json" if as_json else "text"
            show(how, lambda: [purse_table(one) for one in found], body=lambda: [one.to_json() for one in found])
            return
        rows = spent(opened, by)
    show(
        "json" if as_json else "text",
        lambda: [spend_table(store, by, rows)],
        body=lambda: [row.to_json() for row in rows],
    )


@click.command("batches")
@click.option("--all", "every", is_flag=True, help="Also those that have ended.")
@click.option("--cancel", metavar="ID", help="Ask the service to stop this one; what it has answered is paid for.")
@options.store
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def batches_command(every: bool, cancel: str | None, store: str, as_json: bool) -> None:
    """Show the batches that services have: calls handed in with --batch, and the price set aside for them.

    Their results are fetched by the command that handed them in: run it again.
    """
    from ..calls.batches import read_batches
    from ..core import settings
    from ..report.tables.costs import batches_table
    from ..report.tables.render import show
    from ..running.batch import cancel_batch
    from ..store.store import open_store

    with open_store(store) as opened:
        if cancel is not None:
            say(cancel_batch(opened, cancel, settings.load()), err=True)
        found = read_batches(opened, only_open=not every)
    how = "json" if as_json else "text"
    show(how, lambda: [batches_table(store, found)], body=lambda: [one.to_json() for one in found])


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
