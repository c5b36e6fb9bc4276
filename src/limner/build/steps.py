"""The generic steps of recipes that ask no model: filter, measure, duplicates, paint, review, sample, split, join."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from .. import exams
from ..core.asks import Unreadable
from ..core.errors import UsageError
from ..core.evidence import TextLine
from ..core.exam import sample_stratified
from ..core.images import BadImage, decode, encode_png
from ..core.json_text import value_at
from ..core.training import find_concepts
from ..core.vocabulary import Rule
from ..evidence.probe import OcrProbe
from . import picture_rules
from .base import (
    PART,
    TEST,
    TRAIN,
    WARNINGS,
    BuildItem,
    BuildStep,
    Code,
    Dropped,
    GenericSettings,
    StepContext,
    StepOutcome,
    Use,
    Waiting,
    add_warnings,
    judge,
    rule_fields,
)
from .lint import LintSettings, lint_entries
from .wording import why_not_english

if TYPE_CHECKING:
    from PIL.Image import Image

Check = Callable[[Mapping[str, Any], Path], Mapping[str, Any]]
"""A check by a recipe's own code: item and its folder -> fields to set; raises `Unreadable` to make the item wait."""


class FilterSettings(GenericSettings):
    """The rules of a filter.

    Attributes:
        rules: The rules on the item's fields.
        lint: The rules of wording on its question.
        check: A function of the recipe's own code that checks the fields `reads` as reviewers left them.
    """

    rules: tuple[Rule, ...] = ()
    lint: LintSettings | None = None
    check: str = ""
    reads: tuple[str, ...] = ()

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the fields that it reads."""
        if self.check and self.check not in code:
            raise UsageError(f"check: the recipe's code has no function {self.check!r}")
        lint = (*self.lint.fields(), WARNINGS) if self.lint else ()
        return replace(step, reads=tuple(sorted({*self.reads, *rule_fields(self.rules), *lint})))


async def _filter(item: BuildItem, context: StepContext) -> BuildItem:
    how: FilterSettings = context.settings
    item = judge(how.rules, item)
    if how.lint is not None:
        errors, warnings = lint_entries(how.lint, item.body)
        if errors:
            raise Dropped(f"lint {errors[0].kind}", str(errors[0]).partition(": ")[2])
        item = add_warnings(item, [str(lint) for lint in warnings])
    if how.check:
        check: Check = context.code[how.check]
        try:
            item = item.having(**check(item.body, context.folder))
        except Unreadable as error:
            raise Waiting(f"review: {error}") from error
    return item


Measure = Callable[[BuildItem, StepContext], Any]
_ROOM = 4
"""The number of pictures decoded at a time, so that memory stays bounded whatever the number of calls."""
_rooms: dict[Any, asyncio.Semaphore] = {}


class MeasureSettings(GenericSettings):
    """What is measured, and the rules on it.

    Attributes:
        measures: The measures, in order; see `MEASURES`.
        rules: The rules on the measured fields and the item's.
        of: For ``language``: the field with the text, if not the lines in the picture.
        letters: For ``language``: the accepted share of letters of other scripts.
        faint: For ``text``: whether to look for faint print too, which doubles the time.
        square: For ``aspect``: the largest ratio of the sides of a square picture; our choice.
    """

    measures: tuple[Literal["size", "text", "labels", "edges", "watermark", "unread", "language", "aspect"], ...]
    rules: tuple[Rule, ...] = ()
    of: str = ""
    letters: float = Field(default=0.1, ge=0, le=1)
    faint: bool = True
    square: float = Field(default=1.15, ge=1)

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the fields that its measures and rules read, and those that it sets."""
        reads, writes = set[str](), list[str]()
        for name in self.measures:
            sources, measured, _ = MEASURES[name]
            reads |= {self.of} if name == "language" and self.of else set(sources) - set(writes)
            writes += measured
        reads |= rule_fields(self.rules) - set(writes)
        return replace(step, reads=tuple(sorted(reads)), writes=tuple(writes))


async def _measure(item: BuildItem, context: StepContext) -> BuildItem:
    how: MeasureSettings = context.settings
    for name in how.measures:
        item = item.having(**await MEASURES[name][2](item, context))
    return judge(how.rules, item)


async def _size(item: BuildItem, context: StepContext) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    if loop not in _rooms:
        _rooms.clear()
        _rooms[loop] = asyncio.Semaphore(_ROOM)
    async with _rooms[loop]:
        data = await context.picture(item.body["image"])
        try:
            return await asyncio.to_thread(lambda: picture_sizes(decode(data)))
        except BadImage as error:
            raise Dropped("not a picture", str(error)) from error


