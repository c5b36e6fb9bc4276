"""Commands that evaluate marks: scores, compare, agree, show, export, modes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import complete, options, running, say, say_failures, show

if TYPE_CHECKING:
    from ..report.tables.comparison import Comparisons, ExamComparison
    from ..report.tables.model import Table
    from ..store import Store


@click.command("scores", cls=options.SectionedCommand)
@options.exam
@options.marks
@click.option(
    "--sort",
    metavar="NAME",
    help="Rank rows by this score, or order them by name, coverage or cost; by default by the main score.",
)
@click.option("--by", multiple=True, metavar="TAG", help="Also show scores by this tag, or by dimension. Repeatable.")
@click.option("--score", metavar="NAME", help="With --by: show this score; by default the main score.")
@click.option("--detail", is_flag=True, help="With --by: show all scores, in a table for each painter.")
@click.option("--analyses", is_flag=True, help="Also show the other analyses of the exam's paper.")
@options.selection
@options.exclude_flagged
@click.option("--study", metavar="NAME", help="Also show scores corrected with the people's marks of this study.")
@options.notes
@options.store
@options.form
def scores_command(exam: str, **given: Any) -> None:
    """Show the scores in a store. Needs only the store."""
    from .. import api

    how = {name: given[name] for name in ("by", "store", "on", "sort", "study")}
    standings = api.scores(exam, **how, **options.group_filters(given))

    def tables() -> list[Table]:
        analyses = standings.analyses() if given["analyses"] else []
        return [*standings.tables(given["score"], given["detail"]), *analyses]

    show(given["form"], tables, body=standings.to_json, records=standings.to_csv, notes=given["notes"])


@click.command("compare", cls=options.SectionedCommand)
@click.argument("exam", required=False, shell_complete=complete.exams)
@click.option("--exams", metavar="A,B,…", help="Instead of EXAM: do these exams rank painters in the same order?")
@options.marks
@click.option("--score", metavar="NAME", help="Compare by this score; by default the first that all painters have.")
@click.option("--by", metavar="TAG", help="One comparison for each value of this tag.")
@click.option("--gap", type=float, metavar="X", help="Show how many questions would detect a difference of X.")
@options.selection
@options.notes
@options.store
@options.form
def compare_command(exam: str | None, **given: Any) -> None:
    """Compare painters on the questions that all of them have, and show how certain the differences are.

    Needs only the store. For each judge, and each way it was asked, shows every painter's rank with its uncertainty,
    and the difference between every two painters with a test. With --exams, shows instead whether exams rank painters
    in the same order.
    """
    from .. import api

    if (exam is None) == (given["exams"] is None):
        raise click.UsageError("name one EXAM, or several with --exams A,B")
    result: Comparisons | ExamComparison
    if exam is None:
        _refuse_single_exam_options(given)
        names = [name.strip() for name in given["exams"].split(",") if name.strip()]
        how = {name: given[name] for name in ("reading", "score", "store", "painters", "judges")}
        result = api.compare(names, **how)
    else:
        how = {name: given[name] for name in ("score", "store", "by", "gap", "on")}
        result = api.compare(exam, **how, **options.group_filters(given))
    show(given["form"], result.tables, body=result.to_json, records=result.to_csv, notes=given["notes"])


def _refuse_single_exam_options(given: dict[str, Any]) -> None:
    """Refuse options that do not apply to several exams at once."""
    used = {**given, "-O": given["score_options"], "on": given["on"] != "common"}
    for name in ("by", "gap", "variant", "wording", "-O", "without", "on", "subset", "ids", "where", "limit"):
        if used[name]:
            raise click.UsageError(f"{name if name == '-O' else '--' + name} applies to one EXAM, not to --exams")


@click.command("agree", cls=options.SectionedCommand)
@options.exam
@options.only_painters
@options.without
@click.option(
    "--judge", "--judges", "judges", multiple=True, metavar="NAME[,NAME…]",
    help="Only these: a judge ('openai/gpt-6.1-sol?reasoning_effort=low' only as called with this argument), a metric, "
    "person/NAME, or people/STUDY for all people of a study together. Repeatable.",
)  # fmt: skip
@click.option("--study", metavar="NAME", help="Only the drawings and people of this study, weighted by its design.")
@click.option("--score", metavar="NAME", help="Compare by this score; by default the first that all judges decide.")
@click.option(
    "--by",
    multiple=True,
    metavar="TAG",
    help="Also show numbers for each value of this tag, or for each painter. Repeatable.",
)
@click.option("--detail", is_flag=True, help="All numbers, and how single people deviate.")
@options.reading
@options.mark_filters
@options.selection
@click.option("--pairs", is_flag=True, help="Show instead which painter wins in choices between two drawings.")
@click.option("--weights", is_flag=True, help="Show instead weights of the exam's dimensions, fitted to people.")
@click.option("--train", metavar="A,B", help="With --weights: fit on these raters, test on the others.")
@options.store
@options.form
def agree_command(exam: str, **given: Any) -> None:
    """Compare judges, people and metrics on the same drawings.

    Needs only the store. A judge that was asked in several ways, such as AIBench's single and batched, counts as
    several judges. Shows how far judges agree on marks, scores and the order of painters, how consistent each judge is
    over repeats, and what an image costs in dollars and seconds. If a study has people's marks, each judge is compared
    with them, and they with each other.
    """
    given["judges"] = words = _evaluator_names(exam, given["judges"], given["store"])
    if given["train"] and not given["weights"]:
        raise click.UsageError("--train needs --weights")
    if given["pairs"] and given["weights"]:
        raise click.UsageError("give either --pairs or --weights, not both")
    if given["pairs"] or given["weights"]:
        return (_pairs if given["pairs"] else _weights)(exam, given)
    from .. import api
    from ..report.tables.agreement import summary_table

    how = {name: given[name] for name in ("score", "store", "study", "by")}
    agreement = api.agree(exam, **how, **options.group_filters(given))
    single = any(word.startswith("person/") for word in words)
    short = given["form"] == "table" and not (given["detail"] or given["by"] or single)
    tables = (lambda: [summary_table(agreement)]) if short else agreement.tables
    show(given["form"], tables, body=agreement.to_json, records=agreement.to_csv)


def _evaluator_names(exam: str, words: tuple[str, ...], store: str) -> list[str]:
    """Return the names given with ``--judge``: lists split at commas, ``people`` replaced by each study's people."""
    if not words:
        return []
    from ..scoring import evaluators_of
    from ..scoring.compare.judges import people_names
    from ..scoring.groups import stored_exam
    from ..scoring.preferences import PEOPLE
    from ..store.store import open_store

    with open_store(store) as opened:
        evaluators = evaluators_of(opened, stored_exam(exam, opened).name)
    people = people_names(evaluators)
    known = {name for each in evaluators for name in (each.judge, each.label)} | people
    split = [name for word in words for name in ([word] if word in known else word.split(","))]
    return [name for word in split for name in (sorted(people) if word == PEOPLE and people else [word])]


