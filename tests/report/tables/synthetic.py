"""Fills a store with a made-up exam's results: quickly, and the same for the same arguments.

Painters are named after real ones, so that tables have groups; each has a skill, each question a difficulty, and marks
follow from both. Some drawings are refused, some replies unreadable, one painter's judge abstains now and then.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from PIL import Image, ImageDraw

from limner import exams
from limner.calls import digest
from limner.core.exam import Exam, Question
from limner.core.marks import Criterion, Mark
from limner.exams.fepbench.data import MODALITIES
from limner.exams.mmmg.data import LEVELS
from limner.exams.paper import rows
from limner.exams.worldgenbench.data import CONTINENTS, DISCIPLINES
from limner.running.plan import marking_id, slot_id
from limner.store import Store
from limner.store.markings import Marking
from limner.store.records import Drawing, add_exam, evidence_row, save_setup
from limner.store.schema import drawings, evidence, markings

ORDER = (drawings, evidence, markings)
"""Tables in the order in which rows need each other."""
START = 1_760_000_000.0
"""When the first drawing was made; the others follow a second apart."""
ABSTAINS = 5
"""The place of the painter about whom judges sometimes abstain."""


@dataclass(frozen=True)
class Pretended:
    """A painter: its name in tables, what it is, how well it draws, what a drawing costs (None: not known)."""

    name: str
    spec: str
    skill: float
    cost: float | None


PAINTERS = (
    Pretended("openai/gpt-image-1.5", "openai/gpt-image-1.5", 0.88, 0.21),
    Pretended("openai/gpt-image-1", "openai/gpt-image-1", 0.74, 0.17),
    Pretended("gemini/gemini-3-pro-image-preview", "gemini/gemini-3-pro-image-preview", 0.94, 0.134),
    Pretended("dashscope/qwen-image", "dashscope/qwen-image", 0.52, None),
    Pretended("FLUX.2 dev", "folder/flux", 0.58, 0.0),
    Pretended("HiDream-I1-Full", "folder/hidream", 0.41, 0.0),
    Pretended("BAGEL", "folder/bagel", 0.30, 0.0),
    Pretended("Show-o2-7B", "folder/show-o2", 0.27, 0.0),
    Pretended("Janus-Pro", "folder/janus", 0.22, 0.0),
    Pretended("bfl/flux-2-max", "bfl/flux-2-max", 0.70, None),
    Pretended("Stable Diffusion 3.5 Large", "folder/sd", 0.33, 0.0),
    Pretended("Emu3", "folder/emu3", 0.18, 0.0),
    Pretended("gemini/gemini-2.5-flash-image", "gemini/gemini-2.5-flash-image", 0.80, 0.039),
    Pretended("dashscope/wan2.6-t2i", "dashscope/wan2.6-t2i", 0.66, None),
)
IMAGE_TYPES = (
    "diagrams", "maps", "plots and charts", "trees and graphs",
    "geometric shapes", "sheet music", "other", "chemical structures",
)  # fmt: skip
MMMG_DISCIPLINES = (
    "Biology", "Chemistry", "Math", "Engineering", "Geography",
    "Economics", "Sociology", "Philosophy", "History", "Literature",
)  # fmt: skip
GAIN = {"direct": 0.0, "rewrite": 0.07, "reason": 0.06, "svg": 0.1, "best-of-n": 0.04, "edit": 0.05}
"""What a strategy adds to a painter's skill."""
LINKS = {"direct": 1, "rewrite": 1, "reason": 1, "svg": 1, "best-of-n": 4, "edit": 2}
"""How many images a strategy pays for."""


def cast(count: int) -> list[Pretended]:
    """The first `count` painters; beyond the real names come long ones of the reader's own."""
    own = [
        Pretended(f"my-own-fine-tuned-model-with-a-long-name-{n:02}", f"folder/own-{n}", 0.2 + n % 7 / 10, 0.0)
        for n in range(1, count - len(PAINTERS) + 1)
    ]
    return [*PAINTERS[:count], *own]


def exam(kind: str, questions: int | None = None) -> Exam[Any]:
    """The bundled sample under the name `kind`; or so many questions made from it, spread over the paper's categories.

    FEPBench has two questions a sample, so an odd number becomes the next even one.
    """
    sample = exams.read(exams.resolve(f"sample/{kind}"))
    if questions is None:
        return replace(sample, name=kind)
    made = _samples(sample, questions) if kind == "fepbench" else _spread(sample, kind, questions)
    return Exam(kind, kind, tuple(made), {"mini": frozenset(question.id for question in made[::4])})


