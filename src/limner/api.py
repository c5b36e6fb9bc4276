"""The Python API: what the command line calls, in a few functions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import exams, settings
from .calls import Limits
from .errors import NoStore, StoreError, UsageError
from .evidence.backends import Measuring, open_probes
from .evidence.kinds import evidence_names
from .evidence.probe import OcrProbe
from .exam import Exam, Selection
from .exams import Kind, Named
from .images import Preparer
from .judges import Judge, make_variant, open_judge, split_wording
from .models import ChatModel, ReplayModel, open_model
from .painters import PAINTERS, Painter, name_and_spec, open_painter, with_devices
from .protocol import READINGS, Reading
from .runner import Plan, Progress, Runner
from .scoring import ON, Group, On, Standing, Which, load_groups, standings, without_flagged
from .store import DEFAULT, Store
from .store.records import kind_of, load_drawings, load_exam
from .ways import make_ways

OWN_S = 24 * 3600.0
"""How long a user's own painter or pipeline may take for one image: a local model is slow, but not for ever."""


@dataclass(frozen=True)
class Asking:
    """How judges are asked.

    Attributes:
        judges: ``ocr``, ``replay/FILE`` or ``provider/model``.
        args: Arguments sent along with every judge call.
        preset: Named settings of the exam, such as ``paper``; whatever is given here goes before it.
        prompts: A folder of the user's own wording.
        wording: Which shipped wording asks, by version or hash, and which rules the OCR examiner marks by, by name; the
            newest by default.
    """

    judges: Sequence[str] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    variant: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = None
    prompts: Path | None = None
    wording: Sequence[str] = ()


def load(exam: str, data: Path | str | None, store: Store | str | Path) -> tuple[Named, Exam[Any]]:
    """The exam from its data folder, or from the store when it is there and no folder is named."""
    path = Path(data) if data is not None else None
    if path is None and not exam.endswith(".toml"):
        try:
            with opened(store) as open_store:
                kind = kind_of(open_store, exam)
                return Named(exam, kind, None), load_exam(open_store, exam, exams.kind(kind).rubric)
        except StoreError:
            pass  # No store yet, or not this exam in it.
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
    painter_options: Mapping[str, Any] | None = None,
    devices: str | None = None,
    strategies: Sequence[str] = (),
    strategy_options: Mapping[str, str] | None = None,
    measuring: Measuring | None = None,
    draw: bool = True,
    **how: Any,
) -> Plan:
    """Put a run together; nothing is called yet. `how` goes to `limner.runner.Plan`.

    What the exam needs is measured where drawings are marked, or where `measuring` asks for it. `devices` says where
    local pipelines run, such as ``0,1``.
    """
    asking = asking or Asking()
    if draw:
        named, whole = load(exam, data, store)
    else:
        named = stored(exam, store)
        whole = load_exam(store, named.name, exams.kind(named.kind).rubric)
    ocr = OcrProbe()
    known = settings.load()
    kind = exams.kind(named.kind)
    preset = kind.preset(asking.preset) if asking.preset else {}
    asking, drawing = _split(asking, kind, preset)
    options = {**preset.get("painter_args", {}), **(painter_options or {})}
    how.setdefault("first_seed", preset.get("seed", 0))
    blank = kind.protocol.blank_size

    def open_one(word: str, own: Mapping[str, Any]) -> Painter:
        return open_painter(word, whole, store.blobs, ocr, known, with_devices(word, own, devices), blank)

    opened = [open_one(word, options) for word in painters] if draw else []
    names = [painter.name for painter in opened]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two painters are called {name!r}; give one another name: --painter other={name}")
    if draw:
        images = Preparer(store.blobs.get)

        def open_mind(spec: str, args: dict[str, Any]) -> ChatModel | ReplayModel:
            return open_model(spec, args, known, images)

        ways = make_ways(opened, strategies, strategy_options or {}, open_mind, open_one)
        opened = list({id(way.painter): way.painter for way in ways}.values())
        how["chosen_ways"] = ways
    chosen = whole.select(selection or Selection())
    if not chosen.questions:
        raise UsageError("no question is selected")
    judges = _judges(named, asking, store, ocr)
    only = None if draw or not painters else _known_painters(painters, named.name, store)
    limits = {
        name: Limits(p.requests_per_minute, p.tokens_per_minute, p.timeout_s, p.call_timeout_s)
        for name, p in known.providers.items()
    }
    if judges or measuring is not None:
        wanted, protocol = measuring or Measuring(), kind.protocol
        how["probes"] = open_probes(protocol.needs, protocol.uses, wanted, known, Preparer(store.blobs.get))
        how["anew"] = wanted.named | {*wanted.probes}
    # Probes have time limits of their own, which begin when it is an image's turn.
    for own in (*PAINTERS.names(), *evidence_names()):
        limits.setdefault(own, Limits(attempt_s=OWN_S, call_s=OWN_S))
    return Plan(
        chosen, opened, judges, whole=whole, draw=draw, only_painters=only, limits=limits, options=drawing, **how
    )


