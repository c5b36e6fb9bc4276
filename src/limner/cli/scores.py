"""What the marks say: scores, compare, agree, show, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from . import complete, options, preferences
from .modes import modes_command as modes_command
from .say import say


@click.command("scores", cls=options.Sectioned)
@options.exam
@options.painters
@options.without
@options.judges
@options.on
@click.option(
    "--sort",
    metavar="NAME",
    help="Order and place rows by this score, or order them by name, coverage or cost; by the main score by default.",
)
@click.option("--by", multiple=True, metavar="TAG", help="Also scores by this tag, or by dimension. Repeatable.")
@click.option("--analyses", is_flag=True, help="Also show what the exam's paper reports besides its scores.")
@options.reading
@options.asked
@options.selection
@options.exclude_flagged
@click.option("--study", metavar="NAME", help="Also scores corrected by what people marked in this study.")
@options.store
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def scores_command(exam: str, **given: Any) -> None:
    """Show the scores of a store. Needs only the store."""
    from .. import api
    from ..report.tables.render import show

    found = api.scores(
        exam,
        by=given["by"],
        reading=given["reading"],
        store=given["store"],
        on=given["on"],
        sort=given["sort"],
        study=given["study"],
        selection=options.make_selection(given),
        exclude_flagged=given["exclude_flagged"],
        **options.make_which(given),
    )
    show(
        given["form"].replace("table", "text"),
        lambda: [*found.tables(), *(found.analyses() if given["analyses"] else [])],
        body=found.to_json,
        records=found.to_csv,
    )


@click.command("compare", cls=options.Sectioned)
@click.argument("exam", required=False, shell_complete=complete.exams)
@click.option("--exams", metavar="A,B,…", help="Instead of EXAM: do these exams put painters in the same order?")
@options.painters
@options.without
@options.judges
@options.on
@click.option("--score", metavar="NAME", help="Compare by this score; by default the first known for all painters.")
@click.option("--by", metavar="TAG", help="Make one comparison for each value of this tag.")
@click.option("--gap", type=float, metavar="X", help="For the number of questions needed: a difference of X.")
@options.reading
@options.asked
@options.selection
@options.store
@options.form
def compare_command(exam: str | None, **given: Any) -> None:
    """Compare painters on the questions that all of them have: who is better, and how certain that is.

    Needs only the store. For each judge, and each way in which it was asked, it shows every painter's place with its
    uncertainty, and the difference between every two painters with a test. With --exams it shows instead whether
    exams put painters in the same order.
    """
    from .. import api
    from ..report.tables.render import show

    if (exam is None) == (given["exams"] is None):
        raise click.UsageError("name one EXAM, or several with --exams A,B")
    how = {name: given[name] for name in ("reading", "score", "store")}
    if exam is None:
        _refuse(given)
        names = [name.strip() for name in given["exams"].split(",") if name.strip()]
        across = api.compare(names, painters=given["painters"], judges=given["judges"], **how)
        show(given["form"], across.tables, body=across.to_json, records=across.to_csv)
        return
    found = api.compare(
        exam,
        by=given["by"],
        gap=given["gap"],
        on=given["on"],
        selection=options.make_selection(given),
        **how,
        **options.make_which(given),
    )
    show(given["form"], found.tables, body=found.to_json, records=found.to_csv)


def _refuse(given: dict[str, Any]) -> None:
    """Options that say nothing about several exams at once."""
    said = {**given, "on": given["on"] != "common"}
    for name in ("by", "gap", "variant", "wording", "told", "without", "on", "subset", "ids", "where", "limit"):
        if said[name]:
            raise click.UsageError(f"{'-O' if name == 'told' else '--' + name} goes with one EXAM, not with --exams")


@click.command("agree", cls=options.Sectioned)
@options.exam
@options.painters
@options.without
@click.option(
    "--judge", "--judges", "judges", multiple=True, metavar="NAME[,NAME…]",
    help="Only these: a judge ('openai/gpt-6-sol?reasoning_effort=low': only if asked with this argument), a metric, "
    "person/NAME, or people/STUDY for a study's people together. Repeatable.",
)  # fmt: skip
@click.option("--study", metavar="NAME", help="Only the drawings and people of this study, with its weights.")
@click.option("--score", metavar="NAME", help="Compare by this score; by default the first that all judges decide.")
@click.option(
    "--by",
    multiple=True,
    metavar="TAG",
    help="Also numbers for each value of this tag, or for each painter. Repeatable.",
)
@options.reading
@options.asked
@options.selection
@preferences.hooks
@options.store
@options.form
def agree_command(exam: str, **given: Any) -> None:
    """Compare judges, people and metrics on the same drawings: do they give the same marks, scores and order?

    Needs only the store. A judge that was asked in several ways, such as AIBench's single and batched, counts as
    several judges. Shows how far judges agree on marks, on scores and on the order of painters, how steady each
    judge is over repeats, and what an image costs in dollars and seconds. If people took part in a study, each judge
    is compared with them, beside how far they agree with each other.
    """
    if preferences.shown_instead(exam, given):
        return
    from .. import api
    from ..report.tables.render import show
    from ..scoring import evaluators_of
    from ..scoring.groups import stored_exam
    from ..store.store import open_store

    with open_store(given["store"]) as store:
        there = evaluators_of(store, stored_exam(exam, store).name)
        known = {name for each in there for name in (each.judge, each.label)}
        known |= {f"people/{each.setup['study']}" for each in there if "study" in each.setup}
        words = [name for word in given["judges"] for name in ([word] if word in known else word.split(","))]
        found = api.agree(
            exam,
            score=given["score"],
            reading=given["reading"],
            store=store,
            study=given["study"],
            by=given["by"],
            selection=options.make_selection(given),
            **options.make_which({**given, "judges": words}),
        )
    show(given["form"], found.tables, body=found.to_json, records=found.to_csv)


@click.command("show")
@options.exam
@click.argument("id")
@options.painters
@options.judges
@options.reading
@options.asked
@options.store
@click.option("--steps", type=options.FOLDER, metavar="FILE.png", help="Also write a picture of the steps.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show_command(exam: str, id: str, as_json: bool, **given: Any) -> None:
    """Show one question: its prompt, every drawing, every mark with its reason. Needs only the store."""
    from ..report.tables.question import describe_question, print_question

    body = describe_question(
        exam,
        id,
        store=given["store"],
        reading=given["reading"],
        **options.make_which(given),
    )
    if as_json:
        say(json.dumps(body, ensure_ascii=False, indent=2))
    else:
        print_question(body)
    if given["steps"] is not None:
        from ..report.tables.question import write_steps

        for file in write_steps(body, given["store"], given["steps"]):
            say(f"steps: {file}", err=True)


@click.command("export")
@options.exam
@options.painters
@options.without
@options.judges
@options.reading
@options.asked
@options.selection
@options.exclude_flagged
@options.store
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "parquet"]),
    default="jsonl",
    show_default=True,
    help="parquet needs `pip install 'limner[parquet]'`.",
)
@click.option("-o", "--output", type=options.FOLDER, metavar="FILE", help="Standard output by default.")
@click.option("--images", type=options.FOLDER, metavar="DIR", help="Also write the drawings as DIR/PAINTER/ID.png.")
def export_command(exam: str, form: str, output: Path | None, images: Path | None, **given: Any) -> None:
    """Write one row per question, painter and judge. Needs only the store.

    With --images, drawings that nobody has marked are written too, and have rows without a judge.
    """
    from .. import api, exams
    from ..report.tables.export import check_form, export_rows, write_images, write_rows
    from ..scoring.groups import stored_exam
    from ..store.store import open_store

    check_form(form)
    with open_store(given["store"]) as store:
        kind, groups = api.groups(
            exam,
            store=store,
            reading=given["reading"],
            selection=options.make_selection(given),
            exclude_flagged=given["exclude_flagged"],
            unmarked=images is not None,
            **options.make_which(given),
        )
        rows = list(export_rows(stored_exam(exam, store).name, exams.kind(kind).protocol, groups, given["reading"]))
        write_rows(rows, form, output)
        if images is not None:
            say(f"{write_images(groups, store.blobs, images)} images in {images}", err=True)
