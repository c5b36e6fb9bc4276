"""`limner compare`."""

from __future__ import annotations

from typing import Any

import click

from . import options, sheets


@click.command("compare")
@click.argument("exam", required=False)
@click.option("--exams", metavar="A,B,…", help="Instead of EXAM: how alike these exams order the painters they share.")
@options.painters
@options.without
@options.judges
@options.on
@click.option("--score", metavar="NAME", help="By this score; by default the first that is known for all painters.")
@click.option("--by", metavar="TAG", help="One comparison for each value of this tag.")
@click.option("--gap", type=float, metavar="X", help="Say how many questions tell a gap of X; by default the one seen.")
@options.reading
@options.asked
@options.selection
@options.store
@sheets.form
def command(exam: str | None, **given: Any) -> None:
    """Compare painters on the questions that all of them have: who is better, and how sure that is.

    Needs the store alone. Under each judge, in each way it was asked, every painter gets its place with its
    uncertainty, and every two painters their difference with a test. With --exams it shows instead whether exams put
    painters in the same order.
    """
    from .. import compare
    from ..report.comparison import across_csv, across_sheets, comparison_csv, comparison_sheets

    if (exam is None) == (given["exams"] is None):
        raise click.UsageError("name one EXAM, or several with --exams A,B")
    how = {name: given[name] for name in ("reading", "score", "store")}
    if exam is None:
        _refuse(given)
        names = [name.strip() for name in given["exams"].split(",") if name.strip()]
        across = compare.exams(names, painters=given["painters"], judges=given["judges"], **how)
        sheets.show(given["form"], across.to_json, lambda: across_csv(across), lambda: across_sheets(across))
        return
    found = compare.painters(
        exam,
        by=given["by"],
        gap=given["gap"],
        on=options.make_on(given),
        selection=options.make_selection(given),
        **how,
        **options.make_which(given),
    )
    if not found and given["form"] in ("text", "md"):
        click.echo("nothing is marked yet; `limner run` draws and marks")
        return
    sheets.show(
        given["form"],
        lambda: [comparison.to_json() for comparison in found],
        lambda: comparison_csv(found),
        lambda: comparison_sheets(found),
    )


def _refuse(given: dict[str, Any]) -> None:
    """Options that say nothing about several exams at once."""
    for name in ("by", "gap", "variant", "wording", "told", "without", "on", "subset", "ids", "where", "limit"):
        if given[name]:
            raise click.UsageError(f"{'-O' if name == 'told' else '--' + name} goes with one EXAM, not with --exams")
