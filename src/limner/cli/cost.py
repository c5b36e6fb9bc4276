"""What a run costs and did cost: estimate, spend."""

from __future__ import annotations

import json
from typing import Any

import click

from . import options, running


@click.command("estimate")
@click.argument("exam")
@options.painters
@options.painter_args
@options.strategies
@options.asking
@options.measuring
@options.data
@options.store
@options.selection
@running.seeds
@running.first_seed
@running.repeats
@running.retry_failed
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def estimate_command(exam: str, as_json: bool, **given: Any) -> None:
    """Say what `limner run` with the same options would still cost; what is already stored costs nothing.

    Without --painter it says what `limner mark` would cost.
    """
    from .. import api
    from ..core import settings
    from ..core.errors import UsageError
    from ..running.estimate import estimate, total
    from ..store.open import open_or_empty, open_store

    asking, draw = options.make_asking(given), bool(given["painters"] or given["strategies"])
    if not draw and not asking.judges and not asking.preset:
        raise UsageError("name a painter with --painter, or a judge with --judge")
    place = open_or_empty(given["store"]) if draw else open_store(given["store"])
    with place as store:
        plan = api.plan(
            exam,
            store,
            data=given["data"],
            painters=given["painters"],
            asking=asking,
            selection=options.make_selection(given),
            painter_options=options.typed(given["painter_args"], "--painter-arg"),
            strategies=given["strategies"],
            strategy_options=options.pairs(given["strategy_options"], "-S"),
            measuring=options.make_measuring(given),
            draw=draw,
            retry_failed=given["retry_failed"],
            seeds=given["seeds"],
            repeats=given["repeats"],
            **({} if given["seed"] is None else {"first_seed": given["seed"]}),
        )
        running.tell_older(plan, store)
        found = estimate(plan, store, settings.load())
    dollars, unknown = total(found)
    if as_json:
        body = {"steps": [one.to_json() for one in found], "dollars": dollars, "unknown_prices": unknown}
        click.echo(json.dumps(body, indent=2))
        return
    from rich.table import Table

    from ..tables.console import console

    table = Table(title=f"{exam}: {len(plan.exam.questions)} questions, still to do", title_justify="left")
    for name in ("who", "role"):
        table.add_column(name)
    for name in ("steps", "calls", "tokens in", "tokens out", "dollars"):
        table.add_column(name, justify="right")
    table.add_column("basis")
    for one in found:
        cost = "unknown" if one.dollars is None else f"{one.dollars:.2f}"
        numbers = (one.steps, one.calls, one.tokens_in, one.tokens_out)
        table.add_row(one.who, one.role, *(f"{number:,}" for number in numbers), cost, one.basis)
    console().print(table)
    lacking = f", and what {', '.join(unknown)} costs: add the price to limner.toml" if unknown else ""
    click.echo(f"in all about ${dollars:.2f}{lacking}")


@click.command("spend")
@click.option(
    "--by", multiple=True, type=click.Choice(["target", "kind", "exam", "painter"]),
    default=("kind", "target", "exam"), show_default=True, help="How to group. Repeatable.",
)  # fmt: skip
@options.store
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def spend_command(by: tuple[str, ...], store: str, as_json: bool) -> None:
    """Say what was spent: image calls (paint) and chat calls (chat), failed attempts included."""
    from ..running.spending import spent
    from ..store.open import open_store

    with open_store(store) as opened:
        rows = spent(opened, by)
    if as_json:
        click.echo(json.dumps([row.to_json() for row in rows], indent=2))
        return
    from rich.table import Table

    from ..tables.console import console

    table = Table(title=f"spent in {store}: ${sum(row.dollars for row in rows):.4f}", title_justify="left")
    for name in by:
        table.add_column(name)
    for name in ("calls", "attempts", "failed", "unpriced", "tokens in", "tokens out", "dollars"):
        table.add_column(name, justify="right")
    for row in rows:
        numbers = [row.calls, row.attempts, row.failed, row.unpriced, row.tokens_in, row.tokens_out]
        table.add_row(*(row.group[name] or "–" for name in by), *map(str, numbers), f"{row.dollars:.4f}")
    console().print(table)
    if any(row.unpriced for row in rows):
        click.echo("unpriced: attempts whose cost is not known (no price, or ended before a reply)")
