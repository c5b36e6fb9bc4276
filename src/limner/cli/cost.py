"""Commands on cost: estimate, spend, batches, models."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import UsageError
from . import options, running, say, show

if TYPE_CHECKING:
    from ..store import Store


@click.command("estimate", cls=options.SectionedCommand)
@options.exam
@options.painters
@options.painter_args
@running.plan_options
@running.retry_failed
@running.shard
@click.option("--batch", is_flag=True, help="Estimate the cost with --batch.")
@options.form
def estimate_command(exam: str, form: str, **given: Any) -> None:
    """Estimate what `limner run` with the same options would still cost; what is stored costs nothing.

    Without --painter, estimates `limner mark`; with --shard, only that part of the run.
    """
    from ..core import settings
    from ..report.tables.status import estimate_table
    from ..running.estimate import estimate, total
    from ..store.store import open_or_empty, open_store

    asking, draw = options.make_asking(given), bool(given["painters"] or given["strategies"])
    if not draw and not asking.judges and not asking.preset:
        raise UsageError("name a painter with --painter, or a judge with --judge")
    shard = running.make_shard(given)
    with open_or_empty(given["store"]) if draw else open_store(given["store"]) as store:
        plan = running.make_plan(exam, store, given, draw=draw, asking=asking, shard=shard)
        running.warn_of_models(plan, asking)
        estimates = estimate(plan, store, settings.load())
    dollars, unknown = total(estimates)
    body = {"steps": [line.to_json() for line in estimates], "dollars": dollars, "unknown_prices": unknown}
    if shard is not None:
        body["shard"] = str(shard)
    show(form, lambda: [estimate_table(exam, len(plan.exam.questions), estimates, shard)], body=lambda: body)


@click.command("spend")
@click.option(
    "--by", multiple=True, type=click.Choice(["target", "kind", "exam", "painter"]),
    default=("kind", "target", "exam"), show_default=True, help="How to group. Repeatable.",
)  # fmt: skip
@click.option(
    "--purse", metavar="[NAME]", is_flag=False, flag_value="",
    help="Show instead the purses, or one of them: limit, spent, reserved, and by which process.",
)  # fmt: skip
@options.open_store
@options.form
def spend_command(by: tuple[str, ...], purse: str | None, store: Store, form: str) -> None:
    """Show what was spent on image calls (paint) and chat calls (chat), failed attempts included."""
    from ..calls.budget import read_purses
    from ..report.tables.status import purse_table, spend_table
    from ..running.estimate import spent

    if purse is not None:
        purses = read_purses(store, purse or None)
        show(form, lambda: [purse_table(each) for each in purses], body=lambda: [each.to_json() for each in purses])
        return
    rows = spent(store, by)
    show(form, lambda: [spend_table(store.url, by, rows)], body=lambda: [row.to_json() for row in rows])


@click.command("batches")
@click.option("--all", "every", is_flag=True, help="Also show ended batches.")
@click.option("--cancel", metavar="ID", help="Ask the service to cancel this batch; calls already answered are paid.")
@options.open_store
@options.form
def batches_command(every: bool, cancel: str | None, store: Store, form: str) -> None:
    """Show the batches at the services: calls submitted with --batch, and the money reserved for them.

    To fetch the results, run the command that submitted them again.
    """
    from ..calls.batches import read_batches
    from ..core import settings
    from ..report.tables.status import batches_table
    from ..running.batch import cancel_batch

    if cancel is not None:
        say(cancel_batch(store, cancel, settings.load()), err=True)
    batches = read_batches(store, only_open=not every)
    show(form, lambda: [batches_table(store.url, batches)], body=lambda: [batch.to_json() for batch in batches])


@click.group("models", invoke_without_command=True)
@click.option("--find", metavar="WORD", help="Only models that contain WORD in a name, maker or source.")
@click.option("--gone", is_flag=True, help="Only models that are retired or soon will be.")
@options.form
@click.pass_context
def models_command(context: click.Context, find: str | None, gone: bool, form: str) -> None:
    """Show facts about models: release and shutdown dates, successors, prices.

    The facts ship with Limner; `limner models update` refreshes them, and limner.toml overrides both.
    """
    if context.invoked_subcommand is not None:
        return
    from ..core import catalogue, settings
    from ..report.tables.status import chosen_models, models_body, models_table

    loaded, day = settings.load(), catalogue.today()
    if hint := catalogue.age_hint(loaded.models, loaded.painters, day):
        say(hint, err=True)
    rows = chosen_models(loaded, find, gone, day)
    if not rows:
        raise UsageError("no such model; `limner models` lists all known models")
    show(form, lambda: [models_table(rows, loaded, day)], body=lambda: models_body(rows, loaded, day))


@models_command.command("update")
@click.argument("source", metavar="[FILE|URL|SERVICE]", required=False)
@click.option("--trust", is_flag=True, help="Let LiteLLM's cost map override facts that Limner has confirmed.")
@click.option("--yes", is_flag=True, help="Keep the facts of a cost map without asking.")
def update_command(source: str | None, trust: bool, yes: bool) -> None:
    """Update the facts about models, without waiting for a new version of Limner.

    Without an argument, prices come from LiteLLM's cost map; you see what would change before it is kept. FILE or URL
    is such a cost map, or a catalogue: TOML or JSON with the fields of limner.toml. SERVICE is a service that lists its
    models with their shutdown dates, such as openai. The facts are stored in your configuration folder.
    """
    from ..core import catalogue, settings
    from ..models.refresh import ADDRESS, read_update

    update = read_update(source or ADDRESS, settings.load(), trust=trust)
    for line in update.lines():
        say(line)
    if update.left_out:
        say(f"{update.left_out} differ from facts that Limner has confirmed and are left out; --trust takes them")
    count = len(update.changes)
    facts = f"{count} new {'fact' if count == 1 else 'facts'}"
    if count and update.gathered and not yes and not _agreed(facts):
        say(f"{facts}; not stored: add --yes to store them")
        return
    update.keep()
    say(f"{facts}; stored in {catalogue.refreshed_file()}" if count else facts)


def _agreed(facts: str) -> bool:
    """Ask whether to keep facts; without a terminal nobody agrees."""
    return sys.stdin.isatty() and click.confirm(f"Store {facts}?")
