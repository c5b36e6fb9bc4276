"""The command that examines judges: examine-judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from . import options, running
from .say import say, say_failures


@click.command("examine-judge", cls=options.SectionedCommand)
@click.argument("judge")
@click.option("--exam", required=True, metavar="EXAM", help="The exam whose references are used.")
@click.option("--again", is_flag=True, help="Repeat the gold set of its certificate: has the judge drifted?")
@click.option("--questions", type=click.IntRange(2), help="The number of questions.  [default: 50; 20 with --quick]")
@click.option("--quick", is_flag=True, help="Only what the tests need most, about 200 markings.")
@click.option("--seed", default=0, show_default=True, help="Seed of the choice of questions and places.")
@click.option("--detail", is_flag=True, help="Also print what was seen at each dose of each fault.")
@options.judge_settings
@options.data
@options.selection
@options.store
@running.run_options_without_purse
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.html",
    help="Also write the certificate as a page, with a picture of each fault and the answers.",
)  # fmt: skip
def examine_judge_command(judge: str, **given: Any) -> None:
    """Examine JUDGE on references with faults of known effect, and store its certificate.

    Stored replies cost nothing: run it again to resume. --dry-run reads the references and shows what the rest would
    cost, and how small a fault of the judge each test would find. --again repeats a gold set, and a sequential test
    shows whether the judge has drifted; for a retired judge, its successor is examined.
    """
    from ..certify.certification import DEFAULT_QUESTIONS, QUICK_QUESTIONS, certify, open_judge_exam, rewatch
    from ..certify.planted import power
    from ..core import settings
    from ..report.tables.certificates import certificate_tables, drift_table, power_table
    from ..report.tables.render import show
    from ..report.tables.status import estimate_table
    from ..store.store import open_or_empty, open_store

    form = given["form"]
    asking = options.make_asking({**given, "judges": (judge,)})
    how = {name: given[name] for name in ("budget", "concurrency", "retry_failed")}
    opening = open_or_empty(given["store"]) if given["dry_run"] else open_store(given["store"], create=True)
    with opening as store:
        if given["again"]:
            again = rewatch(judge, given["exam"], store, asking, given["data"])
            if given["dry_run"]:
                estimate = again.estimate(given["retry_failed"])
                count = len({trial["question"] for trial in again.baseline.body["gold"]})
                show(form, lambda: [estimate_table(given["exam"], count, [estimate])], body=estimate.to_json)
                return
            with running.show_progress() as watch:
                row, progress = again.ask(watch, **how)
            show(form, lambda: [drift_table(row)], body=lambda: {"date": row.day, **row.body})
        else:
            opened = open_judge_exam(judge, given["exam"], store, asking, given["data"], options.make_selection(given))
            if not given["dry_run"]:
                opened.examination.check(given["budget"])
            extent = {name: given[name] for name in ("seed", "quick")}
            questions = given["questions"] or (QUICK_QUESTIONS if given["quick"] else DEFAULT_QUESTIONS)
            steps = opened.trials(questions, **extent)
            if given["dry_run"]:
                estimate = opened.examination.estimate(steps, settings.load(), given["retry_failed"])
                tests = power(steps, opened.protocol)
                count = min(questions, len(opened.exam.questions))
                show(
                    form, lambda: [estimate_table(given["exam"], count, [estimate]), power_table(tests)],
                    body=lambda: {**estimate.to_json(), "power": [test.to_json() for test in tests]},
                )  # fmt: skip
                return
            with running.show_progress() as watch:
                row, progress = certify(opened, steps, selected=questions, watch=watch, **extent, **how)
            show(form, lambda: certificate_tables(row, given["detail"]), body=lambda: {"date": row.day, **row.body})
            if given["output"] is not None:
                from ..report.site.single_page import certificate_page

                given["output"].write_text(certificate_page(row, store.blobs), encoding="utf-8")
                say(f"written: {given['output']}", err=True)
    say_failures(progress)
    sys.exit(3 if progress.failed else 0)
