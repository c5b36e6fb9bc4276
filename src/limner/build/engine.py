"""The engine of builds: it opens them, runs what is not done yet, step by step, and stores each outcome immediately."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ..calls import Budget, Calls, Fault, Limits, purpose
from ..calls.budget import check_purse, open_purse
from ..core.asks import Prompts
from ..core.errors import LimnerError, UsageError
from ..core.exam import Exam
from ..core.images import Preparer
from ..core.loops import process_all, run_to_end
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..models import open_model
from ..painters import Painter, open_painter
from ..running.estimate import spent
from ..running.progress import Progress
from ..running.runner import Stopping
from ..running.steps import RepeatedErrors, outcome
from ..store import Store
from . import records
from .base import BuildItem, Dropped, GenericSettings, OpenModel, StepContext, StepOutcome, Waiting
from .recipe import BuildRecipe, RecipeStep, check_recipe, open_recipe, parse_settings
from .records import Build, BuildRow, Flow, Items, StepCount, count_like_paper, items_of_sort


@dataclass(frozen=True)
class Spending:
    """The limits on how much a run may spend, and how fast."""

    budget: float | None = None
    purse: str | None = None
    change_purse: bool = False
    concurrency: int = 64
    retry_failed: bool = False
    limits: Mapping[str, Limits] = field(default_factory=dict)


@dataclass
class Builder:
    """A build that can be inspected or run.

    Attributes:
        models: Models by the build's roles; only the roles of steps that are run need one.
        painters: Painters by the build's roles.
        prompts: The wording.
    """

    build: Build
    recipe: BuildRecipe
    store: Store
    prompts: Prompts
    models: Mapping[str, OpenModel] = field(default_factory=dict)
    painters: Mapping[str, Painter] = field(default_factory=dict)

    def flow(self) -> Flow:
        """Return the flow with the current reviews; it decides what has to be done."""
        reviews = records.load_reviews(self.store, self.build.name)
        order = [place.name for place in self.recipe.places]
        return Flow(self.build.body.get("roles", {}), self.prompts, reviews, order)

    def look(self, until: str | None = None) -> tuple[list[StepCount], Items]:
        """Return the counts of every step so far, and the items that passed the last step or the step `until`."""
        stages = list(self.stages(until))
        return [count for _, _, count, _ in stages], stages[-1][3]

    def stages(self, until: str | None = None) -> Iterator[tuple[RecipeStep, Items, StepCount, Items]]:
        """Yield every step with the items before it, its counts so far, and the items after it."""
        flow, items = self.flow(), Items()
        sums = spent(self.store, ("exam", "painter"))
        paid = {each.group["painter"]: each for each in sums if each.group["exam"] == purpose_of(self.build.name)}
        for place in self._places(until):
            before = items
            items, count, _ = flow.pass_on(place, before, records.load_rows(self.store, self.build.name, place.name))
            if (sum_of_step := paid.get(place.name)) is not None:
                count.cost = None if sum_of_step.unpriced else sum_of_step.dollars
            mine = {item.id: item for item in items_of_sort(items, place.step.makes)}
            for mile in self.recipe.paper:
                if mile.after == place.name and (mile.distinct or mile.where):
                    count.miles[mile.said] = count_like_paper(mile, mine)
            yield place, before, count, items

    def arriving(self, name: str) -> Items:
        """Return the items that have reached the step `name`."""
        places = [place.name for place in self.recipe.places]
        at = places.index(name)
        return self.look(places[at - 1])[1] if at else {}

    def _places(self, until: str | None) -> list[RecipeStep]:
        places = list(self.recipe.places)
        names = [place.name for place in places]
        if until is None:
            return places
        if until not in names:
            raise UsageError(f"recipe {self.recipe.name} has no step {until!r}; its steps are: {', '.join(names)}")
        return places[: names.index(until) + 1]

    def check(self, how: Spending, until: str | None = None) -> None:
        """Check that the build can run, before any call is made.

        Raises:
            UsageError: A role has no model, a key or a package is missing, or a budget cannot be enforced.
        """
        places = self._places(until)
        players: dict[str, OpenModel | Painter] = {**self.models, **self.painters}
        for place in places:
            self.prompts.hash(*place.step.prompts)
            if isinstance(place.settings, GenericSettings):
                place.settings.check_packages()
            for role in place.step.roles:
                if role not in players and role not in place.step.optional:
                    about = f" ({self.recipe.roles[role]})" if role in self.recipe.roles else ""
                    raise UsageError(f"step {place.name} needs the {role}{about}: -S {role}=PROVIDER/MODEL")
        asked = dict.fromkeys(role for place in places for role in place.step.roles)
        models = [players[role] for role in asked if role in players]
        for model in models:
            model.check()
        Budget(how.budget)
        if how.purse is not None:
            check_purse(self.store, how.purse, how.budget, change=how.change_purse)
        elif how.change_purse:
            raise UsageError("--change-purse: name the purse with --purse")
        if how.budget is not None or how.purse is not None:
            unpriced = list(dict.fromkeys(why for model in models if (why := model.unpriced()) is not None))
            if unpriced:
                raise UsageError(f"--budget cannot be enforced: {'; '.join(unpriced)}")

    def run(
        self, how: Spending, until: str | None = None, watch: Callable[[Progress], None] = lambda _: None
    ) -> Progress:
        """Run the build as far as possible; the first Ctrl-C lets calls in flight finish, the second quits.

        Raises:
            UsageError: See `check`.
            StopRun: Every further call would fail in the same way.
        """
        self.check(how, until)
        if how.purse is not None:
            open_purse(self.store, how.purse, how.budget, change=how.change_purse)
        running = _Run(self, how, Progress(), watch)
        run_to_end(running.all(self._places(until)), running.stop)
        if running.error is not None:
            raise running.error
        return running.progress


def purpose_of(build: str) -> str:
    """Return the name under which the calls of a build are stored; their painter is the step."""
    return f"build/{build}"


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GONE = "no longer in the source"
"""Why a reviewed item that its source does not make any more would be dropped."""


class BuildChange(TypedDict, total=False):
    """Changes of a build.

    Attributes:
        settings: ``STEP.SETTING=VALUE`` words.
        roles: Role -> ``provider/model``, and ``role.argument`` -> value.
        prompts: A folder with the user's own wording.
    """

    settings: Sequence[str]
    roles: Mapping[str, str]
    prompts: Path | None


def new_build(store: Store, name: str, recipe: str, **change: Unpack[BuildChange]) -> Builder:
    """Create a build; no step is run yet.

    Args:
        store: The store of the build.
        name: The name of the build and of the exam that it makes.
        recipe: A recipe's name, or the path of a ``recipe.toml``.
        **change: What differs from the recipe.

    Raises:
        UsageError: The build exists already, or a setting is not valid.
        DataError: Something in the user's own recipe is not valid.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name: use at most 100 letters, digits, dots, dashes and underscores")
    if any(build.name == name for build in records.load_builds(store)):
        raise UsageError(f"{store.url} already has a build {name!r}; `limner build run {name}` continues it")
    opened = open_recipe(recipe)
    if opened.name != recipe:
        check_recipe(opened.file)
    return change_build(store, Build(name, recipe if opened.name == recipe else str(opened.file)), **change)


