"""Commands that draw and mark: run, draw, mark, import, rate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from . import options, running
from .say import say


@click.command("run", cls=options.SectionedCommand)
@options.exam
@options.painters
@options.painter_args
@options.devices
@options.require_all
@running.plan_options
@running.all_run_options
def run_command(exam: str, **given: Any) -> None:
    """Draw what is missing, mark what is unmarked, show the scores. Run it again to resume.

    EXAM is an installed exam (see `limner exams`), sample/NAME for its bundled sample, or the path of an exam.toml.
    """
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("draw", cls=options.SectionedCommand)
@options.exam
@options.painters
@options.painter_args
@options.devices
@options.require_all
@options.strategies
@options.exam_options
@options.prompts
@running.questions
@running.drawings
@running.all_run_options
def draw_command(exam: str, **given: Any) -> None:
    """Draw what is missing, without marking. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("mark", cls=options.SectionedCommand)
@options.exam
@options.only_painters
@options.judge_options
@options.measuring
@running.questions
@running.repeats
@running.all_run_options
def mark_command(exam: str, **given: Any) -> None:
    """Mark stored drawings. Reads only the store, not --data. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=False))


@click.command("import")
@options.exam
@options.data
@click.option(
    "--results", type=options.FOLDER, required=True, metavar="DIR", help="The output of the benchmark's scorer."
)
@click.option("--images", type=options.FOLDER, metavar="DIR", help="The drawings, as <id>.png, if you have them.")
@click.option("--regions", type=options.FOLDER, metavar="FILE", help="Region counts, for exams that use them.")
@click.option("--painter", required=True, metavar="NAME", help="The model that drew.")
@click.option("--judge", required=True, metavar="NAME", help="The model that marked.")
@options.store
@options.table_or_json
def import_command(
    exam: str,
    data: Path | None,
    results: Path,
    images: Path | None,
    regions: Path | None,
    painter: str,
    judge: str,
    store: str,
    form: str,
) -> None:
    """Import results of a benchmark's own scorer, to score and compare them like any others."""
    from ..running.import_results import import_results

    imported = import_results(
        exam, results, painter=painter, judge=judge, data=data, images=images, regions=regions, store=store
    )
    if form == "json":
        body = {"results": imported.results, "images": imported.images, "failures": dict(imported.failures)}
        say(json.dumps(body))
    else:
        unread, unmeasured = imported.failures["unreadable"], imported.failures["probe"]
        failures = f", {unread} of them unreadable" if unread else ""
        failures += f", {unmeasured} with a failed measurement" if unmeasured else ""
        say(f"{imported.results} results imported into {store}, {imported.images} with their drawing{failures}")
        for detail in imported.details[:5]:
            say(f"note: {detail}", err=True)
        if len(imported.details) > 5:
            say(f"… and {len(imported.details) - 5} more", err=True)
    sys.exit(3 if imported.failures else 0)


@click.command("rate", cls=options.SectionedCommand)
@options.exam
@click.option(
    "--as", "baseline", required=True, type=click.Choice(["score", "looks", "arena", "wiscore"]),
    help="score: a number for each drawing; looks: one for its looks alone; arena: the better of two, in both orders; "
    "wiscore: WISE's score.",
)  # fmt: skip
@click.option(
    "--judge",
    required=True,
    metavar="PROVIDER/MODEL",
    help="The model that rates, such as openai/gpt-5; or replay/FILE.",
)
@click.option(
    "--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="An argument of each call. Repeatable."
)
@click.option("--prompts", type=options.FOLDER, metavar="DIR", help="A folder with your own prompts.")
@click.option(
    "--against", metavar="PAINTER", help="With arena: only pairs with this painter, such as control/reference."
)
@options.only_painters
@options.selection
@options.store
@running.run_options
def rate_command(exam: str, **given: Any) -> None:
    """Rate stored drawings with a model but without the exam's rubric, as a baseline. Run it again to resume.

    Each baseline by each model is a separate evaluator, which `limner agree` compares with judges and people. Needs
    only the store.
    """
    from ..store.store import open_store

    if given["against"] and given["baseline"] != "arena":
        raise click.UsageError("--against needs --as arena")
    with open_store(given["store"]) as store:
        sys.exit(_rate(exam, given, store))


def _rate(exam: str, given: dict[str, Any], store: Any) -> int:
    from .. import api
    from ..core import settings
    from ..core.asks import Prompts
    from ..core.images import Preparer
    from ..judges.baselines import SHIPPED, find_baseline
    from ..models import open_model
    from ..running.rate import RatingRunner
    from ..store.records import known_painters

    how = {name: given[name] for name in ("painters", "concurrency", "retry_failed", "budget", "purse", "change_purse")}
    plan = api.plan(exam, store, selection=options.make_selection(given), draw=False, **how)
    if given["against"]:
        known_painters(store, plan.exam.name, [given["against"]])
    args = options.parse_values(given["judge_args"], "--judge-arg")
    model = open_model(given["judge"], args, settings.load(), Preparer(store.blobs.get))
    prompts = Prompts(SHIPPED, given["prompts"])
    runner = RatingRunner(plan, store, find_baseline(given["baseline"]), model, prompts, given["against"])
    runner.check()
    if given["dry_run"]:
        _print_estimate(given, len(runner.items()), runner.estimate(), model.name)
        return 0
    progress = running.run_with_progress(runner)
    running.report_outcome(given, progress)
    return running.exit_code(progress.interrupted, progress.failed)


def _print_estimate(given: dict[str, Any], asks: int, dollars: float | None, model: str) -> None:
    if given["form"] == "json":
        say(json.dumps({"asks": asks, "estimate": dollars}))
        return
    price = "at an unknown price" if dollars is None else f"for about ${dollars:.4f}, by a rule of thumb"
    say(f"{asks} requests to {model}, {price}; stored answers cost nothing")
