"""The Python API: what the command line calls, in a few functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import exams, settings
from .errors import StoreError, UsageError
from .evidence.probe import OcrProbe
from .exam import Exam, Selection
from .exams import Named
from .images import Preparer
from .judges import Judge, make_variant, open_judge
from .painters import open_painter
from .protocol import READINGS, Reading
from .runner import Plan, Progress, Runner
from .scoring import Group, Standing, load_groups, standings
from .store import DEFAULT, Store
from .store.records import kind_of, load_exam


@dataclass(frozen=True)
class Asking:
    """How judges are asked.

    Attributes:
        judges: ``ocr``, ``replay/FILE`` or ``provider/model``.
        args: Arguments sent along with every judge call.
        preset: Named settings of the exam, such as ``paper``; whatever is given here goes before it.
        prompts: A folder of the user's own wording.
    """

    judges: Sequence[str] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    variant: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = None
    prompts: Path | None = None


def load(exam: str, data: Path | str | None, store: Store | None = None) -> tuple[Named, Exam[Any]]:
    """The exam from its data folder, or from the store when it is there and no folder is named."""
    path = Path(data) if data is not None else None
    if store is not None and path is None and not exam.endswith(".toml"):
        try:
            kind = kind_of(store, exam)
        except StoreError:
            pass
        else:
            return Named(exam, kind, None), load_exam(store, exam, exams.kind(kind).rubric)
    named = exams.resolve(exam, path)
    return named, exams.read(named)


def plan(
    exam: str,
    store: Store,
    *,
    data: Path | str | None = None,
    painters: Sequence[str] = (),
    asking: Asking | None = None,
    selection: Selection | None = None,
    draw: bool = True,
    **how: Any,
) -> Plan:
    """Put a run together; nothing is called yet. `how` goes to `limner.runner.Plan`."""
    if draw:
        named, whole = load(exam, data, store)
    else:
        named = _stored(exam, store)
        whole = load_exam(store, named.name, exams.kind(named.kind).rubric)
    ocr = OcrProbe()
    opened = [open_painter(word, whole, store.blobs, ocr) for word in painters] if draw else []
    names = [painter.name for painter in opened]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two painters are called {name!r}; give one another name: --painter other={name}")
    chosen = whole.select(selection or Selection())
    if not chosen.questions:
        raise UsageError("no question is selected")
    judges = _judges(named, asking or Asking(), store, ocr)
    # Without drawing, painters are named by the row they have; an alias stands before the first "=".
    only = frozenset(word.split("=", 1)[0] if "=" in word else word for word in painters) or None
    return Plan(chosen, opened, judges, draw=draw, only_painters=only, **how)


def kind_in(exam: str, store: Store) -> str:
    """The kind of an exam in the store."""
    return _stored(exam, store).kind


def _stored(exam: str, store: Store) -> Named:
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    return Named(name, kind_of(store, name), None)


def _judges(named: Named, asking: Asking, store: Store, ocr: OcrProbe) -> list[Judge]:
    kind = exams.kind(named.kind)
    preset = kind.preset(asking.preset) if asking.preset else {}
    specs = asking.judges or ([preset["judge"]] if "judge" in preset else [])
    variant = make_variant(
        kind,
        asking.variant or preset.get("variant"),
        {**preset.get("options", {}), **asking.options},
        asking.prompts,
    )
    args = {**preset.get("judge_args", {}), **asking.args}
    known, images = settings.load(), Preparer(store.blobs.get)
    return [open_judge(spec, args, kind, variant, known, images, store.blobs, ocr) for spec in specs]


def deviations(exam_kind: str, asking: Asking) -> list[str]:
    """How this asking differs from its preset, in words; nothing without a preset."""
    if asking.preset is None:
        return []
    preset = exams.kind(exam_kind).preset(asking.preset)
    found = [f"judge {j} instead of {preset['judge']}" for j in asking.judges if j != preset.get("judge")]
    if asking.variant not in (None, preset.get("variant")):
        found.append(f"variant {asking.variant} instead of {preset.get('variant')}")
    for kept, given in (("judge_args", asking.args), ("options", asking.options)):
        for name, value in given.items():
            usual = preset.get(kept, {}).get(name)
            if value != usual:
                found.append(f"{name}={value}" + (f" instead of {usual}" if usual is not None else " added"))
    if asking.prompts is not None:
        found.append(f"prompts from {asking.prompts}")
    return found


@contextmanager
def opened(store: Store | str | Path, *, create: bool = False) -> Iterator[Store]:
    """A store by URL, closed at the end; a store that is open already stays open."""
    if isinstance(store, Store):
        yield store
    else:
        with Store(store, create=create) as fresh:
            yield fresh


def run(
    exam: str,
    *,
    painters: Sequence[str] = (),
    judges: Sequence[str] = (),
    data: Path | str | None = None,
    store: Store | str | Path = DEFAULT,
    selection: Selection | None = None,
    asking: Asking | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> Progress:
    """Draw and mark what is missing; run it again to resume.

    Args:
        exam: An installed exam's name, ``sample/NAME``, or the path of an exam.toml.
        painters: Such as ``folder/./images`` or ``mine=folder/./images``; without judges they only draw.
        judges: Such as ``ocr`` or ``openai/gpt-5``.
        data: The exam's data folder; not needed once the store has the exam.
        store: A folder or database URL.
        selection: Which questions; all by default.
        asking: Everything about the judges beyond their names.
        watch: Called after every step.
        **how: ``seeds``, ``repeats``, ``concurrency``, ``retry_failed``, ``draw``; see `limner.runner.Plan`.
    """
    with opened(store, create=True) as open_store:
        asking = asking or Asking(judges=judges)
        made = plan(exam, open_store, data=data, painters=painters, asking=asking, selection=selection, **how)
        return Runner(made, open_store, watch).run()


def groups(
    exam: str,
    *,
    store: Store | str | Path = DEFAULT,
    painters: Sequence[str] = (),
    judges: Sequence[str] = (),
    reading: str = "careful",
    variant: str | None = None,
    selection: Selection | None = None,
) -> tuple[str, list[Group]]:
    """The exam's kind and everything marked, drawing by drawing."""
    with opened(store) as open_store:
        named = _stored(exam, open_store)
        found = load_groups(
            open_store,
            named.name,
            reading=_reading(reading),
            painters=painters,
            judges=judges,
            variant=variant,
        )
        if selection is not None and selection != Selection():
            whole = load_exam(open_store, named.name, exams.kind(named.kind).rubric)
            ids = {question.id for question in whole.select(selection).questions}
            found = [_only(group, ids) for group in found]
        return named.kind, [group for group in found if group.entries]


