"""Why drawings are wrong: modes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from . import options, running
from .say import say_failures


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
@running.how
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
