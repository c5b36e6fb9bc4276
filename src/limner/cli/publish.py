"""Commands that publish results: table, plot, report, reproduce."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import LimnerError, UsageError
from . import complete, options, running, say, say_failures, show

if TYPE_CHECKING:
    from ..report.reproduce import Checklist, Reproduction
    from ..report.reproduce.checklist import RunOutcome
    from ..report.reproduce.steps import StepState
    from ..report.tables.model import Table
    from ..running.progress import Progress
    from ..store import Store

PLOT_OPTIONS = {
    "by": ("categories", "heatmap", "people"),
    "question": ("drawings",),
    "data": ("data",),
    "study": ("people",),
}
"""Options of `limner plot` that only some plots have, with those plots."""


@click.command("table", cls=options.SectionedCommand)
@click.argument("name", required=False, metavar="[EXAM:TABLE]", shell_complete=complete.tables)
@options.marks
@options.store
@click.option("--exam", metavar="NAME", help="The exam's name in the store, if it has several exams of this kind.")
@click.option("--published/--no-published", default=True, show_default=True, help="Show the paper's figures.")
@click.option("--intervals/--no-intervals", default=True, show_default=True, help="Show intervals.")
@click.option("--study", metavar="NAME", help="Compare judges with the people of this study.")
@click.option("--section", metavar="TITLE", help="Only this section of a table with sections, such as Biology.")
@options.notes
@click.option(
    "--full", is_flag=True, help="Show everything: the release's leaderboards, intervals in all columns, all notes."
)
@options.form_option(
    "table", "json", "csv", "md", "latex", "html", default=None,
    help="By default the format of --output, otherwise table.",
)  # fmt: skip
@click.option("-o", "--output", type=options.FILE, help="Write to this file.")
def table_command(name: str | None, **given: Any) -> None:
    """Show a table of a benchmark's paper: the published figures with those of your store beside them.

    Without a name, list the tables.
    """
    from .. import api
    from ..report.paper import find, known, wrong

    if name is None:
        width = max(map(len, known()))
        for key, layout in known().items():
            say(f"{key:{width}}  {layout.title}")
        for error in wrong().values():
            say(f"limner: {error}", err=True)
        return
    layout = find(name)
    source = click.get_current_context().get_parameter_source("store")
    named = source is not click.core.ParameterSource.DEFAULT
    choice = {key: given[key] for key in ("published", "intervals", "exam", "section", "study", "full")}
    # The default store need not exist.
    which = {"store": given["store"] if named else None, "on": given["on"], **options.group_filters(given)}
    table = api.table(name, **choice, **which)
    _write(table.with_details() if given["notes"] else table, given["form"], given["output"])
    if all(row.published for sheet in table.flat for row in sheet.rows()):
        rest = "published figures only" if any(any(sheet.rows()) for sheet in table.flat) else "nothing to show"
        say(f"limner: {given['store']} has no marks for {layout.key}; {rest}", err=True)


def _write(table: Table, form: str | None, output: Path | None) -> None:
    from ..report.tables.render import SUFFIXES, rendered, show

    if output is None:
        show(form or "table", lambda: [table])
        return
    form = form or SUFFIXES.get(output.suffix.lower())
    if form is None:
        raise click.UsageError(f"-o {output}: give --format, or a file name that ends in {', '.join(SUFFIXES)}")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(rendered(table, form, page=True), encoding="utf-8")


@click.command("plot", cls=options.SectionedCommand)
@click.argument("name", required=False, metavar="[NAME")
@click.argument("exams", nargs=-1, metavar="EXAM…]", shell_complete=complete.exams)
@click.option(
    "-o", "--output", type=options.FILE, metavar="FILE",
    help="The file to write; its name must end in .svg, .pdf or .png.",
)  # fmt: skip
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME[?ARG=VALUE]",
    help="The judge to show. Repeatable for `judges` and `by-judge`.",
)
@options.mark_filters
@options.on
@options.reading
@click.option("--score", metavar="NAME", help="The score to plot; by default the first that most painters have.")
@click.option("--by", metavar="TAG", help="The tag whose values are the categories; by default as in the exam's paper.")
@click.option(
    "--data", type=options.FOLDER, metavar="DIR", help="For `data`: the exam's data folder; by default the store."
)
@click.option(
    "--question", metavar="ID", help="For `drawings`: the question; by default the first that all painters have."
)
@click.option("--study", metavar="NAME", help="For `people`: only the people of this study.")
@options.only_painters
@options.without
@click.option(
    "--width", type=click.Choice(["single", "double"]), default="double", show_default=True,
    help="One column of a paper (3.3 inches) or both (7).",
)  # fmt: skip
@options.store
def plot_command(name: str | None, exams: tuple[str, ...], **given: Any) -> None:
    """Draw a plot of an exam's scores for print, several exams below each other. Without a name, list all plots.

    Needs only the store. Painters are compared on the questions that all of them have; a line below the plot names
    the judge, the reading and the number of questions.
    """
    from ..report.plots import PlotChoice, find_plot, load_plots, plot

    if name is None:
        plots = load_plots()
        width = max(map(len, plots))
        for key, each in plots.items():
            say(f"{key:{width}}  {each.about}" + (f" ({each.only} only)" if each.only else ""))
        return
    find_plot(name)
    if not exams:
        raise click.UsageError(f"name the exam: limner plot {name} EXAM -o FILE.pdf")
    if given["output"] is None:
        raise click.UsageError("name the file to write: -o FILE.svg, FILE.pdf or FILE.png")
    which = {key: given[key] for key in ("score", "store", "by", "question", "data", "study", "on")}
    which |= {key: value for key, value in options.group_filters(given).items() if key != "constants"}
    for option, having in PLOT_OPTIONS.items():
        if given[option] and name not in having:
            raise click.UsageError(f"--{option} applies only to {' and '.join(having)}")
    plot(name, exams, given["output"], PlotChoice(**which), given["width"])
    say(f"{given['output']}: {name} of {', '.join(exams)}")


@click.command("report", cls=options.SectionedCommand)
@click.argument("exams", nargs=-1, metavar="[EXAM]...", shell_complete=complete.exams)
@click.option("-o", "--output", required=True, type=options.FOLDER, metavar="DIR", help="The folder for the site.")
@options.judges
@options.without
@options.mark_filters
@options.on
@options.reading
@click.option("--no-images", is_flag=True, help="Only small pictures, for a smaller site.")
@click.option("--open", "shown", is_flag=True, help="Open the site in a browser.")
@options.store
def report_command(exams: tuple[str, ...], output: Path, no_images: bool, shown: bool, **given: Any) -> None:
    """Build a static site from a store; all its exams by default.

    It has leaderboards, painters, every question with all drawings and marks, a gallery, differences and failures. It
    opens from disk, without a server or a network. Run it again at any time, even during a run; existing pictures are
    reused.
    """
    from ..core.plot_data import plural
    from ..report.site import build

    loud = sys.stderr.isatty()

    def watch(line: str) -> None:
        if loud:
            say(line, err=True, nl=False, over=True)

    built = build(
        output,
        exams,
        images=not no_images,
        watch=watch,
        store=given["store"],
        on=given["on"],
        **options.group_filters(given),
    )
    if loud:
        say(err=True, nl=False, over=True)
    for image, why in list(built.unshown.items())[:5]:
        say(f"image {image[:12]} cannot be shown: {why}", err=True)
    if len(built.unshown) > 5:
        say(f"and {len(built.unshown) - 5} more images cannot be shown", err=True)
    for error in built.broken:
        say(f"limner: {error}", err=True)
    counts = {"exam": built.exams, "drawing": built.drawings, "new picture": built.pictures}
    summary = ", ".join(plural(count, what) for what, count in counts.items())
    say(f"{built.index}: {summary}, {built.seconds:.1f} s")
    if shown:
        click.launch(str(built.index))


@click.command("reproduce", cls=options.SectionedCommand)
@click.argument("exam")
@click.option("--item", "items", multiple=True, metavar="NAME", help="Only this table or figure, such as 'Table 2'.")
@click.option(
    "--painter", "painters", multiple=True, metavar="MODEL[=SPEC]|[NAME=]SPEC",
    help="Only this model of the paper; MODEL=SPEC names a painter to use in its place, such as folder/PATH. Or a "
    "painter of your own, as in `limner run`. Repeatable.",
)  # fmt: skip
@click.option(
    "--painter-arg", "painter_args", multiple=True, metavar="KEY=VALUE",
    help="An option of the painters named by MODEL=SPEC, or one that a row requires, such as lora=FILE. Repeatable.",
)  # fmt: skip
@click.option(
    "-S", "strategy_options", multiple=True, metavar="ROLE=SPEC",
    help="A model to use in strategies in place of the paper's, such as planner=openai/gpt-6.1-sol. Repeatable.",
)  # fmt: skip
@click.option(
    "--judge", "judges", multiple=True, metavar="[NAME=]SPEC",
    help="A judge to use in place of the paper's; NAME=SPEC for another judge of the paper. Repeatable.",
)  # fmt: skip
@click.option(
    "--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="An argument of each call of --judge."
)
@options.measuring
@click.option(
    "--reading", type=click.Choice(["careful", "paper", "release"]),
    help="The rules that turn stored replies into marks; by default those of the paper's preset.",
)  # fmt: skip
@options.data
@options.store
@options.selection
@click.option("--run", "run_it", is_flag=True, help="Run what is missing; needs --budget or --purse.")
@running.budget
@running.purse
@running.call_options
@click.option(
    "-o", "--output", type=options.FOLDER, metavar="DIR",
    help="Write every table and figure, the site's pages and an index of them here.",
)  # fmt: skip
@click.option("--pdf", is_flag=True, help="Also print the index as a PDF with a browser; needs -o.")
@options.table_or_json
def reproduce_command(exam: str, run_it: bool, form: str, output: Path | None, pdf: bool, **given: Any) -> None:
    """Reproduce a paper: show what your store has of its tables and figures, what the rest costs, and the commands.

    Without --run nothing is called or stored. With --run every missing row is drawn and marked, one after the other;
    run it again to resume. -o writes a folder with all tables and figures, the paper's numbers beside yours.

    \b
    limner reproduce genexam --data DIR
    limner reproduce genexam --data DIR --painter 'Nano Banana Pro' --run --budget 20 -o paper
    """
    from ..store import store_exists
    from ..store.store import open_or_empty, open_store

    asked = _make_request(exam, given)
    if pdf and output is None:
        raise UsageError("--pdf prints the folder's index: name the folder with -o DIR")
    if run_it and given["budget"] is None and given["purse"] is None:
        raise UsageError("--run spends money: set a limit with --budget DOLLARS, or name a --purse")
    if not run_it and (given["budget"] is not None or given["purse"] is not None or given["retry_failed"]):
        raise UsageError("--budget, --purse and --retry-failed need --run")
    code, done = 0, None
    if run_it:
        if not store_exists(given["store"]):
            # A mistake in the arguments or the data must not leave an empty store behind.
            with open_or_empty(given["store"]) as empty:
                _make_steps(asked, empty)
        with open_store(given["store"], create=True) as store:
            done = _run(asked, store, given)
            code = done.exit_code
    with open_or_empty(given["store"]) as store:
        from ..report.reproduce import make_checklist

        checklist = make_checklist(asked, store)
        _show(checklist, done, form)
        if output is not None:
            code = max(code, _write_folder(checklist, output, pdf))
    sys.exit(code)


def _make_request(exam: str, given: dict[str, Any]) -> Reproduction:
    from ..report.reproduce import Reproduction

    words: list[str] = []
    for name in ("subset", "ids", "limit", "sample", "sample_seed"):
        words += [f"--{name.replace('_', '-')}", str(given[name])] if given[name] is not None else []
    words += [word for pair in given["where"] for word in ("--where", pair)]
    names = ("store", "data", "painters", "judges", "regions", "aesthetics", "items", "reading")
    return Reproduction(
        exam,
        **{name: given[name] for name in names},
        strategy_options=options.parse_pairs(given["strategy_options"], "-S"),
        judge_args=options.parse_values(given["judge_args"], "--judge-arg"),
        painter_args=options.parse_values(given["painter_args"], "--painter-arg"),
        selection=options.make_selection(given),
        selection_words=tuple(words),
    )


def _make_steps(asked: Reproduction, store: Store) -> Checklist:
    """Return the checklist with the steps to run.

    Raises:
        UsageError: The exam's questions are unknown.
    """
    from ..report.reproduce import make_checklist

    checklist = make_checklist(asked, store, counted=False)
    if checklist.exam is None:
        raise UsageError("; ".join(checklist.notes))
    return checklist


def _run(asked: Reproduction, store: Store, given: dict[str, Any]) -> RunOutcome:
    from ..report.reproduce.checklist import run_steps

    checklist = _make_steps(asked, store)
    with running.show_progress() as watch:

        def begin(step: StepState) -> Callable[[Progress], None]:
            say(f"{step.step.row.name}: {step.command}", err=True)
            return watch

        how = ("budget", "purse", "change_purse", "concurrency", "retry_failed")
        done = run_steps(checklist, **{name: given[name] for name in how}, begin=begin)
    for step, why in done.not_run:
        say(f"not run: {step.step.row.name}: {why}", err=True)
    say_failures(done.failures)
    if done.stopped is not None:
        say(f"limner: {done.stopped}", err=True)
    return done


def _show(checklist: Checklist, done: RunOutcome | None, form: str) -> None:
    from ..report.reproduce.document import checklist_tables, commands

    if form == "json":
        body = checklist.to_json()
        if done is not None:
            body["run"] = {
                **{name: done.total(name) for name in ("done", "stored", "failed", "asked_again", "unpriced")},
                "spent": round(done.total("spent"), 6),
                "not_run": [{"row": step.step.row.name, "why": why} for step, why in done.not_run],
                "stopped": done.stopped,
            }
        say(json.dumps(body, ensure_ascii=False, indent=2))
        return
    show("table", lambda: checklist_tables(checklist))
    for line in commands(checklist):
        say(line)


def _write_folder(checklist: Checklist, output: Path, pdf: bool) -> int:
    """Write the folder and return the exit code: 3 if the PDF could not be written."""
    from ..report.reproduce.document import write_folder, write_pdf

    page = write_folder(checklist, output)
    say(f"{page}: every table and figure of {checklist.cite}", err=True)
    try:
        if pdf:
            write_pdf(page, output / "index.pdf")
            say(str(output / "index.pdf"), err=True)
    except LimnerError as error:
        say(f"limner: {error}", err=True)
        return 3
    return 0