def picture_sizes(image: Image) -> dict[str, Any]:
    """Return a picture's sides, its detail, the shorter side without enlargement, and its perceptual hashes."""
    share, side = picture_rules.detail(image), min(image.size)
    # Detail is measured on at most 1,024 pixels.
    real = share * min(side, side * 1024 / max(image.size))
    return {"width": image.width, "height": image.height, "side": side, "detail": share, "real_side": round(real),
            "hashes": picture_rules.picture_hashes(image)}  # fmt: skip


async def _text(item: BuildItem, context: StepContext) -> dict[str, Any]:
    lines = [line.text for line in await context.read_text(item.body["image"])]
    if not context.settings.faint:
        return {"lines": lines, "faint_lines": []}
    data = await context.picture(item.body["image"])
    light = await asyncio.to_thread(lambda: encode_png(picture_rules.light_tones(decode(data))))
    faint: list[TextLine] = (await OcrProbe().measure(light, context.calls)).lines
    return {"lines": lines, "faint_lines": [line.text for line in faint]}


async def _unread(item: BuildItem, context: StepContext) -> dict[str, Any]:
    sha256 = item.body["image"]
    return {"unread": picture_rules.unread_lines(await context.text_regions(sha256), await context.read_text(sha256))}


async def _labels(item: BuildItem, context: StepContext) -> dict[str, Any]:
    return {"labels": picture_rules.text_labels(item.body["lines"])}


async def _edges(item: BuildItem, context: StepContext) -> dict[str, Any]:
    data = await context.picture(item.body["image"])
    crossings = await asyncio.to_thread(lambda: picture_rules.cut_edges(decode(data)))
    edge = ("top", "bottom", "left", "right")[crossings.index(max(crossings))]
    return {"cut_strokes": max(crossings), "cut_edge": f"{max(crossings)} strokes run over the {edge} edge"}


async def _watermark(item: BuildItem, context: StepContext) -> dict[str, Any]:
    return {"watermark": picture_rules.find_watermark(item.body["lines"], item.body["faint_lines"]) or ""}


async def _language(item: BuildItem, context: StepContext) -> dict[str, Any]:
    how: MeasureSettings = context.settings
    text = item.body.get(how.of) or "" if how.of else item.body["lines"]
    return {"foreign": why_not_english([text] if isinstance(text, str) else text, how.letters) or ""}


async def _aspect(item: BuildItem, context: StepContext) -> dict[str, Any]:
    return {"aspect": aspect(item.body["width"], item.body["height"], context.settings.square)}


def aspect(width: int, height: int, square: float = 1.15) -> str:
    """Return the aspect of a picture of this size.

    >>> aspect(1000, 1000), aspect(1600, 900), aspect(900, 1600)
    ('square', 'landscape', 'portrait')
    """
    if max(width, height) <= square * min(width, height):
        return "square"
    return "landscape" if width > height else "portrait"


MEASURES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Measure]] = {
    "size": (("image",), ("width", "height", "side", "detail", "real_side", "hashes"), _size),
    "text": (("image",), ("lines", "faint_lines"), _text),
    "labels": (("lines",), ("labels",), _labels),
    "edges": (("image",), ("cut_strokes", "cut_edge"), _edges),
    "watermark": (("lines", "faint_lines"), ("watermark",), _watermark),
    "unread": (("image",), ("unread",), _unread),
    "language": (("lines",), ("foreign",), _language),
    "aspect": (("width", "height"), ("aspect",), _aspect),
}
"""Name of a measure -> the fields that it reads, those that it sets, and its function."""


