"""Puts a run together from what a user asks for: exam, painters, strategies, judges, probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from .. import exams
from ..calls import Limits
from ..core import settings
from ..core.asks import Reply
from ..core.errors import StoreError, UsageError
from ..core.evaluator import name_and_spec
from ..core.exam import Exam, Selection
from ..core.images import Preparer
from ..core.marks import OF_CERTIFICATE, OF_STUDY, Mark, values
from ..core.protocol import READINGS
from ..evidence.backends import Measuring, open_probes
from ..evidence.probe import OcrProbe, evidence_names
from ..exams import ExamSource, Kind
from ..judges import Judge, make_variant, open_judge, setup_id, with_members
from ..models import ChatModel, ReplayModel, open_model
from ..painters import PAINTERS, Painter, open_painter, painter_args, with_devices
from ..store import Store
from ..store.markings import Marking, load_markings
from ..store.records import (
    evaluator_kinds,
    kind_of,
    known_painters,
    load_exam,
    load_questions,
    load_replies,
    load_setups,
)
from ..store.schema import certificates
from ..store.store import using_store
from .plan import Plan, make_arms

METRIC = "metric"
"""Whom calls of metrics that run here go to."""
OWN_S = 24 * 3600.0
"""How long a user's own painter or pipeline may take for one image: a local model is slow, but not for ever."""


@dataclass(frozen=True)
class Asking:
    """How judges are asked.

    Attributes:
        judges: ``ocr``, ``replay/FILE`` or ``provider/model``.
        args: Arguments sent along with every judge call.
        preset: ExamSource settings of the exam, such as ``paper``; whatever is given here goes before it.
        prompts: A folder of the user's own wording, or ``release:FOLDER``: that of the user's clone of the release.
    """

    judges: Sequence[str] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    variant: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = None
    prompts: Path | str | None = None


def load_exam_or_data(exam: str, data: Path | str | None, store: Store | str | Path) -> tuple[ExamSource, Exam[Any]]:
    """Return the exam from its data folder, or from the store when it is there and no folder is named."""
    path = Path(data) if data is not None else None
    if path is None and not exam.endswith(".toml"):
        try:
            with using_store(store) as found:
                return _stored_exam(exam, found)
        except StoreError:
            pass  # No store yet, or not this exam in it.
    named = exams.resolve(exam, path)
    return named, exams.read(named)


def _stored_exam(name: str, store: Store) -> tuple[ExamSource, Exam[Any]]:
    kind = kind_of(store, name)
    return ExamSource(name, kind, None), load_exam(store, name, exams.kind(kind).rubric)


def make_plan(
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
    loaded: tuple[ExamSource, Exam[Any]] | None = None,
    known: settings.Settings | None = None,
    **how: Any,
) -> Plan:
    """Put a run together; nothing is called yet. `how` goes to `Plan`.

    What the exam needs is measured where drawings are marked, or where `measuring` asks for it. `devices` says where
    local pipelines run, such as ``0,1``. Who has many plans may read once: `loaded` is the exam as `load_exam_or_data`
    gives it, and `known` the settings.
    """
    asking = asking or Asking()
    if loaded is None:
        loaded = load_exam_or_data(exam, data, store) if draw else _stored_exam(exams.name_of(exam), store)
    named, whole = loaded
    ocr, known, images = OcrProbe(), known or settings.load(), Preparer(store.blobs.get)
    kind = exams.kind(named.kind)
    preset = kind.preset(asking.preset)
    asking, how["options"] = _split(asking, kind, preset)
    how.setdefault("first_seed", preset.get("seed", 0))
    if preset:
        # A preset asks as the authors did: with the very bytes that their release sends.
        known = known.with_exact_images()

    def open_one(word: str, own: Mapping[str, Any]) -> Painter:
        own = with_devices(word, own, devices)
        return open_painter(word, whole, store.blobs, ocr, known, own, kind.protocol.blank_size)

    def open_mind(spec: str, args: dict[str, Any]) -> ChatModel | ReplayModel:
        return open_model(spec, args, known, images)

    if draw:
        usual, given = preset.get("painter_args", {}), painter_options or {}
        opened = [open_one(word, painter_args(word, usual, given, known)) for word in painters]
        names = [painter.name for painter in opened]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(f"two painters are called {twice[0]!r}; give one another name: --painter other={twice[0]}")
        arms = make_arms(opened, strategies, strategy_options or {}, open_mind, open_one)
        how |= {"chosen_arms": arms, "painters": list({id(arm.painter): arm.painter for arm in arms}.values())}
    chosen = whole.select(selection or Selection(), kind.protocol.breakdowns)
    if not chosen.questions:
        raise UsageError("no question is selected")
    judges = _judges(named, kind, asking, preset, store, known, ocr, images)
    if painters and not draw:
        how["only_painters"] = known_painters(store, named.name, [name_and_spec(word)[0] for word in painters])
    if judges or measuring is not None:
        wanted, protocol = measuring or Measuring(), kind.protocol
        how["probes"] = open_probes(protocol.needs, protocol.uses, wanted, known, images)
        how["anew"] = wanted.named | {*wanted.probes}
    how |= {"limits": service_limits(known), "images": images}
    return Plan(chosen, judges=judges, whole=whole, draw=draw, **how)


