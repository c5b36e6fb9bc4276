"""The common parts of commands that run a plan: options, progress display, outcome and exit code."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from . import options, say, say_failures, show
from .options import combine_options

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

    from ..api import Asking
    from ..core.exam import Exam
    from ..painters import FolderPainter
    from ..running.estimate import Estimate
    from ..running.plan import Plan, Shard
    from ..running.progress import Progress
    from ..store import Store

retry_failed = click.option("--retry-failed", is_flag=True, help="Also retry refusals and unreadable replies.")
F = TypeVar("F", bound=Callable[..., Any])


def _with_ray_workers(function: F) -> F:
    """Run the command with workers on the cluster that ``--ray`` names, unless it is a dry run."""

    @wraps(function)
    def run(*args: Any, ray: str | None, ray_gpus: tuple[str, ...], ray_workers: int | None, **given: Any) -> Any:
        if ray is None and (ray_gpus or ray_workers is not None):
            raise click.UsageError("--ray-gpus and --ray-workers need --ray")
        if ray is None or given.get("dry_run"):
            return function(*args, **given)
        from ..workers.ray import cluster

        with cluster(ray, ray_gpus, ray_workers):
            return function(*args, **given)

    return cast(F, run)


ray_options = combine_options(
    click.option(
        "--ray", envvar="LIMNER_RAY", metavar="auto|HOST:PORT",
        help="Do local work (local painters, OCR, regions, aesthetics) on this Ray cluster.",
    ),
    click.option(
        "--ray-gpus", multiple=True, metavar="[WORKER=]N",
        help="GPUs for each worker: 0.5, 1, 2; diffusers=1 for one kind. Repeatable; 1 by default.",
    ),
    click.option(
        "--ray-workers", type=click.IntRange(1), metavar="N",
        help="Workers of each kind; by default as many as the cluster has room for.",
    ),
    _with_ray_workers,
)  # fmt: skip
"""The options of commands that do local work; the command's own function does not receive them."""
budget = click.option(
    "--budget", type=float, metavar="DOLLARS",
    help="Stop before this command spends more than DOLLARS in total; all prices must be known.",
)  # fmt: skip
purse = combine_options(
    click.option(
        "--purse", metavar="NAME",
        help="Share the budget with every process, machine and later run that names this purse.",
    ),
    click.option("--change-purse", is_flag=True, help="Replace the purse's limit with --budget."),
)  # fmt: skip
call_options = combine_options(
    click.option("--concurrency", default=64, show_default=True, type=click.IntRange(1, 4096), help="Calls at once."),
    retry_failed,
)
output_options = combine_options(
    click.option("--dry-run", is_flag=True, help="Only show what would be done; call nothing, store nothing."),
    options.table_or_json,
    ray_options,
)
run_options = combine_options(budget, purse, call_options, output_options)
"""The options on how a command runs and what it may spend."""
run_options_without_purse = combine_options(budget, call_options, output_options)
shard = click.option(
    "--shard", metavar="I/N",
    help="Only part I of N, for machines that cannot share a store. Each part has its own --budget; `limner merge` "
    "combines the stores.",
)  # fmt: skip
batch = combine_options(
    click.option(
        "--batch", is_flag=True,
        help="Submit calls as batches, at half the price and within a day; run the same command again to fetch the "
        "results.",
    ),
    click.option(
        "--batch-wait", type=click.FloatRange(0), metavar="HOURS",
        help="Wait at most this long for batches; 0 does not wait. By default there is no limit.",
    ),
)  # fmt: skip
first_seed = click.option(
    "--seed", type=int, metavar="N", help="Seed of the first drawing; by default 0, or the preset's."
)
seeds = click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="Drawings per question.")
repeats = click.option("--repeats", default=1, show_default=True, type=click.IntRange(1), help="Markings per drawing.")
questions = combine_options(
    options.data,
    options.store,
    options.selection,
    click.option(
        "--study", metavar="NAME",
        help="Only the drawings of this study, or those that the exam's design of this name would sample.",
    ),
)  # fmt: skip
drawings = combine_options(seeds, first_seed)
plan_options = combine_options(
    options.strategies, options.judge_options, options.measuring, questions, drawings, repeats
)
"""The options on what is drawn and marked, except the painters."""
durable = click.option("--durable", is_flag=True, help="Let all that is stored survive a power failure; slower.")
all_run_options = combine_options(run_options, shard, batch, durable)