class DuplicatesSettings(GenericSettings):
    """The definition of near duplicates.

    Attributes:
        bits: The most bits, of 256, in which the perceptual hashes may differ. Our choice: the paper names no number.
    """

    bits: int = Field(default=40, ge=0, le=63)

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the fields that it reads."""
        return replace(step, reads=("hashes", "width", "height", "detail", "source_text"))


def _merit(item: BuildItem) -> tuple[bool, float, str]:
    """Return the sort key of a picture: with text before without, then by detail."""
    body = item.body
    return not body.get("source_text"), -body["width"] * body["height"] * body["detail"] ** 2, item.id


async def _duplicates(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    ranked = [(item.id, item.body["hashes"]) for item in sorted(items, key=_merit)]
    near = await asyncio.to_thread(picture_rules.near_duplicates, ranked, context.settings.bits)
    return {
        item.id: Dropped("near-duplicate", f"of {near[item.id][0]}, {near[item.id][1]} bits apart")
        if item.id in near
        else item
        for item in items
    }


class PaintSettings(GenericSettings):
    """The settings of painting.

    Attributes:
        role: Who draws; without a painter, items without a picture are dropped.
        prompt: The field with the prompt.
        seed: The seed, if the painter uses one; by default the one that MMMG's paper draws with.
        licence: The licence of the painter's pictures, by the service's terms.
    """

    role: str = "painter"
    prompt: str = "prompt"
    seed: int = 42
    licence: str = "unknown"

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with its painter and the field of the prompt."""
        step = replace(step, roles=(self.role,), painters=(self.role,), optional=(self.role,), use=(Use(self.role),))
        writes = ("image", "origin", "licence", "source", "source_text")
        return replace(step, reads=(self.prompt, "image"), writes=writes)


async def _paint(item: BuildItem, context: StepContext) -> BuildItem:
    how: PaintSettings = context.settings
    if item.body.get("image"):
        return item
    if how.role not in context.painters:
        raise Dropped("no picture", item.body[how.prompt])
    sha256 = await context.paint(how.role, item, item.body[how.prompt], how.seed)
    source = {"origin": context.painters[how.role].spec}
    return item.having(image=sha256, origin="synthetic", licence=how.licence, source=source, source_text="")


class SampleSettings(GenericSettings):
    """The settings of a sample.

    Attributes:
        count: The number of items; 0 for all. Or `share`, their share of all items.
        by: A field whose values the sample is spread over: evenly, or with `levels` in the proportions of all.
        levels: The number of parts of the field, between slashes, that count.
        mark: A field that says whether an item is in the sample; without it, other items are dropped.
    """

    count: int = Field(default=0, ge=0)
    share: float = Field(default=1, gt=0, le=1)
    by: str = ""
    levels: int = Field(default=0, ge=0)
    mark: str = ""
    seed: int = 0

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the field that it is spread over, and the one that it sets."""
        return replace(step, reads=(self.by,) if self.by else (), writes=(self.mark,) if self.mark else ())


async def _sample(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    how: SampleSettings = context.settings
    count = how.count or (max(1, round(len(items) * how.share)) if items else 0)
    chosen = _in_proportion(items, count, how) if how.levels else _evenly(items, count, how)
    if how.mark:
        return {item.id: item.having(**{how.mark: item.id in chosen}) for item in items}
    return {item.id: item if item.id in chosen else Dropped("not drawn") for item in items}


def _in_proportion(items: Sequence[BuildItem], count: int, how: SampleSettings) -> set[str]:
    def level(n: int) -> Callable[[BuildItem], str]:
        return lambda item: "/".join(str(item.body.get(how.by, "")).split("/")[:n])

    strata = [level(n) for n in range(1, how.levels + 1)]
    return {item.id for item in sample_stratified(items, count, how.seed, strata, lambda item: item.id)}


def _evenly(items: Sequence[BuildItem], count: int, how: SampleSettings) -> set[str]:
    """Draw one item of each value in turn until there are enough; values without further items are skipped."""
    queues: dict[str, list[str]] = {}
    for item in items:
        queues.setdefault(str(item.body.get(how.by, "")), []).append(item.id)
    for queue in queues.values():
        queue.sort(key=lambda id: hashlib.sha256(f"{how.seed}/{id}".encode()).digest())
    turns = [(n, value, id) for value, queue in queues.items() for n, id in enumerate(queue)]
    return {id for _, _, id in sorted(turns)[:count]}


class SplitSettings(GenericSettings):
    """The settings of the split into exam and training.

    Attributes:
        test: The share of items that the exam gets, in whole topics. MMMG's paper has 4,456 of about 20,456.
        by: A field whose values the exam gets in the proportions of all items, as far as whole topics allow.
        train_origins: Origins of pictures that training may use; the paper's are all synthetic.
        exam: An exam that training must not reveal, as in ``limner run``; empty for none.
        data: The data of that exam.
        seed: The seed of the split.
    """

    test: float = Field(default=0.22, ge=0, le=1)
    by: str = "level"
    train_origins: tuple[str, ...] = ("synthetic",)
    exam: str = ""
    data: Path | None = None
    seed: int = 0

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the fields that it reads."""
        return replace(step, reads=("concept", "topic", "prompt", "origin", *filter(None, [self.by])), writes=(PART,))