@click.command("show")
@options.exam
@click.argument("id")
@options.only_painters
@options.judges
@options.reading
@options.mark_filters
@options.store
@options.table_or_json
def show_command(exam: str, id: str, form: str, **given: Any) -> None:
    """Show one question: its prompt, every drawing, every mark with its reason. Needs only the store."""
    from ..report.tables.question import describe_question, print_question

    body = describe_question(exam, id, store=given["store"], **options.group_filters(given))
    if form == "json":
        say(json.dumps(body, ensure_ascii=False, indent=2))
    else:
        print_question(body)


@click.command("export", cls=options.SectionedCommand)
@options.exam
@options.only_painters
@options.without
@options.judges
@options.reading
@options.mark_filters
@options.selection
@options.exclude_flagged
@options.store
@options.form_option("jsonl", "csv", "parquet", default="jsonl", help="parquet needs `pip install 'limner[parquet]'`.")
@click.option("-o", "--output", type=options.FOLDER, metavar="FILE", help="Standard output by default.")
@click.option("--images", type=options.FOLDER, metavar="DIR", help="Also write the drawings as DIR/PAINTER/ID.png.")
def export_command(exam: str, form: str, output: Path | None, images: Path | None, **given: Any) -> None:
    """Export one row per question, painter and judge. Needs only the store.

    With --images, unmarked drawings are exported too; their rows have no judge.
    """
    from .. import api, exams
    from ..core.errors import need_polars
    from ..report.tables.export import export_rows, write_images, write_rows
    from ..store.store import open_store

    if form == "parquet":
        need_polars("--format parquet")
    with open_store(given["store"]) as store:
        kind, groups = api.groups(exam, store=store, unmarked=images is not None, **options.group_filters(given))
        rows = list(export_rows(exams.stored_name(exam), kind.protocol, groups, given["reading"]))
        write_rows(rows, form, output)
        if images is not None:
            say(f"{write_images(groups, store.blobs, images)} images in {images}", err=True)