def carry_out(exam: str, given: dict[str, Any], *, draw: bool) -> int:
    """Plan and run what a command asks for, and return its exit code."""
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
        raise UsageError("--batch-wait needs --batch")
    if "judges" in given and not asking.judges and not asking.preset:
        raise UsageError("name a judge with --judge, such as ocr or openai/gpt-6.1-sol, or a --preset")

    shard = make_shard(given)

    def make(store: Store, whole: Exam[Any] | None = None) -> Plan:
        loaded = None if whole is None else (ExamSource(whole.name, whole.kind, None), whole)
        return make_plan(exam, store, given, draw=draw, asking=asking, shard=shard, loaded=loaded)

    whole: Exam[Any] | None = None
    if draw and not given["dry_run"] and not store_exists(given["store"]):
        # Check the plan first, so that a mistake in the arguments or the data leaves no empty store behind.
        with open_or_empty(given["store"]) as empty:
            trial = make(empty)
            _print_notes(trial, asking)
            make_runner(trial, empty).check()
            whole = trial.whole
    trying = draw and given["dry_run"]
    durable = given.get("durable", False)
    with open_or_empty(given["store"]) if trying else open_store(given["store"], create=draw, durable=durable) as store:
        plan = make(store, whole)
        if whole is None:
            _print_notes(plan, asking)
        warn_of_models(plan, asking)
        runner = make_runner(plan, store)
        if given["dry_run"]:
            to_draw, to_mark = runner.backlog.counts()
            counts: dict[str, Any] = {"drawings": to_draw, "markings": to_mark, "questions": len(plan.exam.questions)}
            lacking = {painter.name: len(plan.without_image(painter)) for painter in plan.painters}
            if any(lacking.values()):
                counts["without_image"] = lacking
            _print_counts(given, counts, runner.unpriced() if given["budget"] is not None else None)
            return 0
        progress = run_with_progress(runner, given)
        if plan.judges and given["form"] != "json" and not progress.interrupted and not progress.submitted:
            from ..core.exam import Selection
            from ..report.tables.scores import standing_tables

            backlog = runner.backlog
            names = [painter.name for painter in plan.painters] or list(plan.only_painters or ())
            rows = {(backlog.label(arm.painter), arm.strategy.name) for arm in plan.arms}
            standings = api.scores(
                plan.exam.name,
                store=store,
                painters=names,
                selection=Selection(ids=tuple(question.id for question in backlog.questions)),
                reading=usual_reading(plan.exam.kind, asking),
                wanted=lambda group: (
                    group.evaluator.id in backlog.setups and (not rows or (group.painter, group.strategy) in rows)
                ),
            )
            show("table", lambda: standing_tables(standings, plan.exam.kind))
    return exit_code(progress)


def run_with_progress(runner: Any, given: dict[str, Any]) -> Progress:
    """Run with progress on the terminal, and report the outcome."""
    with show_progress(runner.progress) as watch:
        runner.watch = watch
        progress: Progress = runner.run()
    report_outcome(given, progress, runner.store)
    return progress


def exit_code(progress: Progress) -> int:
    """Return 130 after an interrupt, 3 if something failed or is not done yet, 0 otherwise."""
    return 130 if progress.interrupted else 3 if progress.failed or progress.submitted else 0


def show_estimate(form: str, title: str, questions: int, estimate: Estimate) -> None:
    """Print the estimate of a dry run."""
    from ..report.tables.status import estimate_table

    show(form, lambda: [estimate_table(title, questions, [estimate])], body=estimate.to_json)


PLANNED = (
    "painters", "data", "devices", "strategies", "seeds", "repeats", "retry_failed", "require_all", "concurrency",
    "budget", "purse", "change_purse", "batch",
)  # fmt: skip
"""Options that a plan takes as they are."""


def make_plan(exam: str, store: Store, given: dict[str, Any], **how: Any) -> Plan:
    """Return the plan that a command's arguments ask for; `how` is passed to `limner.running.setup.make_plan`."""
    from .. import api

    how = {"measuring": options.make_measuring(given)} | how | {name: given[name] for name in PLANNED if name in given}
    how["painter_options"] = options.parse_values(given.get("painter_args", ()), "--painter-arg")
    how["strategy_options"] = options.parse_pairs(given.get("strategy_options", ()), "-S")
    if given.get("seed") is not None:
        how["first_seed"] = given["seed"]
    if given.get("batch_wait") is not None:
        how["batch_wait"] = given["batch_wait"] * 3600
    if given.get("study") is not None:
        from ..core.evaluator import name_and_spec
        from ..study.new import study_drawings

        names = [name_and_spec(word)[0] for word in given["painters"]]
        how["only_drawings"] = study_drawings(store, exam, given["study"], names)
    return api.plan(exam, store, selection=options.make_selection(given), **how)


def make_shard(given: dict[str, Any]) -> Shard | None:
    """Return the shard that a command's arguments name; print a note that a budget is per shard."""
    from ..running.plan import Shard

    if given["shard"] is None:
        return None
    shard = Shard.parse(given["shard"])
    if given.get("budget") is not None and shard.n > 1:
        total = f"all {shard.n} shards together may spend ${given['budget'] * shard.n:g}"
        say(f"note: --budget {given['budget']:g} is for this shard alone: {total}", err=True)
    return shard