async def split(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Split whole topics into an exam part and a training part, which share no concept."""
    how: SplitSettings = context.settings
    parts = _parts(items, how)
    pairs = [(item.body["concept"], item.body["prompt"]) for item in items]
    asked = [(item.id, item.body["concept"], item.body["prompt"]) for item in items if parts[item.id] == TEST]
    inside = find_concepts(pairs, asked)
    outside: Mapping[str, Sequence[str]] = {}
    if how.exam:
        questions = exams.read(exams.resolve(how.exam, how.data)).questions
        outside = find_concepts(pairs, ((each.id, each.tags.get("concept", ""), each.prompt) for each in questions))
    left: dict[str, StepOutcome] = {}
    for item in items:
        concept = item.body["concept"]
        if parts[item.id] == TEST:
            left[item.id] = item.having(**{PART: TEST})
        elif item.body.get("origin") not in how.train_origins:
            left[item.id] = Dropped("not for training", f"its picture is {item.body.get('origin', 'unknown')}")
        elif concept in outside:
            left[item.id] = Dropped(f"stands in {how.exam}", f"{concept}: {', '.join(outside[concept][:3])}")
        elif concept in inside:
            left[item.id] = Dropped("stands in the exam's part", f"{concept}: {', '.join(inside[concept][:3])}")
        else:
            left[item.id] = item.having(**{PART: TRAIN})
    return left


def _parts(items: Sequence[BuildItem], how: SplitSettings) -> dict[str, str]:
    """Assign whole topics to the exam until it has its share, first those with pictures unfit for training."""
    topics: dict[str, list[BuildItem]] = {}
    for item in items:
        topics.setdefault(str(item.body.get("topic") or item.body["concept"]), []).append(item)

    def place(topic: str) -> tuple[float, bytes]:
        barred = sum(item.body.get("origin") not in how.train_origins for item in topics[topic])
        return -barred / len(topics[topic]), hashlib.sha256(f"{how.seed}/{topic}".encode()).digest()

    def value(item: BuildItem) -> str:
        return str(item.body.get(how.by, ""))

    parts: dict[str, str] = {}
    room = {name: how.test * count for name, count in Counter(map(value, items)).items()}
    for topic in sorted(topics, key=place):
        # A topic with items of several values goes where most of them still belong.
        fitting = sum(room[value(item)] > 0 for item in topics[topic])
        side = TEST if fitting and 2 * fitting >= len(topics[topic]) else TRAIN
        for item in topics[topic]:
            room[value(item)] -= side == TEST
            parts[item.id] = side
    return parts


class JoinSettings(GenericSettings):
    """The fields that items take from items of another sort.

    Attributes:
        of: The other sort.
        match: A field of the item and the field of the other that has the same value.
        fields: The fields to take.
    """

    of: str
    match: tuple[str, str]
    fields: tuple[str, ...] = Field(min_length=1)

    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step with the fields that it compares and takes."""
        own, other = (path.partition(".")[0] for path in self.match)
        return replace(step, reads=(own,), writes=self.fields, beside=self.of, beside_reads=(other, *self.fields))


async def _join(item: BuildItem, context: StepContext) -> BuildItem:
    how: JoinSettings = context.settings
    wanted = value_at(item.body, how.match[0])
    other = next((other for other in context.beside if value_at(other.body, how.match[1]) == wanted), None)
    if other is None:
        raise Dropped(f"no {how.of} for it", str(wanted))
    return item.having(**{name: other.body.get(name, "") for name in how.fields})


STEPS: Mapping[str, BuildStep] = {
    step.name: step
    for step in (
        BuildStep("filter", "keeps items that pass rules", FilterSettings, each=_filter),
        BuildStep("measure", "measures each picture and applies rules", MeasureSettings, each=_measure),
        BuildStep("duplicates", "drops pictures that look like another one", DuplicatesSettings, together=_duplicates),
        BuildStep("paint", "has a picture drawn for every prompt that has none", PaintSettings, each=_paint),
        BuildStep("sample", "draws a sample, or marks it", SampleSettings, together=_sample),
        BuildStep(
            "split", "parts exam and training by topic and concept", SplitSettings, writes=(PART,), together=split
        ),
        BuildStep("join", "takes fields from items of another sort", JoinSettings, each=_join),
    )
}
"""The steps that ask no model and need no people, by name."""
