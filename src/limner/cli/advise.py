"""Advice on a judge from what people marked."""

from __future__ import annotations

from typing import Any

import click

from . import options


@click.command("advise")
@options.exam
@click.option("--study", required=True, metavar="NAME", help="The study in which people marked.")
@options.judges
@click.option("--score", metavar="NAME", help="The score of drawings; the exam's first by default.")
@click.option(
    "--eps",
    type=click.FloatRange(0, 1),
    default=0.15,
    show_default=True,
    help="What people may be better by and the judge is preferred all the same: 0.2 for experts, 0.1 for crowds.",
)
@click.option(
    "--agreement",
    type=click.FloatRange(0.5, 0.999),
    default=0.9,
    show_default=True,
    help="How often a judge is to agree with people where it decides alone.",
)
@click.option(
    "--certainty", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, help="How sure that is to be."
)
@click.option(
    "--within",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="A judge agrees where its score is within this share of the scale of people's median.",
)
@options.reading
@options.store
@options.form
def advise_command(exam: str, **given: Any) -> None:
    """What a study says about each judge. Needs only the store.

    May this judge replace people? How many more marks are worth it? And where should a person be asked?
    """
    from ..scoring.escalation import Wanted
    from ..study.escalation import advice
    from ..tables.advice import advice_csv, advice_tables
    from ..tables.render import show

    wanted = Wanted(**{name: given[name] for name in ("score", "eps", "agreement", "certainty", "within")})
    how = {name: given[name] for name in ("store", "reading", "judges")}
    found = advice(exam, given["study"], wanted=wanted, **how)
    show(
        given["form"],
        lambda: [table for each in found for table in advice_tables(each)],
        body=lambda: [each.to_json() for each in found],
        records=lambda: advice_csv(found),
    )