def _print_notes(plan: Plan, asking: Asking) -> None:
    """Print what a user should know before the run starts."""
    from ..painters import FolderPainter
    from ..running.setup import preset_deviations

    notes = [*plan.exam.notes, *plan.notes]
    for painter in plan.painters:
        if isinstance(painter, FolderPainter):
            same = painter.collisions()
            notes += [f"{painter.name}: files for the same id: {', '.join(names)}" for names in same[:5]]
            notes += [f"{painter.name}: … and {len(same) - 5} more ids with several files"] if len(same) > 5 else []
            if lacking := len(plan.without_image(painter)):
                count, have = len(plan.exam.questions), "has" if lacking == 1 else "have"
                drawn = f"{count - lacking:,} of {count:,} questions have an image"
                notes.append(f"{painter.name}: {drawn}; {lacking:,} {have} none")
            notes += _describe_misnamed(painter, plan)
    for note in notes:
        say(f"note: {note}", err=True)
    for deviation in preset_deviations(plan.exam.kind, asking):
        say(f"differs from preset {asking.preset}: {deviation}", err=True)


def warn_of_models(plan: Plan, asking: Asking) -> None:
    """Warn of models that are or soon will be retired, and name a successor for a preset's judge."""
    from .. import exams
    from ..core import catalogue, settings
    from ..painters import ApiPainter
    from ..running.batch import payers

    names = [payer.spec if isinstance(payer, ApiPainter) else payer.name for payer in payers(plan)]
    preset_judge = None if asking.judges else exams.kind(plan.exam.kind).preset(asking.preset).get("judge")
    models, day = settings.load().models, catalogue.today()
    for name, warning in catalogue.lifetime_warnings(names, models, day).items():
        say(f"warning: {warning}", err=True)
        if name == preset_judge and (successor := catalogue.successor_of(name, models, day)) is not None:
            say(
                f"preset {asking.preset} uses the judge {name}; --judge {successor} is another evaluator, whose scores "
                "are not comparable with those of the paper's judge",
                err=True,
            )


def _describe_misnamed(painter: FolderPainter, plan: Plan) -> list[str]:
    """Return a note about files that look misnamed, if there are any."""
    from shlex import join

    everyone = (plan.whole or plan.exam).questions
    renames = painter.misnamed((q.id for q in plan.exam.questions), (q.id for q in everyone))
    if not renames:
        return []
    some = ", ".join(f"{old} for {new}" for old, new in renames[:3]) + (" …" if len(renames) > 3 else "")
    command = join(["limner", "exam", "rename", plan.exam.name, painter.spec.removeprefix("folder/")])
    files = "1 file looks" if len(renames) == 1 else f"{len(renames)} files look"
    return [f"{painter.name}: {files} misnamed: {some}; `{command}` lists how to rename them"]


def _print_counts(given: dict[str, Any], counts: dict[str, Any], unpriced: list[str] | None) -> None:
    """Print what is to be done and, with a budget, which prices are unknown."""
    if given["form"] == "json":
        say(json.dumps(counts if unpriced is None else {**counts, "unpriced": unpriced}))
    else:
        from ..core.plot_data import plural

        questions, *work = (plural(counts[f"{noun}s"], noun) for noun in ("question", "drawing", "marking"))
        say(f"to do for {questions}: {', '.join(work)}")
        for why in unpriced or ():
            say(f"--budget cannot be enforced: {why}")
        if unpriced == []:
            say("--budget can be enforced: every price is known")


def report_outcome(given: dict[str, Any], progress: Progress, store: Store) -> None:
    """Print what was done, what failed, and how to continue."""
    if progress.cut:
        prompts = "1 prompt was" if progress.cut == 1 else f"{progress.cut} prompts were"
        say(f"note: {prompts} too long for the painter and cut off; `limner show EXAM ID` shows what was cut", err=True)
    body = {
        "done": progress.done, "stored": progress.stored, "failed": progress.failed,
        "failures": dict(progress.failures), "asked_again": progress.asked_again,
        "causes": [asdict(cause) for cause in progress.by_count()],
        "not_applicable": progress.not_applicable,
        "spent": round(progress.spent, 6), "unpriced_calls": progress.unpriced, "doubted_calls": progress.doubted,
        "interrupted": progress.interrupted, "store": store.url,
    }  # fmt: skip
    if given.get("batch"):
        body["submitted"] = progress.submitted
    if given["form"] == "json":
        say(json.dumps(body))
        return
    say_failures(progress)
    if progress.submitted:
        calls = "1 call is" if progress.submitted == 1 else f"{progress.submitted} calls are"
        say(f"{calls} in batches: run the same command again to fetch them; `limner batches` shows them", err=True)
    if progress.interrupted:
        say("interrupted; run the same command again to resume", err=True)


