"""What the marks say: scores, compare, agree, show, export."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from . import complete, options, running
from .say import say, say_failures


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


hooks = options.together(
    click.option("--pairs", is_flag=True, help="Instead: who wins where two drawings were chosen between."),
    click.option("--weights", is_flag=True, help="Instead: weights of the exam's dimensions, fitted to people."),
    click.option("--train", metavar="A,B", help="Of --weights: fit on these raters, show on the others."),
)


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
@hooks
@options.store
@options.form
def agree_command(exam: str, **given: Any) -> None:
    """Compare judges, people and metrics on the same drawings: do they give the same marks, scores and order?

    Needs only the store. A judge that was asked in several ways, such as AIBench's single and batched, counts as
    several judges. Shows how far judges agree on marks, on scores and on the order of painters, how steady each
    judge is over repeats, and what an image costs in dollars and seconds. If people took part in a study, each judge
    is compared with them, beside how far they agree with each other.
    """
    if shown_instead(exam, given):
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
        rows = list(export_rows(exams.name_of(exam), kind.protocol, groups, given["reading"]))
        write_rows(rows, form, output)
        if images is not None:
            say(f"{write_images(groups, store.blobs, images)} images in {images}", err=True)


@click.command("modes")
@options.exam
@click.option("--model", required=True, metavar="PROVIDER/MODEL", help="The chat model that sorts, or replay/FILE.")
@click.option("--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="Sent with each call. Repeatable.")
@click.option("--prompts", type=options.FOLDER, metavar="DIR", help="Folder with your own wording.")
@options.painters
@options.without
@options.judges
@options.asked
@options.on
@options.reading
@options.selection
@options.store
@running.how_without_purse
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Also draw the shares; the file's name ends in .svg, .pdf or .png.",
)  # fmt: skip
def modes_command(exam: str, **given: Any) -> None:
    """Let a chat model sort what painters got wrong into the exam's modes of failure, and count them.

    It sees each drawing once, with the questions that were answered wrongly about it. What was sorted before costs
    nothing; run it again to resume. --dry-run says what it would cost.
    """
    from .. import api
    from ..core import settings
    from ..report.tables.analyses import count_modes, modes_table
    from ..report.tables.costs import estimate_table
    from ..report.tables.render import show
    from ..store.store import open_store

    with open_store(given["store"]) as store:
        sorting = api.sorting(
            exam,
            store,
            model=given["model"],
            args=options.typed(given["model_args"], "--model-arg"),
            prompts=given["prompts"],
            reading=given["reading"],
            on=given["on"],
            selection=options.make_selection(given),
            **options.make_which(given),
        )
        if given["dry_run"]:
            found = sorting.sorter.estimate(sorting.drawings, settings.load(), given["retry_failed"])
            questions = len({one.question.id for one in sorting.drawings})
            form = "json" if given["as_json"] else "text"
            show(form, lambda: [estimate_table(exam, questions, [found])], body=found.to_json)
            return
        with running.shown() as watch:
            how = {name: given[name] for name in ("budget", "concurrency", "retry_failed")}
            drawings, progress = sorting.sorter.sort(sorting.drawings, limits=sorting.limits, watch=watch, **how)
    counts = count_modes(sorting.sorter.modes, sorting.asked, drawings)
    form = "json" if given["as_json"] else "text"
    body = {"exam": exam, "model": given["model"], "judge": sorting.judge, "spent": round(progress.spent, 6),
            "unpriced_calls": progress.unpriced, "painters": [one.to_json() for one in counts]}  # fmt: skip
    title = f"{exam} · judge {sorting.judge} · wrong answers by mode, sorted by {sorting.sorter.model.name}"
    show(form, lambda: [modes_table(title, sorting.sorter.modes, counts, sorting.notes)], body=lambda: body)
    if given["output"] is not None:
        from ..report.plots.counts import plot_modes

        caption = f"{exam} · judge {sorting.judge} · sorted by {sorting.sorter.model.name}"
        plot_modes(sorting.sorter.modes, counts, caption, given["output"])
    say_failures(progress)
    sys.exit(3 if progress.failed else 0)


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
