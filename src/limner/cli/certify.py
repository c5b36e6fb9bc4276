"""Is a judge right? examine-judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from . import options, running
from .say import say, say_failures


@click.command("examine-judge")
@click.argument("judge")
@click.option("--exam", required=True, metavar="EXAM", help="The exam whose references it is examined on.")
@click.option("--again", is_flag=True, help="Ask the gold set of its certificate again: has it moved?")
@click.option("--questions", default=50, show_default=True, type=click.IntRange(2), help="On so many questions.")
@click.option("--seed", default=0, show_default=True, help="Another number chooses other questions and places.")
@click.option("--every-dose", is_flag=True, help="Every dose of every fault on every question; they take turns if not.")
@options.how_asked
@options.data
@options.selection
@options.store
@running.how_without_purse
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.html",
    help="Also write the certificate as a page with a picture of each fault and the answers.",
)  # fmt: skip
def examine_judge_command(judge: str, **given: Any) -> None:
    """Examine JUDGE on references with faults of known effect, and keep its certificate.

    What was asked before costs nothing; run it again to resume. --dry-run reads the references and says what the rest
    would cost. With --again a gold set is asked once more, and a sequential test says whether the judge has moved; of a
    judge that is gone, its successor is asked.
    """
    from ..certify.certification import certify, open_judge_exam, rewatch
    from ..core import settings
    from ..report.tables.certificates import certificate_tables, drift_table
    from ..report.tables.costs import estimate_table
    from ..report.tables.render import show
    from ..store.store import open_or_empty, open_store

    form = "json" if given["as_json"] else "text"
    asking = options.make_asking({**given, "judges": (judge,)})
    how = {name: given[name] for name in ("budget", "concurrency", "retry_failed")}
    place = open_or_empty(given["store"]) if given["dry_run"] else open_store(given["store"], create=True)
    with place as store:
        if given["again"]:
            again = rewatch(judge, given["exam"], store, asking, given["data"])
            if given["dry_run"]:
                estimate = again.estimate(given["retry_failed"])
                count = len({one["question"] for one in again.baseline.body["gold"]})
                show(form, lambda: [estimate_table(given["exam"], count, [estimate])], body=estimate.to_json)
                return
            with running.shown() as watch:
                row, progress = again.ask(watch, **how)
            show(form, lambda: [drift_table(row)], body=lambda: {"date": row.day, **row.body})
        else:
            found = open_judge_exam(judge, given["exam"], store, asking, given["data"], options.make_selection(given))
            if not given["dry_run"]:
                found.examination.check(given["budget"])
            steps = found.trials(given["questions"], given["seed"], given["every_dose"])
            if given["dry_run"]:
                estimate = found.examination.estimate(steps, settings.load(), given["retry_failed"])
                count = min(given["questions"], len(found.exam.questions))
                show(form, lambda: [estimate_table(given["exam"], count, [estimate])], body=estimate.to_json)
                return
            with running.shown() as watch:
                row, progress = certify(
                    found, steps, seed=given["seed"], selected=given["questions"], every_dose=given["every_dose"],
                    watch=watch, **how,
                )  # fmt: skip
            show(form, lambda: certificate_tables(row), body=lambda: {"date": row.day, **row.body})
            if given["output"] is not None:
                from ..report.site.single_page import certificate_page

                given["output"].write_text(certificate_page(row, store.blobs), encoding="utf-8")
                say(f"written: {given['output']}", err=True)
    say_failures(progress)
    sys.exit(3 if progress.failed else 0)