def _split(asking: Asking, kind: Kind[Any], preset: Mapping[str, Any]) -> tuple[Asking, dict[str, str]]:
    """The options of asking and those of drawing, which the exam keeps apart."""
    protocol = kind.protocol
    drawing = {name: values[0] for name, values in protocol.draw_options.items()}
    for name, value in {**preset.get("draw_options", {}), **asking.options}.items():
        if name in drawing:
            if value not in protocol.draw_options[name]:
                raise UsageError(f"{name}={value}: {kind.name} takes {', '.join(protocol.draw_options[name])}")
            drawing[name] = value
    rest = {name: value for name, value in asking.options.items() if name not in drawing}
    return replace(asking, options=rest), drawing


def painter_name(word: str) -> str:
    """The row a painter has: what stands before the ``=`` of ``name=spec``, or all of the word.

    >>> painter_name("mine=folder/a=b"), painter_name("folder/a=b")
    ('mine', 'folder/a=b')
    """
    return name_and_spec(word)[0]


def _known_painters(words: Sequence[str], exam: str, store: Store) -> frozenset[str]:
    known = {name for drawing in load_drawings(store, exam) for name in (drawing.painter, drawing.label)}
    wanted = frozenset(map(painter_name, words))
    if unknown := sorted(wanted - known):
        there = ", ".join(sorted(known)) or "none"
        raise UsageError(f"{store.url} has no drawing of {exam} by {unknown[0]!r}; there is: {there}")
    return wanted


def stored(exam: str, store: Store) -> Named:
    """The exam in the store that the word EXAM stands for.

    Raises:
        StoreError: The store has no such exam.
    """
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    return Named(name, kind_of(store, name), None)


def _judges(named: Named, asking: Asking, store: Store, ocr: OcrProbe) -> list[Judge]:
    kind = exams.kind(named.kind)
    preset = kind.preset(asking.preset) if asking.preset else {}
    specs = asking.judges or ([preset["judge"]] if "judge" in preset else [])
    wording, rules = split_wording(asking.wording)
    variant = make_variant(
        kind,
        asking.variant or preset.get("variant"),
        {**preset.get("options", {}), **asking.options},
        asking.prompts,
        wording,
    )
    args = {**preset.get("judge_args", {}), **asking.args}
    known, images = settings.load(), Preparer(store.blobs.get)
    return [open_judge(spec, args, kind, variant, known, images, store.blobs, ocr, rules) for spec in specs]


def usual_reading(exam_kind: str, asking: Asking) -> str:
    """The reading that goes with this asking: its preset's, or the careful one."""
    preset = exams.kind(exam_kind).preset(asking.preset) if asking.preset else {}
    return str(preset.get("reading", READINGS[0]))


def deviations(exam_kind: str, asking: Asking) -> list[str]:
    """How this asking differs from its preset, in words; nothing without a preset."""
    if asking.preset is None:
        return []
    preset = exams.kind(exam_kind).preset(asking.preset)
    usual = preset.get("judge")
    found = [f"judge {judge} instead of {usual}" for judge in asking.judges if usual and judge != usual]
    if asking.variant not in (None, preset.get("variant")):
        found.append(f"variant {asking.variant} instead of {preset.get('variant')}")
    options = {**preset.get("options", {}), **preset.get("draw_options", {})}
    for kept, given in ((preset.get("judge_args", {}), asking.args), (options, asking.options)):
        for name, value in given.items():
            kept_value = kept.get(name)
            if value != kept_value:
                how = f" instead of {kept_value}" if kept_value is not None else " added"
                found.append(f"{name}={value}{how}")
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


def is_there(store: str | Path) -> bool:
    """Whether there is a store at this place."""
    try:
        Store(store, create=False).close()
    except NoStore:
        return False
    return True


