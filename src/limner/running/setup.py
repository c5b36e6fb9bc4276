"""The construction of a plan from what a user asks for: exam, painters, strategies, judges, probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from typing import Any

from .. import exams
from ..calls import Limits
from ..core import settings
from ..core.asks import Reply
from ..core.errors import StoreError, UsageError
from ..core.evaluator import name_and_spec
from ..core.evidence import EVIDENCE
from ..core.exam import Exam, Selection
from ..core.images import Preparer
from ..core.marks import OF_CERTIFICATE, OF_STUDY, Mark, values
from ..core.protocol import READINGS
from ..evidence.backends import Measuring, open_probe, open_probes
from ..evidence.probe import OcrProbe, evidence_names
from ..exams import COLUMNS, ExamSource, Kind, preset_painter_args
from ..exams.released import PREFIX, RELEASE, drawing_prompts, release_folder, release_of
from ..judges import Judge, JudgeInputs, make_variant, open_judge, setup_id, with_members
from ..models import ChatModel, ReplayModel, open_model
from ..painters import PAINTERS, Painter, add_devices, open_painter, painter_args
from ..painters.base import FreePainter
from ..store import Store
from ..store.markings import Marking, load_markings, newest_certificates
from ..store.records import (
    evaluator_kinds,
    kind_of,
    known_painters,
    load_exam,
    load_questions,
    load_replies,
    load_setups,
)
from ..store.store import using_store
from .plan import Plan, make_arms

METRIC = "metric"
"""The target of calls to local metrics."""
OWN_S = 24 * 3600.0
"""Seconds that a local painter or pipeline may take for one image."""


@dataclass(frozen=True)
class Asking:
    """A user's choice of judges and of how they are asked.

    Attributes:
        judges: ``ocr``, ``replay/FILE`` or ``provider/model``.
        args: Arguments sent in every judge call.
        preset: A preset of the exam, such as ``paper``; the other fields override it.
        prompts: A folder of the user's own wording, or ``release:FOLDER`` for the wording of a clone of the release.
    """

    judges: Sequence[str] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    variant: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = None
    prompts: Path | str | None = None


def load_exam_or_data(exam: str, data: Path | str | None, store: Store | str | Path) -> tuple[ExamSource, Exam[Any]]:
    """Return the exam from its data folder, or from the store if neither a folder nor columns are given."""
    path = Path(data) if data is not None else None
    if path is None and not COLUMNS.get() and not exam.endswith(".toml"):
        try:
            with using_store(store) as opened:
                return _stored_exam(exam, opened)
        except StoreError:
            pass  # There is no store yet, or it does not have this exam.
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
    user_settings: settings.Settings | None = None,
    **how: Any,
) -> Plan:
    """Return the plan of a run; nothing is called yet. `how` is passed to `Plan`.

    Evidence that the exam needs is measured if drawings are marked, or if `measuring` asks for it. `devices` names the
    devices of local pipelines, such as ``0,1``. To make many plans, read once: `loaded` is the result of
    `load_exam_or_data`, and `user_settings` are the settings.
    """
    asking = asking or Asking()
    if loaded is None:
        loaded = load_exam_or_data(exam, data, store) if draw else _stored_exam(exams.stored_name(exam), store)
    named, whole = loaded
    ocr, user_settings, images = OcrProbe(), user_settings or settings.load(), Preparer(store.blobs.get)
    kind = exams.kind(named.kind)
    preset = kind.preset(asking.preset)
    asking, notes = _with_release(asking, kind, user_settings)
    asking, how["options"] = _split(asking, kind, preset)
    how.setdefault("first_seed", preset.get("seed", 0))
    how.setdefault("least_side", preset.get("least_side", 0))
    if preset:
        # A preset asks as the authors did: the same bytes of pictures, no limit on replies but theirs.
        user_settings = user_settings.as_released()

    def open_one(word: str, own: Mapping[str, Any]) -> Painter:
        own = add_devices(word, own, devices)
        return open_painter(word, whole, store.blobs, ocr, user_settings, own, kind.protocol.blank_size)

    def open_chat_model(spec: str, args: dict[str, Any]) -> ChatModel | ReplayModel:
        return open_model(spec, args, user_settings, images)

    if draw:
        if asking.prompts is not None and painters:
            how["drawing_prompts"] = drawing_prompts(kind, asking.prompts)
        given = painter_options or {}
        usual = [preset_painter_args(preset, *name_and_spec(word)) for word in painters]
        opened = [
            open_one(word, painter_args(word, args, given, user_settings))
            for word, args in zip(painters, usual, strict=True)
        ]
        if given and opened and all(each.options is FreePainter.options for each in opened):
            raise UsageError(f"--painter-arg {next(iter(given))}: no painter of this run has options; leave it out")
        names = [painter.name for painter in opened]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(f"two painters are named {twice[0]!r}; rename one: --painter other={twice[0]}")
        arms = make_arms(opened, strategies, strategy_options or {}, open_chat_model, open_one)
        how |= {"chosen_arms": arms, "painters": list({id(arm.painter): arm.painter for arm in arms}.values())}
    chosen = whole.select(selection or Selection(), kind.protocol.breakdowns)
    if not chosen.questions:
        raise UsageError("no question is selected")
    judges = _judges(named, kind, asking, preset, store, user_settings, ocr, images)
    if painters and not draw:
        how["only_painters"] = known_painters(store, named.name, [name_and_spec(word)[0] for word in painters])
    if judges or measuring is not None:
        wanted, protocol = measuring or Measuring(), kind.protocol
        how["remeasured"] = {*wanted.words, *wanted.probes}
        words, unfit = _preset_probes(asking, preset, wanted, user_settings, images)
        how["probes"] = open_probes(
            protocol.needs, protocol.uses, replace(wanted, words={**wanted.words, **words}), user_settings, images
        )
        notes += unfit
    how |= {"limits": service_limits(user_settings), "images": images, "notes": tuple(notes)}
    return Plan(chosen, judges=judges, whole=whole, draw=draw, **how)


def _with_release(asking: Asking, kind: Kind[Any], user_settings: settings.Settings) -> tuple[Asking, list[str]]:
    """Return the judge settings in the words of the release's clone, or a note if its preset is named and no clone."""
    release = release_of(kind)
    if asking.preset != RELEASE or asking.prompts is not None or release is None:
        return asking, []
    if folder := user_settings.releases.get(kind.name):
        return replace(asking, prompts=f"{PREFIX}{folder}"), []
    own = f'clone {release.repository} and name its folder in limner.toml: [releases] {kind.name} = "FOLDER"'
    return asking, [f"preset {RELEASE} asks in Limner's words; for the release's own, {own}"]