def change_build(store: Store, build: Build, *, keep: bool = True, **change: Unpack[BuildChange]) -> Builder:
    """Return the build with other settings, roles or wording, which are also stored for later runs if `keep` is true.

    Raises:
        UsageError: Something is not valid; then nothing is stored.
    """
    recipe, roles, prompts = open_recipe(build.recipe), change.get("roles") or {}, change.get("prompts")
    body = {"settings": {}, "roles": {}, "prompts": None} | build.body
    chosen = {step: dict(given) for step, given in body["settings"].items()}
    for step, given in parse_settings(change.get("settings", ())).items():
        chosen.setdefault(step, {}).update(given)
    recipe = recipe.with_settings(chosen)
    asked = recipe.asked_roles()
    if unknown := [role for role in roles if role.partition(".")[0] not in asked]:
        names = ", ".join(asked) or "none"
        raise UsageError(f"recipe {recipe.name} has no role {unknown[0]!r}; its roles are: {names}")
    body["settings"], body["roles"] = _absolute(recipe, chosen), {**body["roles"], **roles}
    if prompts is not None:
        body["prompts"] = str(prompts.resolve())
    recipe, changed = recipe.with_settings(body["settings"]), replace(build, body=body)
    builder = Builder(changed, recipe, store, recipe.prompts(Path(body["prompts"]) if body["prompts"] else None))
    if keep:
        records.save_build(store, changed)
    return builder


def open_build(store: Store, name: str) -> Builder:
    """Open the build of this name for reading.

    Raises:
        UsageError: There is none.
    """
    return change_build(store, records.load_build(store, name), keep=False)