def _samples(sample: Exam[Any], questions: int) -> list[Question[Any]]:
    made = []
    for number in range((questions + 1) // 2):
        for side in (0, 1):
            old = sample.questions[2 * number % len(sample.questions) + side]
            id = f"{old.tags['sample']}-{number}"
            made.append(replace(old, id=f"{id}/{old.tags['regime']}", tags={**old.tags, "sample": id}))
    return made


def _spread(sample: Exam[Any], kind: str, questions: int) -> list[Question[Any]]:
    made = []
    for number in range(questions):
        old = sample.questions[number % len(sample.questions)]
        tags = _tags(kind, number) or old.tags
        made.append(replace(old, id=f"{old.id}-{number}", tags=tags))
    return made


def _tags(kind: str, number: int) -> dict[str, str]:
    if kind == "genexam":
        subject, second = _taxonomy()[number % len(_taxonomy())]
        tags = {"subject": "Computer_Science" if subject == "Computer" else subject, "taxonomy1": subject}
        tags |= {"taxonomy2": second, "taxonomy": f"{subject}/{second}"}
        return tags | {"difficulty": ("easy", "medium", "hard")[number % 3], "img_type": IMAGE_TYPES[number % 8]}
    if kind == "mmmg":
        level, discipline = LEVELS[number % 6], MMMG_DISCIPLINES[number // 6 % 10]
        return {"level": level, "discipline": discipline, "level_discipline": f"{level}_{discipline}"}
    if kind == "worldgenbench":
        if number % 2:
            return {"domain": "nature", "discipline": list(DISCIPLINES)[number // 2 % 6]}
        return {"domain": "humanities", "continent": list(CONTINENTS)[number // 2 % 7]}
    return {}


@cache
def _taxonomy() -> list[tuple[str, str]]:
    found = [row["category"] for row in rows("genexam") if row["table"] == "Table 8"]
    pairs = [category.partition("/") for category in dict.fromkeys(found)]
    return [(first, second) for first, _, second in pairs]


def fill(
    store: Store,
    kind: str,
    *,
    painters: int | Sequence[Pretended] = 9,
    questions: int | None = None,
    judges: Sequence[str | Mapping[str, Any]] = ("fake/judge",),
    repeats: int = 1,
    strategies: Sequence[str] = ("direct",),
    seed: int = 0,
    images: bool = True,
    faults: bool = True,
    controls: Sequence[str] = (),
) -> None:
    """Put results of the exam `kind` into the store, under the exam's own name.

    Args:
        painters: How many of `cast`, or these.
        questions: How many to make; the bundled sample's by default.
        judges: Their names, or setups that say more; every one marks every drawing. The judge ``ocr`` abstains on what
            words cannot decide.
        repeats: Markings per drawing and judge.
        strategies: Every painter draws with each of them.
        seed: Another one gives other marks and pictures.
        images: Whether drawings have images; without, they look as if imported.
        controls: Further painters, such as ``control/reference``: all of them draw nearly everything right.
        faults: Whether some drawings are refused, some replies unreadable, and one painter's marks undecided.
    """
    filler = _Filler(store, kind, exam(kind, questions), seed, images, faults)
    others = [Pretended(name, name, 0.97, 0.0) for name in controls]
    first = cast(painters) if isinstance(painters, int) else painters
    filler.fill([*first, *others], judges, repeats, strategies)


class _Filler:
    def __init__(self, store: Store, kind: str, whole: Exam[Any], seed: int, images: bool, faults: bool) -> None:
        self.store, self.exam, self.seed, self.images, self.faults = store, whole, seed, images, faults
        self.kind, self.protocol = exams.kind(kind), exams.kind(kind).protocol
        self.time = START
        self.rows: list[tuple[sa.Table, dict[str, Any]]] = []

    def fill(
        self,
        painters: Sequence[Pretended],
        judges: Sequence[str | Mapping[str, Any]],
        repeats: int,
        strategies: Sequence[str],
    ) -> None:
        add_exam(self.store, self.exam)
        setups = {}
        for judge in judges:
            setup = self._setup(judge) if isinstance(judge, str) else {**self._setup(judge["judge"]), **judge}
            id = digest("setup-1", setup)
            setups[judge if isinstance(judge, str) else id] = id
            save_setup(self.store, id, setup)
        for place, painter in enumerate(painters):
            for strategy in strategies:
                for question in self.exam.questions:
                    self._one(place, painter, strategy, question, setups, repeats)
        rows, self.rows = self.rows, []

        def write(connection: sa.Connection) -> None:
            for table, some in groupby(sorted(rows, key=lambda one: ORDER.index(one[0])), key=lambda one: one[0]):
                self.store.upsert(connection, table, *(row for _, row in some))

        self.store.write(write)

    def _setup(self, judge: str) -> dict[str, Any]:
        if judge == "ocr":
            return {"judge": "ocr", "engine": "pretended", "rules": "1"}
        variant = self.protocol.variants[0]
        options = {name: values[0] for name, values in self.protocol.options.items()}
        return {"judge": judge, "args": {}, "variant": variant, "options": options, "templates": "0123456789ab"}

    def _one(
        self,
        place: int,
        painter: Pretended,
        strategy: str,
        question: Question[Any],
        setups: Mapping[str, str],
        repeats: int,
    ) -> None:
        chance = random.Random(digest(self.seed, self.exam.kind, painter.name, strategy, question.id))
        self.time += 1
        slot = slot_id(self.exam.name, question.hash, painter.name, strategy, {}, 0)
        cost = None if painter.cost is None else round(painter.cost * LINKS.get(strategy, 1), 4)
        drawing = Drawing(
            slot, self.exam.name, question.id, question.hash, painter.name, painter.spec, strategy, 0, "done",
            prompt_sent=question.prompt, cost=cost, origin="run" if self.images else "import", created=self.time,
        )  # fmt: skip
        if self.faults and chance.random() < 0.01 + 0.02 * (place == 1):
            drawing = replace(drawing, status="failed", fault="refusal", detail="the service will not draw this")
        elif self.images:
            sha256, info = self.store.blobs.put(picture(question.id, painter.name, strategy, self.seed))
            drawing = replace(drawing, image=sha256, width=info.width, height=info.height)
        self.rows.append((drawings, dict(drawing.__dict__)))
        if drawing.status != "done":
            return
        self._measure(slot, drawing.image, painter, chance)
        skill = min(0.98, painter.skill + GAIN.get(strategy, 0.05))
        for judge, setup in setups.items():
            for repeat in range(repeats):
                self._mark(drawing, question, judge, setup, repeat, skill, place)

    def _measure(self, slot: str, image: str | None, painter: Pretended, chance: random.Random) -> None:
        values: dict[str, float] = {}
        if self.kind.name == "mmmg":
            values["regions"] = max(1, round(chance.gauss(120 - 90 * painter.skill, 25)))
        if self.kind.name == "aibench":
            values["aesthetics"] = round(min(99.0, max(1.0, chance.gauss(30 + 30 * painter.skill, 8))), 2)
        for name, value in values.items():
            row = evidence_row(image or slot, name, "pretended", value)
            self.rows.append((evidence, row | {"created": self.time}))

    def _mark(
        self, drawing: Drawing, question: Question[Any], judge: str, setup: str, repeat: int, skill: float, place: int
    ) -> None:
        chance = random.Random(digest(self.seed, drawing.id, judge, repeat))
        marking = Marking(
            marking_id(drawing.id, question.hash, drawing.image, setup, repeat),
            drawing.id, question.hash, drawing.image, setup, repeat, "done",
            cost=0.0 if judge == "ocr" else 0.012, seconds=round(chance.uniform(1, 9), 2),
            origin=drawing.origin, created=self.time,
        )  # fmt: skip
        if self.faults and chance.random() < 0.01:
            marking = replace(marking, status="failed", fault="unreadable", detail="the reply holds no JSON", rounds=3)
        else:
            # A question is as hard for one painter as for the other.
            hard = random.Random(digest(self.seed, question.id)).uniform(0.75, 1.15)
            abstains = 0.03 if self.faults and place == ABSTAINS else 0.0
            marks = self._marks(question, judge, min(0.99, skill * hard), abstains, chance)
            marking = replace(marking, marks=[mark.to_json() for mark in marks])
        self.rows.append((markings, dict(marking.__dict__)))

    def _marks(
        self, question: Question[Any], judge: str, skill: float, abstains: float, chance: random.Random
    ) -> list[Mark]:
        found = []
        for criterion in self.protocol.criteria(question):
            if (judge == "ocr" and criterion.kind not in self.protocol.label_kinds) or chance.random() < abstains:
                found.append(Mark.abstain(criterion.id, "cannot be told from this drawing", judge))
                continue
            value = sum(chance.random() < skill for _ in range(criterion.top))
            found.append(Mark(criterion.id, value, _reason(criterion, value), judge))
        return found + (_extra(found, chance) if self.kind.name == "fepbench" else [])


def _reason(criterion: Criterion, value: int) -> str:
    return f"{'seen' if value == criterion.top else 'not as it should be'}: {criterion.text[:60]}"


def _extra(marks: Sequence[Mark], chance: random.Random) -> list[Mark]:
    """The items behind a mark that says there is unexpected content."""
    extra = []
    for modality in MODALITIES:
        (mark,) = [mark for mark in marks if mark.criterion == f"unexpected/{modality}"]
        if mark.value == 0:
            for number in range(1, chance.randint(1, 3) + 1):
                extra.append(Mark(f"unexpected/{modality}/{number}", 1, f"something more ({number})"))
    return extra


def picture(*of_what: object, size: tuple[int, int] = (48, 36)) -> bytes:
    """A small PNG with a few shapes in colours of its own."""
    word = hashlib.sha256(repr(of_what).encode()).digest()
    image = Image.new("RGB", size, (200 + word[0] % 56, 200 + word[1] % 56, 200 + word[2] % 56))
    brush = ImageDraw.Draw(image)
    for n in range(3, 24, 7):
        left, top = word[n] % (size[0] - 12), word[n + 1] % (size[1] - 12)
        box = (left, top, left + 5 + word[n + 2] % 8, top + 5 + word[n + 3] % 8)
        shape = brush.ellipse if word[n] % 2 else brush.rectangle
        shape(box, fill=(word[n + 4], word[n + 5], word[n + 6]))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