def _preset_probes(
    asking: Asking, preset: Mapping[str, Any], wanted: Measuring, user_settings: settings.Settings, images: Preparer
) -> tuple[dict[str, Any], list[str]]:
    """Return the backends that a preset names and that can work here, and a note on each that cannot."""
    words, notes = dict[str, Any](), list[str]()
    for name in (name for name in EVIDENCE if name in preset and name not in wanted.words):
        try:
            assert open_probe(name, preset[name], user_settings, images, OcrProbe()).name
            words[name] = preset[name]
        except UsageError as error:
            instead = getattr(user_settings.evidence, name) or "nothing"
            notes.append(f"preset {asking.preset}: {name} by {instead} instead of {preset[name]}: {error}")
    return words, notes


def service_limits(user_settings: settings.Settings) -> dict[str, Limits]:
    """Return the limits of each service by name."""
    # Probes have their own time limits, which start when an image's turn comes.
    own = dict.fromkeys((*PAINTERS.names(), *evidence_names(), METRIC), Limits(attempt_s=OWN_S, call_s=OWN_S))
    return own | {
        name: Limits(p.requests_per_minute, p.tokens_per_minute, p.timeout_s, p.call_timeout_s, p.idempotency_header)
        for name, p in user_settings.providers.items()
    }


def _split(asking: Asking, kind: Kind[Any], preset: Mapping[str, Any]) -> tuple[Asking, dict[str, str]]:
    """Return the judge settings and, separately, the drawing options."""
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
    user_settings: settings.Settings,
    ocr: OcrProbe,
    images: Preparer,
) -> list[Judge]:
    specs = asking.judges or ([preset["judge"]] if "judge" in preset else [])
    options = {**preset.get("options", {}), **asking.options}
    variant = make_variant(kind, asking.variant or preset.get("variant"), options, asking.prompts)
    args = {**preset.get("judge_args", {}), **asking.args}

    def weigh(source: str, members: Sequence[Judge]) -> Sequence[float]:
        return panel_weights(source, members, store, exam.name, kind)

    more = (user_settings, images, store.blobs, ocr, weigh)
    return with_members([open_judge(JudgeInputs(spec, args, kind, variant, *more)) for spec in specs])


def usual_reading(exam_kind: str, asking: Asking) -> str:
    """Return the default reading for these judge settings: the preset's, or the careful one."""
    return str(exams.kind(exam_kind).preset(asking.preset).get("reading", READINGS[0]))


