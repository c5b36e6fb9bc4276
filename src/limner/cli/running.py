"""What run, draw and mark share: plan, progress, closing words, exit code."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from . import options
from .options import together
from .say import say, say_failures

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

    from ..api import Asking
    from ..core.exam import Exam
    from ..painters import FolderPainter
    from ..running.plan import Plan, Shard
    from ..running.progress import Progress
    from ..store import Store

retry_failed = click.option("--retry-failed", is_flag=True, help="Also retry refusals and unreadable replies.")
F = TypeVar("F", bound=Callable[..., Any])


def _standing_there(function: F) -> F:
    """Have workers where ``--ray`` says while the command runs, unless it is a dry run."""

    @wraps(function)
    def run(*args: Any, ray: str | None, ray_gpus: tuple[str, ...], ray_workers: int | None, **given: Any) -> Any:
        if ray is None and (ray_gpus or ray_workers is not None):
            raise click.UsageError("--ray-gpus and --ray-workers go with --ray")
        if ray is None or given.get("dry_run"):
            return function(*args, **given)
        from ..workers.ray import cluster

        with cluster(ray, ray_gpus, ray_workers):
            return function(*args, **given)

    return cast(F, run)


on_cluster = together(
    click.option(
        "--ray", envvar="LIMNER_RAY", metavar="auto|HOST:PORT",
        help="Do local work (painters that run here, OCR, regions, aesthetics, preparing images) on this Ray cluster.",
    ),
    click.option(
        "--ray-gpus", multiple=True, metavar="[WORKER=]N",
        help="How much of a GPU one worker takes: 0.5, 1, 2; diffusers=1 for one sort. Repeatable; 1 by default.",
    ),
    click.option(
        "--ray-workers", type=click.IntRange(1), metavar="N",
        help="Workers of each sort; by default as many as the cluster has room for.",
    ),
    _standing_there,
)  # fmt: skip
"""What a command that does local work is decorated with; its function never sees these options."""
budget = click.option(
    "--budget", type=float, metavar="DOLLARS",
    help="Stop before this command spends more than DOLLARS in total; all prices must be known.",
)  # fmt: skip
purse = together(
    click.option(
        "--purse", metavar="NAME",
        help="Share the budget with every process, machine and later run that names this purse.",
    ),
    click.option("--change-purse", is_flag=True, help="Replace the purse's limit with --budget."),
)  # fmt: skip
calls = together(
    click.option("--concurrency", default=64, show_default=True, type=click.IntRange(1, 4096), help="Calls at once."),
    retry_failed,
)
ends = together(
    click.option("--dry-run", is_flag=True, help="Only show what would be done; call and store nothing."),
    click.option("--json", "as_json", is_flag=True, help="End with one JSON object on standard output."),
    on_cluster,
)
how = together(budget, purse, calls, ends)
"""How a command runs and what it may spend."""
how_without_purse = together(budget, calls, ends)
part = click.option(
    "--shard", metavar="I/N",
    help="Only the I-th of N parts, for stores that cannot be shared. Each part has its own --budget. "
    "`limner merge` brings the stores together.",
)  # fmt: skip
batch = together(
    click.option(
        "--batch", is_flag=True,
        help="Hand calls in as batches, at half the price and within a day; run the same command again to fetch them.",
    ),
    click.option(
        "--batch-wait", type=click.FloatRange(0), metavar="HOURS",
        help="Wait at most so long for batches, 0 not at all; without end by default.",
    ),
)  # fmt: skip
first_seed = click.option("--seed", type=int, metavar="N", help="Seed of the first drawing; 0, or the preset's.")
seeds = click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="Drawings per question.")
repeats = click.option("--repeats", default=1, show_default=True, type=click.IntRange(1), help="Markings per drawing.")
questions = together(options.data, options.store, options.selection)
drawings = together(seeds, first_seed)
work = together(options.strategies, options.asking, options.measuring, questions, drawings, repeats)
"""What is drawn and marked, by whom aside."""
carried_out = together(how, part, batch)


def carry_out(exam: str, given: dict[str, Any], *, draw: bool) -> int:
    """Plan and run; returns the exit code."""
    from .. import api
    from ..core.errors import UsageError
    from ..exams import ExamSource
    from ..running.batch import make_runner
    from ..running.setup import usual_reading
    from ..store import store_exists
    from ..store.store import open_or_empty, open_store

    asking = options.make_asking(given)
    if draw and not given["painters"] and not given.get("strategies"):
        raise UsageError("name a painter with --painter, such as folder/PATH or control/reference")
    if given["batch_wait"] is not None and not given["batch"]:
        raise UsageError("--batch-wait: add --batch")
    if "judges" in given and not asking.judges and not asking.preset:
        raise UsageError("name a judge with --judge, such as ocr or openai/gpt-6-sol, or a --preset")

    shard = make_shard(given)

    def make(store: Store, whole: Exam[Any] | None = None) -> Plan:
        how: dict[str, Any] = {
            name: given[name] for name in ("concurrency", "budget", "purse", "change_purse", "batch")
        }
        if whole is not None:
            how["loaded"] = ExamSource(whole.name, whole.kind, None), whole
        hours = given["batch_wait"]
        how["batch_wait"] = None if hours is None else hours * 3600
        return make_plan(exam, store, given, asking, draw, shard=shard, **how)

    read: Exam[Any] | None = None
    if draw and not given["dry_run"] and not store_exists(given["store"]):
        # A mistake in the words or the data must not leave an empty store behind.
        with open_or_empty(given["store"]) as empty:
            tried = make(empty)
            make_runner(tried, empty).check()
            read = tried.whole
    place = open_or_empty(given["store"]) if draw and given["dry_run"] else open_store(given["store"], create=draw)
    with place as store:
        plan = make(store, read)
        _tell(plan, asking)
        tell_models(plan, asking)
        runner = make_runner(plan, store)
        if given["dry_run"]:
            to_draw, to_mark = runner.backlog.counts()
            counts = {"drawings": to_draw, "markings": to_mark, "questions": len(plan.exam.questions)}
            _say(given, counts, runner.unpriced() if given["budget"] is not None else None)
            return 0
        progress = watched(runner)
        close(given, progress)
        if plan.judges and not given["as_json"] and not progress.interrupted and not progress.submitted:
            from ..core.exam import Selection
            from ..report.tables.render import show
            from ..report.tables.scores import standing_tables

            backlog = runner.backlog
            names = [painter.name for painter in plan.painters] or list(plan.only_painters or ())
            rows = {(backlog.label(arm.painter), arm.strategy.name) for arm in plan.arms}
            found = api.scores(
                plan.exam.name,
                store=store,
                painters=names,
                selection=Selection(ids=tuple(question.id for question in backlog.questions)),
                reading=usual_reading(plan.exam.kind, asking),
                wanted=lambda group: (
                    group.evaluator.id in backlog.setups and (not rows or (group.painter, group.strategy) in rows)
                ),
            )
            show("text", lambda: standing_tables(found, plan.exam.kind))
    return exit_code(progress.interrupted, progress.failed + progress.submitted)


def watched(runner: Any) -> Progress:
    """Run, with bars that show how far it is."""
    with shown(runner.progress) as watch:
        runner.watch = watch
        progress: Progress = runner.run()
    return progress


def exit_code(interrupted: bool, undone: int) -> int:
    """130 where a command was interrupted, 3 where something failed or is still to come, 0 otherwise."""
    return 130 if interrupted else 3 if undone else 0


def make_plan(exam: str, store: Store, given: dict[str, Any], asking: Asking, draw: bool, **how: Any) -> Plan:
    """Return the plan that a command's arguments ask for; `how` goes to `limner.running.plan.Plan`."""
    from .. import api

    words = {
        "painters": given["painters"],
        "asking": asking,
        "painter_options": options.typed(given.get("painter_args", ()), "--painter-arg"),
        "devices": given.get("devices"),
        "strategies": given.get("strategies", ()),
        "strategy_options": options.pairs(given.get("strategy_options", ()), "-S"),
        "measuring": options.make_measuring(given),
        "draw": draw,
        "seeds": given.get("seeds", 1),
        "repeats": given.get("repeats", 1),
        "retry_failed": given["retry_failed"],
        **({} if given.get("seed") is None else {"first_seed": given["seed"]}),
    }
    return api.plan(exam, store, data=given["data"], selection=options.make_selection(given), **words, **how)


