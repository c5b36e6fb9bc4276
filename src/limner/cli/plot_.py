"""`limner plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import options


@click.command("plot")
@click.argument("name", required=False, metavar="[NAME")
@click.argument("exams", nargs=-1, metavar="EXAM…]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write here; the name ends in .svg, .pdf or .png.",
)  # fmt: skip
@click.option(
    "--judge", "judges", multiple=True, metavar="NAME[?ARG=VALUE]", help="Whose marks. Repeatable for `judges`."
)
@options.asked
@options.on
@options.reading
@click.option("--score", metavar="NAME", help="This score; by default the first that most painters have.")
@click.option("--by", metavar="TAG", help="The categories; by default those of the exam's paper.")
@options.painters
@options.without
@click.option(
    "--width", type=click.Choice(["single", "double"]), default="double", show_default=True,
    help="One column of a paper (3.3 inches) or both (7).",
)  # fmt: skip
@options.store
def command(name: str | None, exams: tuple[str, ...], **given: Any) -> None:
    """Draw a plot of an exam's scores for print; several exams stand below each other. Without a name: list them.

    Needs the store alone. Painters are compared on the questions that all of them have; a line below the plot says
    who judged, by which reading, and on how many questions.
    """
    from ..report.plots import Choice, find, known, plot

    if name is None:
        plots = known()
        width = max(map(len, plots))
        for key, each in plots.items():
            click.echo(f"{key:{width}}  {each.about}" + (f" ({each.only} only)" if each.only else ""))
        return
    find(name)
    if not exams:
        raise click.UsageError(f"name the exam: limner plot {name} EXAM -o FILE.pdf")
    if given["output"] is None:
        raise click.UsageError("say where to: -o FILE.svg, FILE.pdf or FILE.png")
    which = {key: given[key] for key in ("reading", "score", "store", "by")}
    which |= {key: value for key, value in options.make_which(given).items() if key != "constants"}
    which["on"] = options.make_on(given)
    if given["by"] and name not in ("categories", "heatmap"):
        raise click.UsageError("--by goes with categories and heatmap")
    plot(name, exams, given["output"], Choice(**which), given["width"])
    click.echo(f"{given['output']}: {name} of {', '.join(exams)}")