@contextmanager
def looked_at(store: str | Path) -> Iterator[Store]:
    """The store, or where there is none an empty one that leaves nothing behind."""
    if is_there(store):
        with opened(store) as found:
            yield found
    else:
        with tempfile.TemporaryDirectory(prefix="limner-") as folder, Store(folder) as empty:
            yield empty


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
        asking: Everything about the judges beyond their names; `judges` go before its own.
        watch: Called after every step.
        **how: ``strategies``, ``strategy_options``, ``seeds``, ``repeats``, ``concurrency``, ``retry_failed``,
            ``draw``; see `plan` and `limner.runner.Plan`.
    """
    with opened(store, create=True) as open_store:
        asking = asking or Asking()
        if judges:
            asking = replace(asking, judges=judges)
        made = plan(exam, open_store, data=data, painters=painters, asking=asking, selection=selection, **how)
        return Runner(made, open_store, watch).run()


def groups(
    exam: str,
    *,
    store: Store | str | Path = DEFAULT,
    painters: Sequence[str] = (),
    without: Sequence[str] = (),
    judges: Sequence[str] = (),
    reading: str = "careful",
    variant: str | None = None,
    options: Mapping[str, str] | None = None,
    wording: str | None = None,
    selection: Selection | None = None,
    constants: Mapping[str, float] | None = None,
    exclude_flagged: bool = False,
    only: Callable[[Group], bool] = lambda _: True,
) -> tuple[str, list[Group]]:
    """The exam's kind and everything marked, drawing by drawing, for every painter under every evaluator.

    Args:
        exam: The exam's name in the store.
        store: Where the results are.
        painters: Only these.
        without: Not these.
        judges: Only these, such as ``openai/gpt-5`` or ``openai/gpt-5?reasoning_effort=low``.
        reading: How stored replies are read.
        variant: Only marks asked for in this way.
        options: Only marks asked for with these options; evidence's names choose who measured it.
        wording: Only marks asked for in this wording: a version, the OCR examiner's rules, or how its hash begins.
        selection: Only these questions.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        exclude_flagged: Drawings that carry words addressed to the examiner have no score.
        only: Whether a group is wanted, for whoever knows better.
    """
    with opened(store) as open_store:
        named = stored(exam, open_store)
        measured = evidence_names()
        asked = {name: value for name, value in (options or {}).items() if name not in measured}
        found = load_groups(
            open_store,
            named.name,
            reading=_reading(reading),
            painters=_known_painters(painters, named.name, open_store) if painters else (),
            which=Which(tuple(judges), variant, asked, wording),
            constants=constants,
            backends={name: value for name, value in (options or {}).items() if name in measured},
        )
        found = _without(found, without)
        if selection is not None and selection != Selection():
            whole = load_exam(open_store, named.name, exams.kind(named.kind).rubric)
            ids = {question.id for question in whole.select(selection).questions}
            if not ids:
                raise UsageError("no question is selected")
            found = [group.only(ids) for group in found]
        if exclude_flagged:
            found = [without_flagged(group) for group in found]
        return named.kind, [group for group in found if group.entries and only(group)]


def _without(found: list[Group], names: Sequence[str]) -> list[Group]:
    there = {name for group in found for name in _called(group)}
    if unknown := sorted(set(names) - there):
        raise UsageError(f"--without {unknown[0]}: there is: {', '.join(sorted(there)) or 'none'}")
    return [group for group in found if not set(names) & _called(group)]


def _called(group: Group) -> set[str]:
    return {group.painter, group.name, *(entry.drawing.painter for entry in group.entries[:1])}


def _reading(word: str) -> Reading:
    for reading in READINGS:
        if word == reading:
            return reading
    raise UsageError(f"no reading {word!r}; there is: {', '.join(READINGS)}")


def which_questions(word: str) -> On:
    """The word of ``--on``, checked."""
    for on in ON:
        if word == on:
            return on
    raise UsageError(f"--on {word}: there is: {', '.join(ON)}")


def scores(
    exam: str,
    *,
    by: Sequence[str] = (),
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    on: str = "common",
    sort: str | None = None,
    **which: Any,
) -> list[Standing]:
    """Every painter's numbers under every evaluator, the best first and controls last.

    Args:
        exam: The exam's name in the store.
        by: Tags to break the numbers down by; ``dimension`` lists the exam's dimensions.
        reading: How stored replies are read: ``careful``, ``paper`` or ``release``.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        on: The questions painters are compared on: those all of them have (``common``), or each its own (``all``).
        sort: What rows are ordered by in place of the main score: another, ``name``, ``coverage`` or ``cost``.
        **which: ``store``, ``painters``, ``without``, ``judges``, ``variant``, ``selection``, …; see `groups`.
    """
    kind, found = groups(exam, reading=reading, constants=constants, **which)
    protocol = exams.kind(kind).protocol.tuned(constants or {})
    tags = {tag for group in found for entry in group.entries for tag in entry.question.tags}
    for tag in by:
        if found and tag not in tags and not (tag == "dimension" and protocol.dimensions):
            raise UsageError(f"--by {tag}: there is: {', '.join(sorted(tags | {'dimension'}))}")
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    return standings(name, found, protocol, _reading(reading), by, which_questions(on), sort)
