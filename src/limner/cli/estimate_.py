"""`limner estimate`."""

from __future__ import annotations

import json
from typing import Any

import click

from . import options, running


@click.command("estimate")
@click.argument("exam")
@options.painters
@options.painter_args
@options.asking
@options.data
@options.store
@options.selection
@running.seeds
@running.first_seed
@running.repeats
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(exam: str, as_json: bool, **given: Any) -> None:
    """Say what `limner run` with the same words would still cost; what the store has is subtracted."""
    from .. import api, settings
    from ..estimate import estimate, total

    with api.looked_at(given["store"]) as store:
        plan = api.plan(
            exam,
            store,
            data=given["data"],
            painters=given["painters"],
            asking=options.make_asking(given),
            selection=options.make_selection(given),
            painter_options=options.typed(given["painter_args"], "--painter-arg"),
            seeds=given["seeds"],
            repeats=given["repeats"],
            **({} if given["seed"] is None else {"first_seed": given["seed"]}),
        )
        found = estimate(plan, store, settings.load())
    dollars, unknown = total(found)
    if as_json:
        body = {"steps": [one.to_json() for one in found], "dollars": dollars, "unknown_prices": unknown}
        click.echo(json.dumps(body, indent=2))
        return
    from rich.table import Table

    from ..report.console import console

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
    click.echo(f"in all about ${dollars:.2f}" + (f", and what {', '.join(unknown)} costs" if unknown else ""))