def service_limits(known: settings.Settings) -> dict[str, Limits]:
    """Return what each service allows, by its name."""
    # Probes have time limits of their own, which begin when it is an image's turn.
    own = dict.fromkeys((*PAINTERS.names(), *evidence_names(), METRIC), Limits(attempt_s=OWN_S, call_s=OWN_S))
    return own | {
        name: Limits(p.requests_per_minute, p.tokens_per_minute, p.timeout_s, p.call_timeout_s)
        for name, p in known.providers.items()
    }


def _split(asking: Asking, kind: Kind[Any], preset: Mapping[str, Any]) -> tuple[Asking, dict[str, str]]:
    """Return the options of asking and those of drawing, which the exam keeps apart."""
    protocol = kind.protocol
    drawing = {name: values[0] for name, values in protocol.draw_options.items()}
    for name, value in {**preset.get("draw_options", {}), **asking.options}.items():
        if name in drawing:
            if value not in protocol.draw_options[name]:
                raise UsageError(f"{name}={value}: {kind.name} takes {', '.join(protocol.draw_options[name])}")
            drawing[name] = value
    rest = {name: value for name, value in asking.options.items() if name not in drawing}
    return replace(asking, options=rest), drawing


def _judges(
    exam: ExamSource,
    kind: Kind[Any],
    asking: Asking,
    preset: Mapping[str, Any],
    store: Store,
    known: settings.Settings,
    ocr: OcrProbe,
    images: Preparer,
) -> list[Judge]:
    specs = asking.judges or ([preset["judge"]] if "judge" in preset else [])
    options = {**preset.get("options", {}), **asking.options}
    variant = make_variant(kind, asking.variant or preset.get("variant"), options, asking.prompts)
    args = {**preset.get("judge_args", {}), **asking.args}

    def weigh(source: str, members: Sequence[Judge]) -> Sequence[float]:
        return panel_weights(source, members, store, exam.name, kind)

    more = (known, images, store.blobs, ocr, weigh)
    return with_members([open_judge(spec, args, kind, variant, *more) for spec in specs])


def usual_reading(exam_kind: str, asking: Asking) -> str:
    """Return the reading that goes with this asking: its preset's, or the careful one."""
    return str(exams.kind(exam_kind).preset(asking.preset).get("reading", READINGS[0]))


def preset_deviations(exam_kind: str, asking: Asking) -> list[str]:
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
            if value != kept.get(name):
                found.append(f"{name}={value} instead of {kept[name]}" if name in kept else f"{name}={value} added")
    if asking.prompts is not None:
        found.append(f"prompts from {asking.prompts}")
    return found


LEAST, MOST = 0.51, 0.99
"""A member is never taken to be right less or more often: a weight must be above nothing and have an end."""