REFRESHES_PER_SECOND = 5

MAX_BAR_COLUMNS = 40
BUDGET_HINT = (
    "each call reserves the most that it can cost: a higher --budget, or shorter replies (--judge-arg "
    "max_completion_tokens=N), lets more calls go at once"
)


@contextmanager
def show_progress(progress: Progress | None = None) -> Iterator[Callable[[Progress], None]]:
    """Show a run's progress inside the block; yield the function to call after every step.

    Args:
        progress: The progress before the first step, if it is known.
    """
    if not sys.stderr.isatty():
        yield _PlainProgress()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    if console.is_dumb_terminal:
        yield _PlainProgress()
        return
    bars = ProgressBars(progress)
    with Live(
        bars, console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=False, vertical_overflow="crop"
    ):
        try:
            yield bars.watch
        finally:
            bars.ended = True


class _PlainProgress:
    """Progress in plain text: a line every few seconds, and one at the end."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 5

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next or progress.settled >= progress.total:
            self._next = time.monotonic() + 10
            say(progress.describe(time.monotonic()), err=True)


class ProgressBars:
    """Progress bars: one for each painter, probe and judge, and one for the whole run.

    Attributes:
        ended: Whether the run has ended, so that one line is left.
    """

    def __init__(self, progress: Progress | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress, self._clock, self.ended = progress, clock, False

    def watch(self, progress: Progress) -> None:
        """Set the progress to show from now on."""
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        from ..calls.usage import BUDGET

        progress = self._progress
        if progress is None or not progress.total:
            return
        if self.ended:
            yield Text(progress.describe(self._clock()), no_wrap=True, overflow="ellipsis")
            return
        room = max(3, console.size.height - 4)
        yield self._table(progress, options.max_width, room)
        if counts := progress.counts()[1:-1]:
            yield Text(" · ".join(counts), "dim")
        if progress.waiting:
            waiting = ", ".join(f"{count} for {_printable(what)}" for what, count in progress.waiting.items())
            yield Text(f"waiting calls: {waiting}", "yellow")
        if BUDGET in progress.waiting:
            yield Text(BUDGET_HINT, "yellow")
        if progress.interrupted:
            yield Text("stopping when the calls in flight are done; press Ctrl-C again to quit immediately", "yellow")

    def _table(self, progress: Progress, width: int, room: int) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        at, parts = self._clock(), list(progress.parts.items())
        if len(parts) > room:
            parts = sorted(parts, key=lambda named: named[1].settled >= named[1].total)[:room]
        rows = [(action, _printable(name), part) for (action, name), part in parts]
        rows.append(("all" if parts else "", "", progress))
        table = Table.grid(padding=(0, 1), expand=False)
        table.add_column(no_wrap=True, style="dim")
        # If space is short, the bars become shorter first.
        names = min(max(len(name) for _, name, _ in rows), width // 4 - 2)
        table.add_column(no_wrap=True, overflow="ellipsis", width=names)
        table.add_column(max_width=MAX_BAR_COLUMNS)
        for _ in range(5):
            table.add_column(no_wrap=True, justify="right")
        for action, name, part in rows:
            drawn = ProgressBar(
                total=max(1, part.total), completed=min(part.settled, part.total),
                complete_style="yellow" if part.failed else "cyan", finished_style="yellow" if part.failed else "green",
            )  # fmt: skip
            style, cells = "bold" if part is progress and parts else "", self._numbers(part, at)
            table.add_row(action, Text(name, style), drawn, *(Text(cell, _style(cell) or style) for cell in cells))
        return table

    def _numbers(self, part: Progress, at: float) -> tuple[str, ...]:
        """Return settled steps, failures, rate, spending and remaining time."""
        failed = f"{part.failed} failed" if part.failed else ""
        return f"{part.settled}/{part.total}", failed, f"{part.rate(at):.1f}/s", _money(part), self._left(part, at)

    def _left(self, part: Progress, at: float) -> str:
        from ..running.progress import duration

        if part.settled >= part.total:
            return "done"
        # Some kinds of steps take a hundred times longer than others, so the slowest kind decides.
        open_parts = [each for each in part.parts.values() if each.settled < each.total] or [part]
        times = [each.seconds_left(at) for each in open_parts]
        left = None if None in times else max(seconds for seconds in times if seconds is not None)
        return "…" if left is None else f"{duration(left)} left"


def _style(cell: str) -> str:
    return "red" if cell.endswith(" failed") else "dim" if cell == "done" else ""


def _money(part: Progress) -> str:
    from ..running.progress import spent_text

    if part.unpriced:
        return f"at least {spent_text(part.spent)}" if part.spent else "price unknown"
    return spent_text(part.spent)


def _printable(text: str) -> str:
    from ..core.redaction import printable

    return " ".join(printable(text).split())
