"""Validation during training: pictures drawn from traces with the current weights, and their marks.

Questions of the exam are drawn by the strategy ``reason``, as after training; without it, held-out samples are drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..calls import Calls
from ..core.errors import LimnerError
from ..core.exam import Question, Selection
from ..core.images import encode_png
from ..core.training import TrainSample
from ..painters import Painting, PaintRequest
from ..painters.base import FreePainter
from ..painters.diffusers.text_encoding import encode, reason_text, token_counter
from ..running.plan import Arm
from ..running.runner import Runner
from ..running.setup import Asking, make_plan
from ..scoring.groups import find_groups
from ..scoring.standings import standings
from ..store.store import open_store
from .settings import TrainSettings

DRAWING_STEPS = 28
"""Denoising steps of a validation picture, the usual number for FLUX.1 [dev]."""


@dataclass(frozen=True)
class Watched:
    """The exam that the trained painter will take, and what is drawn during training.

    Attributes:
        exam: The exam as in ``limner run``, with its `data`; None for none.
        every: Steps between drawings; 0 draws nothing.
        questions: The number of questions or held-out samples that are drawn.
        traces: A file of traces for the exam's questions.
        planner: The model that writes traces for the exam's questions, if no file is given.
        judges: The judges of the pictures.
    """

    exam: str | None = None
    data: Path | None = None
    every: int = 0
    questions: int = 4
    traces: Path | None = None
    planner: str | None = None
    judges: Sequence[str] = ()

    @property
    def draws_exam(self) -> bool:
        """Whether questions of the exam are drawn: there are traces for them."""
        return self.exam is not None and (self.traces is not None or self.planner is not None)


@dataclass(frozen=True)
class Preview:
    """Validation pictures by id, and their scores by judge and name."""

    pictures: Mapping[str, Any]
    scores: Mapping[str, float] = field(default_factory=dict)


class PipelinePainter(FreePainter):
    """The pipeline in training as a painter, which also writes each picture to a folder."""

    changeable = True
    reads_short = True
    group: str | None = "open"

    def __init__(self, pipe: Any, settings: TrainSettings, folder: Path) -> None:
        self.name = self.spec = folder.name
        self.encoder_tokens = settings.tokens
        self.pictures: dict[str, Any] = {}
        self._pipe, self._settings, self._folder, self._lock = pipe, settings, folder, asyncio.Lock()

    def token_counter(self) -> Callable[[str], int]:
        """Return a function that counts tokens as the pipeline's T5 does."""
        return token_counter(self._pipe.tokenizer_2)

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw; see `limner.painters.base.Painter`."""
        async with self._lock:
            picture = await asyncio.to_thread(self.draw, request.question, request.prompt, request.short or "")
        return Painting(encode_png(picture), request.prompt)

    def draw(self, id: str, words: str, short: str) -> Any:
        """Draw a picture from T5's and CLIP's texts, and write it to the folder."""
        import torch

        settings, device = self._settings, self._pipe.transformer.device
        lowered = settings.precision == "bf16" and device.type == "cuda"
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=lowered):
            drawn = self._pipe(
                **encode(self._pipe, [words], settings.tokens, [short]), width=settings.size, height=settings.size,
                num_inference_steps=DRAWING_STEPS, guidance_scale=settings.guidance,
                generator=torch.Generator("cpu").manual_seed(settings.seed),
            )  # fmt: skip
        self.pictures[id] = drawn.images[0]
        path = self._folder / f"{id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.images[0].save(path)
        return drawn.images[0]


@dataclass
class Validation:
    """A callback that draws questions of the exam, which are also marked, or held-out samples.

    Attributes:
        watched: What is drawn.
        samples: The held-out samples, drawn if there are no traces for an exam.
        out: The folder of the training.
    """

    watched: Watched
    samples: Sequence[Question[TrainSample]]
    settings: TrainSettings
    out: Path
    say: Callable[[str], None] = field(default=print)

    def __call__(self, pipe: Any, step: int) -> Preview:
        """Draw the pictures with the current weights, and mark them; a failure does not end the training."""
        painter = PipelinePainter(pipe, self.settings, self.out / "validation" / f"step-{step:06}")
        scores: dict[str, float] = {}
        if self.watched.draws_exam:
            try:
                scores = self._examine(painter)
            except LimnerError as error:
                self.say(f"{painter.name}: validation failed: {error}")
        else:
            for sample in self.samples[: self.watched.questions]:
                texts = sample.rubric.trace, sample.rubric.final_prompt
                words = reason_text(*texts, self.settings.tokens, painter.token_counter())
                painter.draw(sample.id, words, sample.prompt)
        self.say(f"{painter.name}: {len(painter.pictures)} pictures in {self.out / 'validation' / painter.name}")
        return Preview(painter.pictures, scores)

    def _examine(self, painter: PipelinePainter) -> dict[str, float]:
        """Draw and mark questions of the exam; return the scores by judge and name."""
        watched = self.watched
        scores: dict[str, float] = {}
        source = {"traces": str(watched.traces)} if watched.traces else {"planner": str(watched.planner), "style": "r1"}
        with open_store(str(self.out / "store"), create=True) as store:
            plan = make_plan(
                str(watched.exam), store, data=watched.data, painters=["control/blank"], strategies=["reason"],
                strategy_options={"send": "trained", **source}, asking=Asking(judges=watched.judges),
                selection=Selection(sample=watched.questions, sample_seed=self.settings.seed),
            )  # fmt: skip
            arms = [Arm(painter, arm.strategy) for arm in plan.arms]
            progress = Runner(replace(plan, painters=[painter], chosen_arms=arms), store, lambda _: None).run()
            for cause in progress.causes.values():
                self.say(f"{painter.name}: {cause.count} failed ({cause.kind}): {cause.detail}")
            if not painter.pictures:
                return {}
            kind, groups = find_groups(plan.exam.name, store=store, painters=[painter.name])
            for row in standings(plan.exam.name, groups, kind.protocol, "careful"):
                values = {score: row.all.value(score) for score in row.all.scores}
                known = {score: value for score, value in values.items() if value is not None}
                scores |= {f"{row.evaluator.name}/{score}": value for score, value in known.items()}
                shown = ", ".join(f"{score} {value:.1f}" for score, value in known.items())
                self.say(f"{painter.name} · {row.evaluator.name}: {shown or 'no score'}")
        return scores
