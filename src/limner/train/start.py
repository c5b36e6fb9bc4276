"""The start of a training: base, samples, the exam that they must not reveal; and its validation pictures.

Questions of the exam are drawn by the strategy ``reason``, as after training; without it, held-out samples are drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import exams
from ..calls import Calls
from ..core.errors import LimnerError, UsageError
from ..core.exam import Exam, Question, Selection
from ..core.images import encode_png
from ..core.training import TrainSample, find_overlap, read_samples
from ..painters import Painting, PaintRequest
from ..painters.base import FreePainter
from ..painters.diffusers import PipelineSetup, weights
from ..painters.diffusers.text_encoding import encode, reason_text, token_counter
from ..running.plan import Arm
from ..running.runner import Runner
from ..running.setup import Asking, make_plan
from ..scoring.groups import find_groups
from ..scoring.standings import standings
from ..store.records import OVERLAP
from ..store.store import open_store
from .settings import TrainSettings, hold_out

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


PACKAGES = ("torch", "diffusers", "transformers", "accelerate", "peft")
MAX_LISTED = 5


def train(
    data: Path,
    base: str,
    out: Path,
    settings: TrainSettings,
    *,
    watched: Watched | None = None,
    allow_overlap: bool = False,
    cache: Path | None = None,
    save_every: int = 500,
    keep: int = 1,
    trackers: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> Path:
    """Train, or resume an interrupted training, and return the file of the LoRA weights.

    Raises:
        UsageError: A package is missing, the base is not a FLUX model, or the samples reveal the exam.
        DataError: The samples cannot be read.
    """
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise UsageError(f"training needs {' and '.join(missing)}: install them with pip install 'limner[train]'")
    watched, samples = watched or Watched(), read_samples(data)
    base_weights = weights.find_pipeline(base, None)
    about: dict[str, Any] = {"model": base_weights.name}
    if watched.exam is not None:
        exam = exams.read(exams.resolve(watched.exam, watched.data))
        about |= {"exam": exam.name} | _refuse_overlap(samples, exam, allow_overlap)
    look = _validation(watched, samples, settings, out, say) if watched.every else None
    import torch

    from ..painters.diffusers.pipeline import load_pipeline
    from .trainer import Trainer
    from .weights import WEIGHTS

    dtype = "bfloat16" if torch.cuda.is_available() else "float32"
    pipe = load_pipeline(PipelineSetup(base_weights.source, base_weights.revision, dtype))
    identity = " ".join(f"{name}:{value}" for name, value in sorted(base_weights.identity.items()))
    trainer = Trainer(
        pipe, identity, samples, settings, out, cache, save_every, keep, look, watched.every, tuple(trackers), about,
        say,
    )  # fmt: skip
    trainer.train()
    trainer.tell(f"Trained: {out / WEIGHTS}")
    trainer.tell(
        f"Draw:    limner run EXAM --painter diffusers/{base} --painter-arg lora={out / WEIGHTS} "
        f"--painter-arg max_sequence_length={settings.tokens} --strategy reason -S send=trained -S planner=MODEL"
    )
    return out / WEIGHTS


def _validation(
    watched: Watched, samples: Sequence[Question[TrainSample]], settings: TrainSettings, out: Path,
    say: Callable[[str], None],
) -> Validation:  # fmt: skip
    """Return the callback that draws; every picture is drawn from a trace.

    Raises:
        UsageError: There are no traces to draw from, or judges but no questions of an exam.
    """
    _, held_out = hold_out(samples, settings.held_out, settings.seed)
    if watched.judges and not watched.draws_exam:
        raise UsageError("--judge marks questions of --exam: give traces for them with --planner or --traces")
    if not watched.draws_exam and not held_out:
        raise UsageError(
            f"--look-every: no traces to draw from. Hold out samples (--held-out {settings.held_out} of {len(samples)} "
            "is none), or name --exam with --planner or --traces"
        )
    return Validation(watched, held_out, settings, out, say)


def _refuse_overlap(samples: Sequence[Question[TrainSample]], exam: Exam[Any], allowed: bool) -> dict[str, Any]:
    """Return the note in the weights' file about concepts that training and exam share.

    Raises:
        UsageError: They share concepts, and that is not allowed.
    """
    shared = find_overlap(samples, exam.questions)
    if not shared:
        return {}
    questions = sorted({id for ids in shared.values() for id in ids})
    if not allowed:
        listed = ", ".join(f"{concept!r} ({ids[0]})" for concept, ids in list(shared.items())[:MAX_LISTED])
        raise UsageError(
            f"{len(shared)} training concepts occur in {len(questions)} questions of {exam.name}: {listed}. Remove "
            "them from the samples, or train with --allow-overlap, which every table will mention"
        )
    return {OVERLAP: {"exam": exam.name, "concepts": sorted(shared), "questions": len(questions)}}