def make_shard(given: dict[str, Any]) -> Shard | None:
    """Return the part of the plan among a command's arguments; says what its budget is."""
    from ..running.plan import Shard

    if given["shard"] is None:
        return None
    shard = Shard.parse(given["shard"])
    if given.get("budget") is not None and shard.n > 1:
        all_of_them = f"{shard.n} shards may spend ${given['budget'] * shard.n:g} together"
        say(f"note: --budget {given['budget']:g} is for this shard alone: {all_of_them}", err=True)
    return shard


def _tell(plan: Plan, asking: Asking) -> None:
    """What a user should know before it starts."""
    from ..painters import FolderPainter
    from ..running.setup import preset_deviations

    notes = list(plan.exam.notes)
    for painter in plan.painters:
        if isinstance(painter, FolderPainter):
            same = painter.collisions()
            notes += [f"{painter.name}: files for the same id: {', '.join(names)}" for names in same[:5]]
            notes += [f"{painter.name}: … and {len(same) - 5} more ids with several files"] if len(same) > 5 else []
            notes += _misnamed(painter, plan)
    for note in notes:
        say(f"note: {note}", err=True)
    for word in preset_deviations(plan.exam.kind, asking):
        say(f"differs from preset {asking.preset}: {word}", err=True)


def tell_models(plan: Plan, asking: Asking) -> None:
    """Warn of models that are gone or going; a preset's judge is never replaced unasked."""
    from .. import exams
    from ..core import catalogue, settings

    usual = None if asking.judges else exams.kind(plan.exam.kind).preset(asking.preset).get("judge")
    models, day = settings.load().models, catalogue.today()
    for name, word in catalogue.warnings(plan.models, models, day).items():
        say(f"warning: {word}", err=True)
        if name == usual and (heir := catalogue.successor_of(name, models, day)) is not None:
            say(
                f"preset {asking.preset} asks {name}: with --judge {heir} another evaluator marks, and its scores "
                "stand apart from those of the paper's judge",
                err=True,
            )