def panel_weights(source: str, members: Sequence[Judge], store: Store, exam: str, kind: Kind[Any]) -> list[float]:
    """The weight of each member, the logarithm of its odds of being right, by which votes decide best (Nitzan and
    Paroush, 1982).

    Args:
        source: ``certificate`` or ``study:NAME``.
        members: Who marks.
        store: Where certificates and people's marks are.
        exam: The exam's name in the store.
        kind: Its kind.

    Raises:
        UsageError: A member has no certificate, or has marked none of the study's drawings.
    """
    if source == OF_CERTIFICATE:
        right = _by_certificate(members, store, exam)
    else:
        right = _by_study(source.removeprefix(OF_STUDY), members, store, exam, kind)
    shares = [min(max(share, LEAST), MOST) for share in right]
    return [round(log(share / (1 - share)), 3) for share in shares]


def _by_certificate(members: Sequence[Judge], store: Store, exam: str) -> list[float]:
    query = sa.select(certificates).where(certificates.c.exam == exam).order_by(certificates.c.created)
    with store.reading() as connection:
        newest = {row.setup: row.body for row in connection.execute(query)}
    found = []
    for member in members:
        if (body := newest.get(setup_id(member.setup))) is None:
            raise UsageError(f"{member.name} has no certificate for {exam}, to weigh it by")
        found.append(certified_right(body))
    return found


def certified_right(body: Mapping[str, Any]) -> float:
    """Return the mean of two shares of a certificate: of faults seen, and of clean references without a false alarm."""
    doses = [row for row in body["doses"] if row["seen"]["value"] is not None]
    must = sum(row["must_fall"] for row in doses)
    seen = sum(row["must_fall"] * row["seen"]["value"] for row in doses) / must if must else 0.5
    alarms = body["false_alarms"]["all"]["value"]
    return float((seen + (1 - (0.5 if alarms is None else alarms))) / 2)


def _by_study(study: str, members: Sequence[Judge], store: Store, exam: str, kind: Kind[Any]) -> list[float]:
    kinds, setups = evaluator_kinds(store), load_setups(store)
    people = {id for id, body in setups.items() if kinds[id] == "person" and body.get("study") == study}
    truth: dict[tuple[str, str], Counter[int]] = {}
    for drawing, marks in _marks(store, exam, kind, people):
        for criterion, value in values(marks).items():
            truth.setdefault((drawing, criterion), Counter())[value] += 1
    if not truth:
        raise UsageError(f"nobody has marked criteria of {exam} in the study {study}, to weigh a panel's members by")
    found = []
    for member in members:
        given = [
            truth[drawing, criterion][value] / truth[drawing, criterion].total()
            for drawing, marks in _marks(store, exam, kind, {setup_id(member.setup)})
            for criterion, value in values(marks).items()
            if (drawing, criterion) in truth
        ]
        if not given:
            said = f"{member.name} has marked none of the drawings of the study {study}"
            raise UsageError(
                f"{said}, to weigh it by; let it mark them first: limner mark {exam} --judge {member.name}"
            )
        found.append(sum(given) / len(given))
    return found


def _marks(store: Store, exam: str, kind: Kind[Any], setups: set[str]) -> list[tuple[str, Sequence[Mark]]]:
    """Drawing and marks of everything these evaluators marked."""
    done: list[Marking] = [one for one in load_markings(store, exam, setups) if one.status == "done"]
    questions = load_questions(store, exam, kind.rubric)
    texts = load_replies(store, [key for one in done if one.marks is None for _, key in one.replies])
    found: list[tuple[str, Sequence[Mark]]] = []
    for one in done:
        if one.marks is not None:
            found.append((one.drawing, [Mark.from_json(mark) for mark in one.marks]))
        else:
            replies = [Reply(ask, texts[key], key) for ask, key in one.replies if key in texts]
            found.append((one.drawing, kind.protocol.marks(questions[one.question_hash], replies, "careful")))
    return found
