"""A paper made anew: reproduce."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, running
from .say import say, say_failures

if TYPE_CHECKING:
    from ..report.reproduce import Checklist, Reproduction
    from ..report.reproduce.checklist import CarriedOut
    from ..report.reproduce.steps import StepState
    from ..running.progress import Progress
    from ..store import Store


@click.command("reproduce")
@click.argument("exam")
@click.option("--item", "items", multiple=True, metavar="NAME", help="Only this table or figure, such as 'Table 2'.")
@click.option(
    "--painter", "painters", multiple=True, metavar="MODEL[=SPEC]|[NAME=]SPEC",
    help="Only this model of the paper; MODEL=SPEC says what draws in its place, such as folder/PATH. Or a painter of "
    "your own, as in `limner run`. Repeatable.",
)  # fmt: skip
@click.option(
    "-S", "strategy_options", multiple=True, metavar="ROLE=SPEC",
    help="A model in the place of the paper's in strategies, such as planner=openai/gpt-6-sol. Repeatable.",
)  # fmt: skip
@click.option(
    "--judge", "judges", multiple=True, metavar="[NAME=]SPEC",
    help="Who marks in place of the paper's judge; NAME=SPEC in place of another judge of the paper. Repeatable.",
)  # fmt: skip
@click.option("--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="Sent with each call of --judge.")
@options.measuring
@click.option(
    "--reading", type=click.Choice(["careful", "paper", "release"]),
    help="By which rules stored replies are turned into marks; by default those of the paper's preset.",
)  # fmt: skip
@options.data
@options.store
@options.selection
@click.option("--run", "run_it", is_flag=True, help="Do what is missing; needs --budget or a --purse.")
@click.option(
    "--budget", type=float, metavar="DOLLARS",
    help="Stop before this command spends more than this, all rows together; all prices must be known.",
)  # fmt: skip
@click.option("--purse", metavar="NAME", help="Share the budget with all who name this purse; see `limner run`.")
@click.option("--change-purse", is_flag=True, help="Make --budget the purse's limit in place of the one it has.")
@click.option("--concurrency", default=64, show_default=True, type=click.IntRange(1, 4096), help="Calls at once.")
@running.retry_failed
@click.option("-o", "--output", type=options.FOLDER, metavar="DIR", help="Write document.html and document.pdf here.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def reproduce_command(exam: str, run_it: bool, as_json: bool, output: Path | None, **given: Any) -> None:
    """Make a paper anew: what of its tables and figures your store has, what the rest costs, and the commands.

    Without --run nothing is called or stored. With it every missing row is drawn and marked, one after the other; run
    it again to resume. -o writes one document with all tables and figures, the paper's figures beside yours.

    \b
    limner reproduce genexam --data DIR
    limner reproduce genexam --data DIR --painter 'Nano Banana Pro' --run --budget 20 -o paper
    """
    from ..core.errors import UsageError
    from ..store import store_exists
    from ..store.store import open_or_empty, open_store

    asked = _asked(exam, given)
    if run_it and given["budget"] is None and given["purse"] is None:
        raise UsageError("--run spends money: say how much it may with --budget DOLLARS, or name a --purse")
    if not run_it and (given["budget"] is not None or given["purse"] is not None or given["retry_failed"]):
        raise UsageError("--budget, --purse and --retry-failed go with --run")
    code, done = 0, None
    if run_it:
        if not store_exists(given["store"]):
            # A mistake in the words or the data must not leave an empty store behind.
            with open_or_empty(given["store"]) as empty:
                _steps(asked, empty)
        with open_store(given["store"], create=True) as store:
            done = _run(asked, store, given)
            code = done.exit_code
    with open_or_empty(given["store"]) as store:
        from ..report.reproduce import make_checklist

        checklist = make_checklist(asked, store)
        _show(checklist, done, as_json)
        if output is not None:
            code = max(code, _write(checklist, store, output))
    sys.exit(code)


def _asked(exam: str, given: dict[str, Any]) -> Reproduction:
    from ..report.reproduce import Reproduction

    words: list[str] = []
    for name in ("subset", "ids", "limit", "sample", "sample_seed"):
        words += [f"--{name.replace('_', '-')}", str(given[name])] if given[name] is not None else []
    words += [word for pair in given["where"] for word in ("--where", pair)]
    names = ("store", "data", "painters", "judges", "regions", "aesthetics", "items", "reading")
    return Reproduction(
        exam,
        **{name: given[name] for name in names},
        strategy_options=options.pairs(given["strategy_options"], "-S"),
        judge_args=options.typed(given["judge_args"], "--judge-arg"),
        selection=options.make_selection(given),
        selection_words=tuple(words),
    )


def _steps(asked: Reproduction, store: Store) -> Checklist:
    """What there is to be run.

    Raises:
        UsageError: The exam's questions are not known.
    """
    from ..core.errors import UsageError
    from ..report.reproduce import make_checklist

    checklist = make_checklist(asked, store, counted=False)
    if checklist.exam is None:
        raise UsageError("; ".join(checklist.notes))
    return checklist


def _run(asked: Reproduction, store: Store, given: dict[str, Any]) -> CarriedOut:
    from ..report.reproduce.checklist import carry_out

    checklist = _steps(asked, store)
    with running.shown() as watch:

        def begin(step: StepState) -> Callable[[Progress], None]:
            say(f"{step.step.row.name}: {step.command}", err=True)
            return watch

        how = ("budget", "purse", "change_purse", "concurrency", "retry_failed")
        done = carry_out(checklist, **{name: given[name] for name in how}, begin=begin)
    for step, why in done.not_run:
        say(f"not run: {step.step.row.name}: {why}", err=True)
    say_failures(done.failures)
    if done.stopped is not None:
        say(f"limner: {done.stopped}", err=True)
    return done


def _show(checklist: Checklist, done: CarriedOut | None, as_json: bool) -> None:
    from ..report.reproduce.document import checklist_tables, commands
    from ..report.tables.render import show

    if as_json:
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
    show("text", lambda: checklist_tables(checklist))
    for line in commands(checklist):
        say(line)


def _write(checklist: Checklist, store: Store, output: Path) -> int:
    """Write the document; without a PDF it is done in part."""
    from ..core.errors import LimnerError
    from ..report.reproduce.document import write_html, write_pdf

    page = write_html(checklist, store, output)
    say(f"{page}: every table and figure of {checklist.cite}", err=True)
    try:
        write_pdf(page, output / "document.pdf")
    except LimnerError as error:
        say(f"limner: {error}", err=True)
        return 3
    say(str(output / "document.pdf"), err=True)
    return 0
