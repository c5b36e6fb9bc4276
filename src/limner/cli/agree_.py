"""`limner agree`."""

from __future__ import annotations

from typing import Any

import click

from . import options, sheets


@click.command("agree")
@click.argument("exam")
@options.painters
@click.option(
    "--judge", "--judges", "judges", multiple=True, metavar="NAME[,NAME…]", help="Only these judges. Repeatable."
)
@click.option("--score", metavar="NAME", help="By this score; by default the first that all judges settle.")
@options.reading
@options.told
@click.option("--variant", help="Only marks asked for in this way; every way by default.")
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
    from ..store.records import load_setups

    with api.opened(given["store"]) as store:
        known = {setup["judge"] for setup in load_setups(store).values()}
        found = compare.judges(
            exam,
            score=given["score"],
            reading=given["reading"],
            store=store,
            painters=given["painters"],
            judges=[name for word in given["judges"] for name in ([word] if word in known else word.split(","))],
            variant=given["variant"],
            selection=options.make_selection(given),
            **options.parted(given["told"]),
        )
    sheets.show(given["form"], found.to_json, lambda: agreement_csv(found), lambda: agreement_sheets(found))
