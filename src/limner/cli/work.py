"""Runs that are queued: run --queue, work."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .bars import shown
from .cluster import on_cluster
from .say import say, say_failures

if TYPE_CHECKING:
    from ..api import Asking
    from ..running.progress import Progress
    from ..running.work import WorkedPlan
    from ..store.plans import StoredPlan

SLURM = Path(__file__).with_name("slurm_array.sh")
ENDS = {"done": "done", "failures": "done, with failures", "stopped": "not done", "withdrawn": "withdrawn"}


def queue(exam: str, given: dict[str, Any], asking: Asking, draw: bool) -> int:
    """Store a run instead of making it; returns the exit code."""
    from ..core.errors import UsageError
    from ..running.queued import check_plan, queue_plan
    from ..store import store_exists
    from ..store.open import open_or_empty, open_store
    from ..store.store import shown as hidden
    from . import running

    if given["shard"] is not None:
        raise UsageError("--shard goes without --queue: workers of a queued run share it by themselves")
    if given["dry_run"]:
        raise UsageError("--dry-run goes without --queue: it says what would be done, and --queue stores it")
    if given["batch"]:
        raise UsageError("--batch goes without --queue: a batch is the service's work, so one machine is enough for it")
    words = running.plan_words(given, asking, draw)
    how = {name: given[name] for name in ("concurrency", "budget", "purse", "change_purse")}
    how |= {"data": given["data"], "selection": options.make_selection(given)}
    if draw and not store_exists(given["store"]):
        # A mistake in the words or the data must not leave an empty store behind.
        with open_or_empty(given["store"]) as empty:
            check_plan(exam, empty, **words, **how)
    with open_store(given["store"], create=draw) as store:
        queued = queue_plan(exam, store, **words, **how)
        running.tell_models(queued.run, asking)
    for note in queued.notes:
        say(f"note: {note}", err=True)
    plan, place = queued.plan, hidden(str(given["store"]))
    if given["as_json"]:
        body = {"plan": plan.id, "exam": plan.exam, "questions": len(plan.made["questions"]), "store": place}
        body |= {"drawings": queued.drawings, "markings": queued.markings, "purse": plan.body["purse"]}
        say(json.dumps(body | {"notes": list(queued.notes)}))
    else:
        to_do = f"{queued.drawings} drawings and {queued.markings} markings to do"
        say(f"plan {plan.name} is queued: {plan.exam}, {len(plan.made['questions'])} questions, {to_do}")
        say(f"carry it out, on as many machines as you like: limner work --store {place}")
    return 0


@click.command("work")
@click.argument("plans", nargs=-1, metavar="[PLAN]...")
@options.store
@click.option("--concurrency", type=click.IntRange(1, 4096), help="Calls at once here; what the plan says by default.")
@options.devices
@on_cluster
@click.option("--list", "listed", is_flag=True, help="Only show the plans and how they stand.")
@click.option("--withdraw", metavar="PLAN", help="Take a plan back. What was drawn and marked stays.")
@click.option("--slurm", is_flag=True, help="Print a template of a Slurm array, for stores that cannot be shared.")
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on standard output.")
def work_command(plans: tuple[str, ...], store: str, listed: bool, withdraw: str | None, **given: Any) -> None:
    """Carry out runs that `limner run … --queue` stored, the oldest first, until nothing is left.

    Start it on as many machines as you like: they share the work, and nothing is drawn, marked or paid twice. With
    PLAN, how its id begins, only that one. Keys and limner.toml are those of the machine it is started on.
    """
    if given["slurm"]:
        say(SLURM.read_text("utf-8"), nl=False)
        return
    from ..store.open import open_store

    with open_store(store) as opened:
        if withdraw is not None:
            _withdraw(opened, withdraw)
        elif listed:
            _list(opened, plans, given["as_json"])
        else:
            sys.exit(_work(opened, plans, given))


def _withdraw(store: Any, word: str) -> None:
    from ..core.errors import UsageError
    from ..running.work import withdraw
    from ..store.plans import load_plan

    plan = withdraw(store, word)
    if plan is None:
        found = load_plan(store, word)
        raise UsageError(f"plan {found.name} is {found.status} already")
    say(f"plan {plan.name} is withdrawn; workers finish the calls that they have begun")


def _list(store: Any, words: tuple[str, ...], as_json: bool) -> None:
    from ..running.work import plan_states
    from ..store.plans import load_plan
    from ..tables.plans import plans_table
    from ..tables.render import show

    wanted = {load_plan(store, word).id for word in words}
    found = [one for one in plan_states(store) if not wanted or one.plan.id in wanted]
    if not found and not as_json:
        say(f"no run is queued in {store.url}; `limner run … --queue` queues one")
        return
    show(
        "json" if as_json else "text",
        lambda: [plans_table(store.url, found)],
        body=lambda: [one.to_json() for one in found],
    )


def _work(store: Any, words: tuple[str, ...], given: dict[str, Any]) -> int:
    from ..running.work import work

    with shown() as watch:

        def begin(plan: StoredPlan) -> Callable[[Progress], None]:
            say(f"plan {plan.name}: {plan.exam}", err=True)
            return watch

        def end(one: WorkedPlan) -> None:
            say_failures(one.progress, "queue the same run again")
            if one.state != "interrupted":
                say(f"plan {one.plan.name}: {ENDS[one.state]}{f': {one.why}' if one.why else ''}", err=True)

        done = work(store, words, concurrency=given["concurrency"], devices=given["devices"], begin=begin, end=end)
    codes = {one.code for one in done}
    if 130 in codes:
        say("interrupted; run the same command again to go on", err=True)
    if given["as_json"]:
        say(json.dumps({"store": store.url, "plans": [one.to_json() for one in done]}))
    elif not done:
        say(f"nothing is left to do in {store.url}")
    return max(codes, default=0)
