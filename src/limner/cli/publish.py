"""For others to see: table, plot, report, reproduce."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import complete, options
from .reproduce import reproduce_command as reproduce_command
from .say import say

if TYPE_CHECKING:
    from ..report.tables.model import Table

ALONE = {"by": ("categories", "heatmap", "people"), "question": ("drawings",), "data": ("data",)}
"""Options of `plot` that only some plots have."""


@click.command("table", cls=options.Sectioned)
@click.argument("name", required=False, metavar="[EXAM:TABLE]", shell_complete=complete.tables)
@options.painters
@options.without
@options.judges
@options.asked
@options.on
@options.reading
@options.store
@click.option("--exam", metavar="NAME", help="The exam's name in the store, if it has several exams of this kind.")
@click.option("--published/--no-published", default=True, show_default=True, help="Show the paper's figures.")
@click.option("--intervals/--no-intervals", default=True, show_default=True, help="Show intervals.")
@click.option("--study", metavar="NAME", help="Compare judges with the people of this study.")
@click.option("--section", metavar="TITLE", help="Only this section of a table that has sections, such as Biology.")
@click.option(
    "--format", "form", type=click.Choice(["text", "md", "csv", "latex", "html"]),
    help="By default chosen by the ending of --output, otherwise text.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def table_command(name: str | None, **given: Any) -> None:
    """Show a table of a benchmark's paper: the published figures, and beside them those of your store.

    Without a name it lists the tables.
    """
    from .. import api
    from ..report.tables.paper import find, known, wrong

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
    choice = {key: given[key] for key in ("published", "intervals", "reading", "exam", "section", "study")}
    # A store nobody named need not be there.
    which = {"store": given["store"] if named else None, "on": given["on"], **options.make_which(given)}
    table = api.table(name, **choice, **which)
    _write(table, given["form"], given["output"])
    if all(row.published for sheet in table.flat for row in sheet.rows()):
        rest = (
            "published figures only" if any(True for sheet in table.flat for _ in sheet.rows()) else "nothing to show"
        )
        say(f"limner: {given['store']} has nothing marked for {layout.key}; {rest}", err=True)


def _write(table: Table, form: str | None, output: Path | None) -> None:
    from ..report.tables.render import SUFFIXES, rendered, show

    if output is None:
        show(form or "text", lambda: [table])
        return
    form = form or SUFFIXES.get(output.suffix.lower())
    if form is None:
        raise click.UsageError(f"-o {output}: say --format, or end the name in {', '.join(SUFFIXES)}")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(rendered(table, form, page=True), encoding="utf-8")


@click.command("plot", cls=options.Sectioned)
@click.argument("name", required=False, metavar="[NAME")
@click.argument("exams", nargs=-1, metavar="EXAM…]", shell_complete=complete.exams)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="The file to write; its name ends in .svg, .pdf or .png.",
)  # fmt: skip
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME[?ARG=VALUE]",
    help="The judge to show. Repeatable for `judges` and `by-judge`.",
)
@options.asked
@options.on
@options.reading
@click.option("--score", metavar="NAME", help="The score to draw; by default the first that most painters have.")
@click.option("--by", metavar="TAG", help="The tag whose values are the categories; by default as in the exam's paper.")
@click.option(
    "--data", type=options.FOLDER, metavar="DIR", help="Of `data`: the exam's data folder, if not the store's."
)
@click.option("--question", metavar="ID", help="Of `drawings`: the question; by default the first that all have.")
@options.painters
@options.without
@click.option(
    "--width", type=click.Choice(["single", "double"]), default="double", show_default=True,
    help="One column of a paper (3.3 inches) or both (7).",
)  # fmt: skip
@options.store
def plot_command(name: str | None, exams: tuple[str, ...], **given: Any) -> None:
    """Draw a plot of an exam's scores for print, several exams below each other. Without a name, list all plots.

    Needs only the store. Painters are compared on the questions that all of them have; a line below the plot says
    who judged, by which reading, and on how many questions.
    """
    from ..report.plots import PlotChoice, find, known, plot

    if name is None:
        plots = known()
        width = max(map(len, plots))
        for key, each in plots.items():
            say(f"{key:{width}}  {each.about}" + (f" ({each.only} only)" if each.only else ""))
        return
    find(name)
    if not exams:
        raise click.UsageError(f"name the exam: limner plot {name} EXAM -o FILE.pdf")
    if given["output"] is None:
        raise click.UsageError("name the file to write: -o FILE.svg, FILE.pdf or FILE.png")
    which = {key: given[key] for key in ("reading", "score", "store", "by", "question", "data")}
    which |= {key: value for key, value in options.make_which(given).items() if key != "constants"}
    which["on"] = given["on"]
    for option, having in ALONE.items():
        if given[option] and name not in having:
            raise click.UsageError(f"--{option} goes with {' and '.join(having)}")
    plot(name, exams, given["output"], PlotChoice(**which), given["width"])
    say(f"{given['output']}: {name} of {', '.join(exams)}")


@click.command("report", cls=options.Sectioned)
@click.argument("exams", nargs=-1, metavar="[EXAM]...", shell_complete=complete.exams)
@click.option("-o", "--output", required=True, type=options.FOLDER, metavar="DIR", help="The folder for the site.")
@options.judges
@options.without
@options.asked
@options.on
@options.reading
@click.option("--no-images", is_flag=True, help="Only small pictures: a smaller site, no drawings in full size.")
@click.option(
    "--max-side", type=click.IntRange(320, 8192), metavar="PIXELS", help="Longest side of full-size pictures."
)
@options.store
def report_command(exams: tuple[str, ...], output: Path, no_images: bool, **given: Any) -> None:
    """Build a site of static pages from a store; all its exams by default.

    Leaderboards, painters, every question with all drawings and marks, a gallery, differences, failures. It opens from
    disk, without a server or a network. Run it again at any time, also while a run goes on: existing pictures are
    used again.
    """
    from ..report.site import build

    loud = sys.stderr.isatty()

    def watch(words: str) -> None:
        if loud:
            say(words, err=True, nl=False, over=True)

    built = build(
        output,
        exams,
        store=given["store"],
        on=given["on"],
        reading=given["reading"],
        images=not no_images,
        max_side=given["max_side"],
        watch=watch,
        **options.make_which(given),
    )
    if loud:
        say(err=True, nl=False, over=True)
    for image, why in list(built.unshown.items())[:5]:
        say(f"image {image[:12]} cannot be shown: {why}", err=True)
    if len(built.unshown) > 5:
        say(f"and {len(built.unshown) - 5} more images cannot be shown", err=True)
    for said in built.broken:
        say(f"limner: {said}", err=True)
    counts = {"exam": built.exams, "drawing": built.drawings, "new picture": built.pictures}
    told = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
    say(f"{built.index}: {told}, {built.seconds:.1f} s")