def _misnamed(painter: FolderPainter, plan: Plan) -> list[str]:
    """Return what is to be said of files that look misnamed."""
    from shlex import join

    everyone = (plan.whole or plan.exam).questions
    found = painter.misnamed((q.id for q in plan.exam.questions), (q.id for q in everyone))
    if not found:
        return []
    some = ", ".join(f"{old} for {new}" for old, new in found[:3]) + (" …" if len(found) > 3 else "")
    how = join(["limner", "exam", "rename", plan.exam.name, painter.spec.removeprefix("folder/")])
    told = "1 file looks" if len(found) == 1 else f"{len(found)} files look"
    return [f"{painter.name}: {told} misnamed: {some}; `{how}` lists how to rename them"]


def _say(given: dict[str, Any], counts: dict[str, int], unpriced: list[str] | None) -> None:
    """What is to be done, and with a budget whose price nobody knows."""
    if given["as_json"]:
        say(json.dumps(counts if unpriced is None else {**counts, "unpriced": unpriced}))
    else:
        say(f"to do for {counts['questions']} questions: {counts['drawings']} drawings, {counts['markings']} markings")
        for why in unpriced or ():
            say(f"--budget cannot be kept: {why}")
        if unpriced == []:
            say("--budget can be kept: every price is known")


def close(given: dict[str, Any], progress: Progress) -> None:
    """What was done, what failed and how to go on."""
    from ..store.store import shown as hidden

    if progress.cut:
        which = "1 prompt was" if progress.cut == 1 else f"{progress.cut} prompts were"
        told = "longer than what the painter reads; `limner show EXAM ID` says what was cut"
        say(f"note: {which} {told}", err=True)
    body = {
        "done": progress.done, "stored": progress.stored, "failed": progress.failed,
        "failures": dict(progress.failures), "asked_again": progress.asked_again,
        "not_applicable": progress.not_applicable,
        "spent": round(progress.spent, 6), "unpriced_calls": progress.unpriced, "doubted_calls": progress.doubted,
        "interrupted": progress.interrupted, "store": hidden(str(given["store"])),
    }  # fmt: skip
    if given.get("batch"):
        body["submitted"] = progress.submitted
    if given["as_json"]:
        say(json.dumps(body))
        return
    say_failures(progress)
    if progress.submitted:
        which = "1 call stands" if progress.submitted == 1 else f"{progress.submitted} calls stand"
        say(f"{which} in batches: the same command fetches what comes; `limner batches` shows them", err=True)
    if progress.interrupted:
        say("interrupted; run the same command again to go on", err=True)


OFTEN = 5
"""So often in a second bars are drawn anew."""
NARROW = 100
"""Below so many columns names get a quarter of the line, and otherwise a third."""
SHORTEST, LONGEST = 4, 40
"""Columns of a bar."""


@contextmanager
def shown(progress: Progress | None = None) -> Iterator[Callable[[Progress], None]]:
    """Shows how far a run is, and gives what is to be called after every step.

    Args:
        progress: Where it stands, if that is known before its first step ends.
    """
    if not sys.stderr.isatty():
        yield _Plain()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    if console.is_dumb_terminal:
        yield _Plain()
        return
    bars = Bars(progress)
    with Live(bars, console=console, refresh_per_second=OFTEN, transient=False, vertical_overflow="crop"):
        try:
            yield bars.watch
        finally:
            bars.ended = True