def with_models(builder: Builder, settings: Settings) -> Builder:
    """Return the build with the models and painters of its roles, ready to run."""
    roles, blobs = builder.build.body["roles"], builder.store.blobs
    images, empty = Preparer(blobs.get), Exam[Any](builder.build.name, builder.recipe.exam, ())
    models: dict[str, OpenModel] = {}
    painters: dict[str, Painter] = {}
    drawing = builder.recipe.drawing_roles()
    for role in builder.recipe.asked_roles():
        if role not in roles:
            continue
        args = {name.partition(".")[2]: value for name, value in roles.items() if name.startswith(f"{role}.")}
        if role in drawing:
            painters[role] = open_painter(roles[role], empty, blobs, OcrProbe(), settings, args)
        else:
            models[role] = open_model(roles[role], args, settings, images)
    return replace(builder, models=models, painters=painters)


def _absolute(recipe: BuildRecipe, chosen: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Make the paths in settings absolute, so that later runs work from any folder."""
    places = {place.name: place.settings for place in recipe.places}

    def absolute(step: str, name: str, given: Any) -> Any:
        value = getattr(places.get(step), name, None)
        if isinstance(value, Path):
            return str(value.resolve())
        paths = [str(path.resolve()) for path in value if isinstance(path, Path)] if isinstance(value, tuple) else []
        return paths or given

    return {step: {name: absolute(step, name, given) for name, given in own.items()} for step, own in chosen.items()}


class _Run:
    """One run of a build."""

    def __init__(self, builder: Builder, how: Spending, progress: Progress, watch: Callable[[Progress], None]) -> None:
        self.builder, self.how, self.progress, self.watch = builder, how, progress, watch
        self.store, self.name, self.flow = builder.store, builder.build.name, builder.flow()
        self.error: BaseException | None = None
        self._beside: list[BuildItem] = []
        self._stopping, self._slips = Stopping(progress), RepeatedErrors()
        self._calls = Calls(
            self.store, retry_failed=how.retry_failed, budget=Budget(how.budget, how.purse), limits=how.limits,
            concurrency=how.concurrency,
        )  # fmt: skip

    def stop(self) -> None:
        """Start nothing new."""
        self._stopping.ask()

    async def all(self, places: Sequence[RecipeStep]) -> None:
        items = Items()
        self.progress.total = 1  # One more than counted until the last step is done.
        with self._stopping.signals():
            async with self._calls:
                for place in places:
                    if self._stopping.asked or self.error is not None:
                        break
                    with purpose(purpose_of(self.name), place.name):
                        await self._step(place, items)
                    items, _, _ = self.flow.pass_on(place, items, records.load_rows(self.store, self.name, place.name))
        self.progress.total -= 1
        self.progress.account(self._calls.tally)
        self.watch(self.progress)

    def _context(self, place: RecipeStep, rounds: int = 0) -> StepContext:
        builder = self.builder
        return StepContext(
            self.name, place.name, place.settings, builder.prompts, builder.recipe.folder, builder.recipe.code,
            builder.models, self._calls, self.store.blobs, self._beside, self.flow.reviews, rounds,
            painters=builder.painters,
        )  # fmt: skip

    async def _step(self, place: RecipeStep, items: Items) -> None:
        step, rows = place.step, records.load_rows(self.store, self.name, place.name)
        self._beside = items_of_sort(items, step.beside) if step.beside else []
        if step.source is not None:
            await self._source(place, step.source(list(items.values()), self._context(place)), rows)
            return
        _, count, to_do = self.flow.pass_on(place, items, rows)
        self.progress.total += count.arrived
        self.progress.stored += count.arrived - len(to_do)
        try:
            if step.together is None:
                work = partial(self._work, place, items, rows, to_do)
                await process_all(to_do, work, min(self.how.concurrency, len(to_do)), lambda: self._stopping.asked)
            elif to_do or (step.reviewed and self.flow.reviews.keys() - items.keys()):
                await self._together(place, items, rows)
        except Exception as error:
            self.error = error

    async def _work(
        self, place: RecipeStep, items: Items, rows: Mapping[str, BuildRow], given: Mapping[str, str], id: str
    ) -> None:
        """Store the row of one item after a step; a fault is an outcome too."""
        before, rounds, made = rows.get(id), 0, self._calls.tally.made
        if before is not None and before.status == "failed" and before.given == given[id]:
            rounds = int((before.body or {}).get("rounds", 0))
            rounds += self.how.retry_failed and (before.reason or "").startswith("unreadable")
        context = self._context(place, rounds)
        seen = BuildItem(id, place.step.seen(items[id].body), items[id].sort)
        result, fault = await outcome(_outcome_of(place, seen, context))
        row = BuildRow(self.name, place.name, id, given[id], "failed", cost=context.cost)
        if result is not None:
            row = _with_outcome(row, result, seen.body, before)
        elif fault is not None:
            row = replace(row, reason=f"{fault.kind}: {fault.detail}", body={**_fields(before), "rounds": rounds})
        self._slips.count(place.name, row.reason if fault is not None else None, row.reason)
        await asyncio.wrap_future(records.save_rows(self.store, [row]))
        self._report(row, stored=self._calls.tally.made == made and bool(place.step.roles))

    async def _together(self, place: RecipeStep, items: Items, stored: Mapping[str, BuildRow]) -> None:
        context, step = self._context(place), place.step
        assert step.together is not None
        mine = {item.id: replace(item, body=step.seen(item.body)) for item in items_of_sort(items, step.takes)}
        left = await step.together(list(mine.values()), context)
        rows, whole = list[BuildRow](), self.flow.whole(place, items)
        for id, result in left.items():
            seen = mine[id].body if id in mine else {}
            row = BuildRow(self.name, place.name, id, whole, "done")
            rows.append(_with_outcome(row, result, seen, stored.get(id)))
        if rows and context.cost != 0.0:
            rows[0] = replace(rows[0], cost=context.cost)
        await asyncio.wrap_future(records.save_rows(self.store, rows))
        for row in rows:
            self._report(row, stored=False)

    async def _source(
        self, place: RecipeStep, source: AsyncIterator[BuildItem | tuple[str, Dropped]], rows: Mapping[str, BuildRow]
    ) -> None:
        seen = set[str]()
        try:
            async for made in source:
                id, outcome = (made.id, made) if isinstance(made, BuildItem) else made
                if self._stopping.asked:
                    return
                seen.add(id)
                self.progress.total += 1
                old = rows.get(id)
                row = _with_outcome(BuildRow(self.name, place.name, id, "", "done"), outcome, {}, old)
                if old is None or (old.status, old.reason, old.body) != (row.status, row.reason, row.body):
                    await asyncio.wrap_future(records.save_rows(self.store, [row]))
                self._report(row, stored=old is not None)
        except (LimnerError, Fault) as error:
            self.error = error
            return
        gone = rows.keys() - seen
        kept = [replace(rows[id], status="dropped", reason=GONE) for id in gone if self.flow.keeps(place, rows[id])]
        await asyncio.wrap_future(records.save_rows(self.store, kept))
        if gone := gone - {row.item for row in kept}:
            await asyncio.to_thread(records.forget_rows, self.store, self.name, place.name, gone)

    def _report(self, row: BuildRow, *, stored: bool) -> None:
        kind, _, detail = (row.reason or "").partition(": ")
        status = "failed" if row.status == "failed" else "done"
        self.progress.count(f"{row.step} {row.item}", status, kind, detail, stored=stored)
        self.progress.account(self._calls.tally)
        self.watch(self.progress)


async def _outcome_of(place: RecipeStep, item: BuildItem, context: StepContext) -> StepOutcome:
    assert place.step.each is not None
    try:
        return await place.step.each(item, context)
    except (Dropped, Waiting) as reason:
        return reason


def _with_outcome(
    row: BuildRow, outcome: StepOutcome, seen: Mapping[str, Any], before: BuildRow | None = None
) -> BuildRow:
    """Return the row completed with the outcome; it keeps only the fields that the step changed.

    Any other item keeps the fields of the row before, which it needs if it is dropped and people have reviewed it.
    """
    if isinstance(outcome, BuildItem):
        changes = {name: value for name, value in outcome.body.items() if seen.get(name, ...) != value}
        return replace(row, status="done", body=changes)
    status = "dropped" if isinstance(outcome, Dropped) else "waiting"
    return replace(row, status=status, reason=str(outcome), body=_fields(before) or None)


def _fields(row: BuildRow | None) -> dict[str, Any]:
    """Return the fields that a step last set for an item, however it ended since then."""
    return {name: value for name, value in ((row.body if row else None) or {}).items() if name != "rounds"}
