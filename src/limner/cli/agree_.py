"""`limner agree`."""

from __future__ import annotations

from typing import Any

import click

from . import options, sheets


@click.command("agree")
@click.argument("exam")
@options.painters
@options.without
@click.option(
    "--judge", "--judges", "judges", multiple=True, metavar="NAME[,NAME…]",
    help="Only these judges; 'openai/gpt-5?reasoning_effort=low' only asked so. Repeatable.",
)  # fmt: skip
@click.option("--score", metavar="NAME", help="By this score; by default the first that all judges settle.")
@options.reading
@options.asked
@options.selection
@options.store
@sheets.form
def command(exam: str, **given: Any) -> None:
    """Compare judges on the same drawings: do they mark alike, and do they put painters in the same order?

    Needs the store alone. A judge that was asked in several ways, such as AIBench's single and batched, counts as
    several judges. Shows agreement mark by mark, of scores and of painters' order, how steady each judge is over
    repeats, and what an image costs in dollars and seconds.
    """
    from .. import api, compare
    from ..report.agreement import agreement_csv, agreement_sheets
    from ..scoring import evaluators_of

    with api.opened(given["store"]) as store:
        there = evaluators_of(store, api.stored(exam, store).name)
        known = {name for each in there for name in (each.judge, each.label)}
        words = [name for word in given["judges"] for name in ([word] if word in known else word.split(","))]
        found = compare.judges(
            exam,
            score=given["score"],
            reading=given["reading"],
            store=store,
            selection=options.make_selection(given),
            **options.make_which({**given, "judges": words}),
        )
    sheets.show(given["form"], found.to_json, lambda: agreement_csv(found), lambda: agreement_sheets(found))