class _Plain:
    """A line every few seconds, and one at the end."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 5

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next or progress.settled >= progress.total:
            self._next = time.monotonic() + 10
            say(progress.describe(time.monotonic()), err=True)


class Bars:
    """A bar for everyone who draws, measures and marks, and one for the whole; drawn from where the run stands now.

    Attributes:
        ended: Whether nothing more comes; there is no time left to be told then.
    """

    def __init__(self, progress: Progress | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress, self._clock, self.ended = progress, clock, False

    def watch(self, progress: Progress) -> None:
        """Where the run stands, from now on."""
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        progress = self._progress
        if progress is None or not progress.total:
            return
        room = max(3, console.size.height - 4)
        yield self._table(progress, options.max_width, room)
        if found := progress.counts()[1:-1]:
            yield Text(" · ".join(found), "dim")
        if self.ended:
            return
        if progress.waiting:
            told = ", ".join(f"{count} for {_printable(what)}" for what, count in progress.waiting.items())
            yield Text(f"calls wait: {told}", "yellow", no_wrap=True, overflow="ellipsis")
        if progress.interrupted:
            yield Text("stopping: what is in flight is finished; Ctrl-C again ends at once", "yellow")

    def _table(self, progress: Progress, width: int, room: int) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        at, parts = self._clock(), list(progress.parts.items())
        shown, folded = _chosen(parts, room)
        rows = [(does, _printable(name), part) for (does, name), part in shown]
        rows.append(("all" if parts else "", "", progress))
        numbers = [self._numbers(part, at) for _, _, part in rows]
        used = max(len(does) for does, _, _ in rows) + len(numbers[0]) + 2
        used += sum(max(map(len, column)) for column in zip(*numbers, strict=True))
        # Numbers stay whole: first the bars give way, then the names.
        longest = min(max(len(name) for _, name, _ in rows), width // (4 if width < NARROW else 3))
        names = max(0, min(longest, width - used - SHORTEST))
        bar = max(SHORTEST, min(LONGEST, width - used - names))
        table = Table.grid(padding=(0, 1), expand=False)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(no_wrap=True, overflow="ellipsis", width=names)
        table.add_column(width=bar)
        for _ in numbers[0]:
            table.add_column(no_wrap=True, justify="right")
        for (does, name, part), cells in zip(rows, numbers, strict=True):
            drawn = ProgressBar(
                total=max(1, part.total), completed=min(part.settled, part.total), width=bar,
                complete_style="yellow" if part.failed else "cyan", finished_style="yellow" if part.failed else "green",
            )  # fmt: skip
            style = "bold" if part is progress and parts else ""
            table.add_row(does, Text(name, style), drawn, *(Text(cell, _style(cell) or style) for cell in cells))
        if folded:
            done = sum(part.settled >= part.total for _, part in folded)
            table.add_row("", Text(f"… {len(folded)} more", "dim"), Text(f"{done} of them done", "dim"))
        return table

    def _numbers(self, part: Progress, at: float) -> tuple[str, ...]:
        """Settled steps, failures, rate, spend, time left."""
        failed = f"{part.failed} failed" if part.failed else ""
        return f"{part.settled}/{part.total}", failed, f"{part.rate(at):.1f}/s", _money(part), self._left(part, at)

    def _left(self, part: Progress, at: float) -> str:
        from ..running.progress import duration

        if part.settled >= part.total:
            return "done"
        # Steps of one sort may take a hundred times longer than others: the whole waits for whoever needs longest.
        open_parts = [one for one in part.parts.values() if one.settled < one.total] or [part]
        times = [one.seconds_left(at) for one in open_parts]
        left = None if None in times else max(seconds for seconds in times if seconds is not None)
        return "" if self.ended else "…" if left is None else f"{duration(left)} left"


def _style(cell: str) -> str:
    return "red" if cell.endswith(" failed") else "dim" if cell == "done" else ""


def _chosen(
    parts: list[tuple[tuple[str, str], Progress]], room: int
) -> tuple[list[tuple[tuple[str, str], Progress]], list[tuple[tuple[str, str], Progress]]]:
    """Those that fit on the screen, in their order, and the others; whoever is not done goes before who is."""
    if len(parts) <= room:
        return parts, []
    first = sorted(range(len(parts)), key=lambda n: (parts[n][1].settled >= parts[n][1].total, n))
    taken = set(first[: room - 1])
    return [parts[n] for n in sorted(taken)], [part for n, part in enumerate(parts) if n not in taken]


def _money(part: Progress) -> str:
    return f"${part.spent:.4f}" + (f" + {part.unpriced}?" if part.unpriced else "")


def _printable(text: str) -> str:
    from ..core.redaction import printable

    return " ".join(printable(text).split())
