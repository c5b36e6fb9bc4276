"""What `limner agree` shows beside marks: choices between two drawings, weights fitted to people."""

from __future__ import annotations

from typing import Any

import click

from . import options

hooks = options.together(
    click.option("--pairs", is_flag=True, help="Instead: who wins where two drawings were chosen between."),
    click.option("--weights", is_flag=True, help="Instead: weights of the exam's dimensions, fitted to people."),
    click.option("--train", metavar="A,B", help="Of --weights: fit on these raters, show on the others."),
)


def shown_instead(exam: str, given: dict[str, Any]) -> bool:
    """Show choices or weights where they are asked for; whether that was so."""
    if given["train"] and not given["weights"]:
        raise click.UsageError("--train goes with --weights")
    if given["pairs"] and given["weights"]:
        raise click.UsageError("--pairs and --weights are two things: give one of them")
    if given["pairs"]:
        _pairs(exam, given)
    elif given["weights"]:
        _weights(exam, given)
    return bool(given["pairs"] or given["weights"])


def _pairs(exam: str, given: dict[str, Any]) -> None:
    from ..report.tables.people import preference_tables, preferences_csv
    from ..report.tables.render import show
    from ..scoring.preferences import preferences

    found = preferences(
        exam,
        study=given.get("study"),
        judges=given["judges"],
        painters=given["painters"],
        without=given["without"],
        store=given["store"],
    )
    show(
        given["form"],
        lambda: preference_tables(found),
        body=lambda: [each.to_json() for each in found],
        records=lambda: preferences_csv(found),
    )


def _weights(exam: str, given: dict[str, Any]) -> None:
    from ..report.tables.people import weight_tables, weights_csv
    from ..report.tables.render import show
    from ..scoring.weights import fitted_weights

    found = fitted_weights(
        exam,
        study=given.get("study"),
        train=[name.strip() for name in (given["train"] or "").split(",") if name.strip()],
        score=given["score"],
        reading=given["reading"],
        store=given["store"],
        painters=given["painters"],
        without=given["without"],
        selection=options.make_selection(given),
    )
    show(
        given["form"],
        lambda: weight_tables(found),
        body=found.to_json,
        records=lambda: weights_csv(found),
    )