def _only(group: Group, ids: set[str]) -> Group:
    kept = tuple(entry for entry in group.entries if entry.question.id in ids)
    return Group(group.painter, group.strategy, group.judge, group.setup, kept)


def _reading(word: str) -> Reading:
    for reading in READINGS:
        if word == reading:
            return reading
    raise UsageError(f"no reading {word!r}; there is: {', '.join(READINGS)}")


def scores(exam: str, *, by: Sequence[str] = (), reading: str = "careful", **which: Any) -> list[Standing]:
    """Every painter's numbers under every judge.

    Args:
        exam: The exam's name in the store.
        by: Tags to break the numbers down by; ``dimension`` lists the exam's dimensions.
        reading: How stored replies are read: ``careful``, ``paper`` or ``release``.
        **which: ``store``, ``painters``, ``judges``, ``variant``, ``selection``; see `groups`.
    """
    kind, found = groups(exam, reading=reading, **which)
    protocol = exams.kind(kind).protocol
    tags = {tag for group in found for entry in group.entries for tag in entry.question.tags}
    for tag in by:
        if found and tag not in tags and not (tag == "dimension" and protocol.dimensions):
            raise UsageError(f"--by {tag}: there is: {', '.join(sorted(tags | {'dimension'}))}")
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    return standings(name, found, protocol, _reading(reading), by)