@click.command("modes", cls=options.SectionedCommand)
@options.exam
@click.option("--model", required=True, metavar="PROVIDER/MODEL", help="The chat model that sorts, or replay/FILE.")
@click.option(
    "--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="An argument of each call. Repeatable."
)
@options.own_prompts
@options.marks
@options.selection
@options.open_store
@running.run_options_without_purse
@click.option(
    "-o", "--output", type=options.FILE, metavar="FILE",
    help="Also plot the shares; the file name must end in .svg, .pdf or .png.",
)  # fmt: skip
def modes_command(exam: str, store: Store, **given: Any) -> None:
    """Sort painters' errors into the exam's failure modes with a chat model, and count them.

    The model sees each drawing once, with the questions that were answered wrongly about it. Stored replies cost
    nothing: run it again to resume. --dry-run shows what it would cost.
    """
    from .. import api
    from ..core import settings
    from ..report.tables.analyses import count_modes, modes_table

    how = {name: given[name] for name in ("model", "prompts", "on")}
    args = options.parse_values(given["model_args"], "--model-arg")
    sorter = api.mode_sorter(exam, store, args=args, **how, **options.group_filters(given))
    if given["dry_run"]:
        estimate = sorter.estimate(settings.load(), given["retry_failed"])
        questions = len({drawing.question.id for drawing in sorter.drawings})
        return running.show_estimate(given["form"], exam, questions, estimate)
    with running.show_progress() as watch:
        how = {name: given[name] for name in ("budget", "concurrency", "retry_failed")}
        drawings, progress = sorter.sort(watch=watch, **how)
    counts = count_modes(sorter.modes, sorter.asked, drawings)
    body = {"exam": exam, "model": given["model"], "judge": sorter.judge, "spent": round(progress.spent, 6),
            "unpriced_calls": progress.unpriced, "painters": [painter.to_json() for painter in counts]}  # fmt: skip
    title = f"{exam} · judge {sorter.judge} · wrong answers by mode, sorted by {sorter.model.name}"
    show(given["form"], lambda: [modes_table(title, sorter.modes, counts, sorter.notes)], body=lambda: body)
    if given["output"] is not None:
        from ..report.plots.rows import plot_modes

        caption = f"{exam} · judge {sorter.judge} · sorted by {sorter.model.name}"
        plot_modes(sorter.modes, counts, caption, given["output"])
    say_failures(progress)
    sys.exit(running.exit_code(progress))


def _pairs(exam: str, given: dict[str, Any]) -> None:
    from ..report.tables.people import preference_tables, preferences_csv
    from ..scoring.preferences import preferences

    choices = preferences(exam, **{name: given[name] for name in ("study", "judges", "painters", "without", "store")})
    body = [choice.to_json() for choice in choices]
    show(given["form"], lambda: preference_tables(choices), body=lambda: body, records=lambda: preferences_csv(choices))


def _weights(exam: str, given: dict[str, Any]) -> None:
    from ..report.tables.people import weight_tables, weights_csv
    from ..scoring.weights import fitted_weights

    train = [name.strip() for name in (given["train"] or "").split(",") if name.strip()]
    how = {name: given[name] for name in ("study", "score", "reading", "store", "painters", "without")}
    weights = fitted_weights(exam, train=train, selection=options.make_selection(given), **how)
    show(given["form"], lambda: weight_tables(weights), body=weights.to_json, records=lambda: weights_csv(weights))
