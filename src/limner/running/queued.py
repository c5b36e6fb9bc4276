"""A run as a stored plan: what to run goes into the store, and a worker makes the same run of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..calls import digest
from ..calls.keys import canonical
from ..calls.purse import open_purse
from ..core.errors import UsageError
from ..core.exam import Selection
from ..core.redaction import has_secrets
from ..core.row_names import name_and_spec
from ..evidence.backends import Measuring
from ..store import Store
from ..store.plans import OPEN, SHOWN, StoredPlan, save_plan
from ..store.records import add_exam
from .backlog import Backlog
from .plan import Plan
from .runner import Runner
from .setup import Asking, make_plan

OF_EXAM = ("data", "selection")
"""Words that say where the questions are: the questions themselves are stored in their place."""
HOW = ("retry_failed", "concurrency", "devices", "purse")
"""Words that change nothing about what is drawn and marked: with others it is still the same plan."""
NAMED = 5
"""So many questions that changed are named."""
HASH = 16
"""So many characters of a question's hash are kept."""
WITHDRAW = "withdraw this plan (`limner work --withdraw {plan}`) and queue the run again"


@dataclass(frozen=True)
class Queued:
    """A plan in the store, and what a user should know of it.

    Attributes:
        run: What it comes to.
        drawings: How many are to be made.
        markings: How many are to be made.
    """

    plan: StoredPlan
    run: Plan
    drawings: int
    markings: int
    notes: tuple[str, ...]


def check_plan(exam: str, store: Store, **words: Any) -> Plan:
    """What is to be queued, with nothing stored; `words` are those of `make_plan`.

    Raises:
        UsageError: The words are wrong, hold a key, or ask for a budget that cannot be kept.
    """
    if has_secrets(_plain(words)):
        raise UsageError(
            "--queue: the words of this run hold a key, and keys never go into the store; "
            "set it in the environment of every worker, under the provider's key_env"
        )
    plan = make_plan(exam, store, **words)
    Runner(plan, store).check(keys=False)
    return plan


def queue_plan(
    exam: str,
    store: Store,
    *,
    budget: float | None = None,
    purse: str | None = None,
    change_purse: bool = False,
    **words: Any,
) -> Queued:
    """Store a run, to be made by whoever works on this store; `words` are those of `make_plan`.

    The exam's questions are stored too: a worker needs no data folder. A plan that is there is asked for again. With a
    budget and no purse it gets a purse of its own, so that all workers together keep to it.

    Raises:
        UsageError: See `check_plan`; or it comes to something else when it is read back from the store.
    """
    first = check_plan(exam, store, budget=budget, purse=purse, change_purse=change_purse, **words)
    if first.draw:
        add_exam(store, first.whole or first.exam)
    body, made = _plain({name: value for name, value in words.items() if name not in OF_EXAM}), came_to(first, store)
    kept = {name: value for name, value in body.items() if name not in HOW}
    id = digest("plan-1", first.exam.name, kept, made)
    own = f"plan {id[:SHOWN]}"
    name = purse or (own if budget is not None else None)
    plan = StoredPlan(id, first.exam.name, OPEN, {**body, "purse": name}, made)
    again = reopen(plan, store)
    notes = [_told(*place) for place in local_places(body).items()]
    if name is not None:
        notes += filter(None, [open_purse(store, name, budget, change=change_purse or name == own)])
    save_plan(store, plan)
    return Queued(plan, again, *Backlog(again, store).counts(), tuple(notes))


def reopen(plan: StoredPlan, store: Store, **how: Any) -> Plan:
    """The run that a stored plan asks for, from the store alone; `how` goes before the plan's own words.

    Raises:
        UsageError: It comes to something else here than where it was queued; says what, and the fix.
    """
    words = {**plan.body, **{name: value for name, value in how.items() if value is not None}}
    words["asking"] = Asking(**words["asking"])
    words["measuring"] = Measuring(**words["measuring"]) if words.get("measuring") else None
    wanted = Selection(ids=tuple(plan.made["questions"]))
    try:
        found = make_plan(plan.exam, store, selection=wanted, since=plan.queued, **words)
    except UsageError as error:
        raise UsageError(f"plan {plan.name} cannot be made here: {error}") from error
    _compare(plan, came_to(found, store))
    return found


def came_to(plan: Plan, store: Store) -> dict[str, Any]:
    """What a run comes to: its questions by content, who draws how, who marks how, what is measured."""
    backlog = Backlog(plan, store)
    arms = [[arm.painter.name, arm.strategy.name, backlog.options_of(arm.painter)] for arm in plan.arms]
    return {
        "questions": {question.id: question.hash[:HASH] for question in plan.exam.questions},
        "painters": arms or sorted(plan.only_painters or ()),
        "judges": [[judge.name, setup] for judge, setup in backlog.judges],
        "measures": [[probe.evidence, probe.name] for probe in plan.probes],
        "first_seed": plan.first_seed,
    }


def _compare(plan: StoredPlan, found: Mapping[str, Any]) -> None:
    fix = WITHDRAW.format(plan=plan.name)
    before, now = plan.made["questions"], found["questions"]
    if changed := [id for id, hash in before.items() if now.get(id) != hash]:
        which = ", ".join(changed[:NAMED]) + (" …" if len(changed) > NAMED else "")
        count = "1 question has" if len(changed) == 1 else f"{len(changed)} questions have"
        raise UsageError(
            f"plan {plan.name}: the exam {plan.exam} is another one now than when it was queued: {count} changed in "
            f"the store since ({which}); {fix}"
        )
    for part in ("painters", "judges", "measures", "first_seed"):
        if canonical(plan.made[part]) != canonical(found[part]):
            raise UsageError(
                f"plan {plan.name}: its {part.replace('_', ' ')} come to something else on this machine: "
                f"{canonical(found[part])}, where it was queued: {canonical(plan.made[part])}; use the same Limner, "
                f"limner.toml and prompts on every machine, or {fix}"
            )


def _plain(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a run as plain JSON."""
    found: dict[str, Any] = {}
    for name, value in words.items():
        if isinstance(value, Asking):
            value = {**asdict(value), "prompts": None if value.prompts is None else str(value.prompts)}
        elif isinstance(value, Measuring | Selection):
            value = asdict(value)
        elif isinstance(value, Path):
            value = str(value)
        found[name] = value
    found.setdefault("asking", asdict(Asking()))
    return found


def local_places(body: Mapping[str, Any]) -> dict[str, Path]:
    """The words of a plan that name a file or folder of this machine, and which."""
    found = {}
    own = body["asking"]["prompts"]
    if own is not None:
        found[own] = Path(own.removeprefix("release:"))
    for word in (name_and_spec(text)[1] for text in _texts(body) if "/" in text and text != own):
        rest = word.partition("/")[2]
        for place in (word, rest, f"{rest.partition(':')[0]}.py"):  # A painter may be a module, too.
            if rest and _exists(place):
                found[word] = Path(place)
    return found


def _exists(place: str) -> bool:
    try:
        return Path(place).exists()
    except (OSError, ValueError):
        return False


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _told(word: str, place: Path) -> str:
    where = "" if place.is_absolute() else ", seen from the folder it is started in"
    return f"the plan names a place on this machine, {word}: every worker must find the same there{where}"
