"""Drawing and marking: run, draw, mark, import."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from . import options, running
from .say import say


@click.command("run", cls=options.Sectioned)
@options.exam
@options.painters
@options.painter_args
@options.devices
@running.work
@running.carried_out
def run_command(exam: str, **given: Any) -> None:
    """Draw what is missing, mark what is unmarked, show the scores. Run it again to resume.

    EXAM is an installed exam (see `limner exams`), sample/NAME for its bundled sample, or the path of an exam.toml.
    """
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("draw", cls=options.Sectioned)
@options.exam
@options.painters
@options.painter_args
@options.devices
@options.strategies
@options.exam_options
@running.questions
@running.drawings
@running.carried_out
def draw_command(exam: str, **given: Any) -> None:
    """Draw what is missing, without marking. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=True))


@click.command("mark", cls=options.Sectioned)
@options.exam
@options.painters
@options.asking
@options.measuring
@running.questions
@running.repeats
@running.carried_out
def mark_command(exam: str, **given: Any) -> None:
    """Mark stored drawings. Needs only the store; --data is not read. Run it again to resume."""
    sys.exit(running.carry_out(exam, given, draw=False))


@click.command("import")
@options.exam
@options.data
@click.option("--results", type=options.FOLDER, required=True, metavar="DIR", help="Output of the released scorer.")
@click.option("--images", type=options.FOLDER, metavar="DIR", help="The drawings, <id>.png, if you have them.")
@click.option("--regions", type=options.FOLDER, metavar="FILE", help="Region counts, for exams that use them.")
@click.option("--painter", required=True, metavar="NAME", help="The model that drew.")
@click.option("--judge", required=True, metavar="NAME", help="The model that marked.")
@options.store
@click.option("--json", "as_json", is_flag=True, help="Say what was imported as JSON.")
def import_command(
    exam: str,
    data: Path | None,
    results: Path,
    images: Path | None,
    regions: Path | None,
    painter: str,
    judge: str,
    store: str,
    as_json: bool,
) -> None:
    """Import results of a benchmark's own scorer, so that they are scored and compared like any others."""
    from ..running.import_results import import_results

    found = import_results(
        exam, results, painter=painter, judge=judge, data=data, images=images, regions=regions, store=store
    )
    if as_json:
        body = {"results": found.results, "images": found.images, "failures": dict(found.failures)}
        say(json.dumps(body))
    else:
        unread, unmeasured = found.failures["unreadable"], found.failures["probe"]
        said = f", {unread} of them unreadable" if unread else ""
        said += f", {unmeasured} with a measurement that failed" if unmeasured else ""
        say(f"{found.results} results imported, {found.images} with their drawing{said}, into {store}")
        for detail in found.details[:5]:
            say(f"note: {detail}", err=True)
        if len(found.details) > 5:
            say(f"… and {len(found.details) - 5} more", err=True)
    sys.exit(3 if found.failures else 0)


@click.command("rate")
@options.exam
@click.option(
    "--as", "baseline", required=True, type=click.Choice(["score", "arena", "wiscore"]),
    help="score: a number for each drawing; arena: the better of two, in both orders; wiscore: WISE's score.",
)  # fmt: skip
@click.option(
    "--judge", required=True, metavar="PROVIDER/MODEL", help="Who is asked, such as openai/gpt-5; or replay/FILE."
)
@click.option("--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="Sent with each call. Repeatable.")
@click.option("--prompts", type=options.FOLDER, metavar="DIR", help="Folder with your own wording.")
@click.option("--against", metavar="PAINTER", help="Of arena: only pairs with this painter, such as control/reference.")
@options.painters
@options.selection
@options.store
@running.how
def rate_command(exam: str, **given: Any) -> None:
    """Let a model rate stored drawings without the exam's rubric, as a baseline. Run it again to resume.

    Each baseline by each model is an evaluator of its own; `limner agree` holds it against judges and people. Needs
    only the store.
    """
    from ..store.store import open_store

    if given["against"] and given["baseline"] != "arena":
        raise click.UsageError("--against goes with --as arena")
    with open_store(given["store"]) as store:
        sys.exit(_rate(exam, given, store))


def _rate(exam: str, given: dict[str, Any], store: Any) -> int:
    from .. import api
    from ..core import settings
    from ..core.images import Preparer
    from ..core.prompts import Prompts
    from ..judges.baselines import SHIPPED, find_baseline
    from ..models import open_model
    from ..running.rate import RatingRunner
    from ..store.records import known_painters

    how = {name: given[name] for name in ("painters", "concurrency", "retry_failed", "budget", "purse", "change_purse")}
    plan = api.plan(exam, store, selection=options.make_selection(given), draw=False, **how)
    if given["against"]:
        known_painters(store, plan.exam.name, [given["against"]])
    args = options.typed(given["judge_args"], "--judge-arg")
    model = open_model(given["judge"], args, settings.load(), Preparer(store.blobs.get))
    prompts = Prompts(SHIPPED, given["prompts"])
    runner = RatingRunner(plan, store, find_baseline(given["baseline"]), model, prompts, given["against"])
    runner.check()
    if given["dry_run"]:
        _tell(given, len(runner.items()), runner.estimate(), model.name)
        return 0
    progress = running.watched(runner)
    running.close(given, progress)
    return running.exit_code(progress.interrupted, progress.failed)


def _tell(given: dict[str, Any], asks: int, dollars: float | None, model: str) -> None:
    if given["as_json"]:
        say(json.dumps({"asks": asks, "estimate": dollars}))
        return
    price = "nobody knows what that costs" if dollars is None else f"about ${dollars:.4f} by a rule of thumb"
    say(f"to ask {model}: {asks} times; {price}; what is answered already costs nothing")