def preset_deviations(exam_kind: str, asking: Asking) -> list[str]:
    """Return how these judge settings differ from their preset, as text; nothing without a preset."""
    if asking.preset is None:
        return []
    preset = exams.kind(exam_kind).preset(asking.preset)
    usual = preset.get("judge")
    deviations = [f"judge {judge} instead of {usual}" for judge in asking.judges if usual and judge != usual]
    if asking.variant not in (None, preset.get("variant")):
        deviations.append(f"variant {asking.variant} instead of {preset.get('variant')}")
    options = {**preset.get("options", {}), **preset.get("draw_options", {})}
    for kept, given in ((preset.get("judge_args", {}), asking.args), (options, asking.options)):
        for name, value in given.items():
            if value != kept.get(name):
                deviations.append(
                    f"{name}={value} instead of {kept[name]}" if name in kept else f"{name}={value} added"
                )
    if asking.prompts is not None and (asking.preset != RELEASE or release_folder(asking.prompts) is None):
        deviations.append(f"prompts from {asking.prompts}")
    return deviations


MIN_RIGHT, MAX_RIGHT = 0.51, 0.99
"""Bounds on a member's assumed share of right marks, so that its weight is positive and finite."""


def panel_weights(source: str, members: Sequence[Judge], store: Store, exam: str, kind: Kind[Any]) -> list[float]:
    """Return each member's weight: the log odds of being right, the optimal rule of Nitzan and Paroush (1982).

    Args:
        source: ``certificate`` or ``study:NAME``.
        members: The judges.
        store: The store with certificates and people's marks.
        exam: The exam's name in the store.
        kind: Its kind.

    Raises:
        UsageError: A member has no certificate, or has marked none of the study's drawings.
    """
    if source == OF_CERTIFICATE:
        right = _by_certificate(members, store, exam)
    else:
        right = _by_study(source.removeprefix(OF_STUDY), members, store, exam, kind)
    shares = [min(max(share, MIN_RIGHT), MAX_RIGHT) for share in right]
    return [round(log(share / (1 - share)), 3) for share in shares]


def _by_certificate(members: Sequence[Judge], store: Store, exam: str) -> list[float]:
    newest, shares = newest_certificates(store, exam), []
    for member in members:
        if (row := newest.get(setup_id(member.setup))) is None:
            raise UsageError(f"{member.name} cannot be weighted: it has no certificate for {exam}")
        shares.append(certified_right(row.body))
    return shares


def certified_right(body: Mapping[str, Any]) -> float:
    """Return the share of right answers by a certificate's test of errors; one half if it was not tested."""
    (wrong,) = [test["value"] for test in body["tests"] if test["name"] == "errors"]
    return 0.5 if wrong is None else 1.0 - float(wrong)


def _by_study(study: str, members: Sequence[Judge], store: Store, exam: str, kind: Kind[Any]) -> list[float]:
    kinds, setups = evaluator_kinds(store), load_setups(store)
    people = {id for id, body in setups.items() if kinds[id] == "person" and body.get("study") == study}
    truth: dict[tuple[str, str], Counter[int]] = {}
    for drawing, marks in _marks(store, exam, kind, people):
        for criterion, value in values(marks).items():
            truth.setdefault((drawing, criterion), Counter())[value] += 1
    if not truth:
        raise UsageError(f"the panel cannot be weighted: nobody has marked criteria of {exam} in the study {study}")
    shares = []
    for member in members:
        given = [
            truth[drawing, criterion][value] / truth[drawing, criterion].total()
            for drawing, marks in _marks(store, exam, kind, {setup_id(member.setup)})
            for criterion, value in values(marks).items()
            if (drawing, criterion) in truth
        ]
        if not given:
            problem = f"{member.name} has marked none of the drawings of the study {study}"
            raise UsageError(f"{problem}; mark them first: limner mark {exam} --judge {member.name}")
        shares.append(sum(given) / len(given))
    return shares


def _marks(store: Store, exam: str, kind: Kind[Any], setups: set[str]) -> list[tuple[str, Sequence[Mark]]]:
    """Return drawing and marks of all markings by these evaluators."""
    done: list[Marking] = [marking for marking in load_markings(store, exam, setups) if marking.status == "done"]
    questions = load_questions(store, exam, kind.rubric)
    texts = load_replies(store, [key for marking in done if marking.marks is None for _, key in marking.replies])
    marks_by_drawing: list[tuple[str, Sequence[Mark]]] = []
    for marking in done:
        if marking.marks is not None:
            marks_by_drawing.append((marking.drawing, [Mark.from_json(mark) for mark in marking.marks]))
        else:
            replies = [Reply(ask, texts[key], key) for ask, key in marking.replies if key in texts]
            marks_by_drawing.append(
                (marking.drawing, kind.protocol.marks(questions[marking.question_hash], replies, "careful"))
            )
    return marks_by_drawing
