"""The start of a training: base, samples, the exam that they must not reveal, and validation pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import exams
from ..core.errors import UsageError
from ..core.exam import Exam, Question, Selection
from ..core.training import TrainSample, find_overlap, read_samples
from ..painters.diffusers import weights
from ..painters.diffusers.jobs import PipelineSetup
from ..painters.diffusers.text_encoding import encode, reason_text
from ..running.runner import Runner
from ..running.setup import Asking, make_plan
from ..scoring.groups import find_groups
from ..scoring.standings import standings
from ..store.records import OVERLAP
from ..store.store import open_store
from ..strategies.rewrite import read_traces
from .settings import TrainSettings

PACKAGES = ("torch", "diffusers", "transformers", "accelerate", "peft")
MAX_LISTED = 5


@dataclass(frozen=True)
class Watched:
    """The exam that the trained painter will take, and the questions drawn during training.

    Attributes:
        exam: The exam as in ``limner run``, with its `data`.
        every: Steps between drawings; 0 draws nothing.
        questions: The number of the exam's questions that are drawn.
        traces: A file of traces for these questions.
        judges: The judges of the pictures.
    """

    exam: str
    data: Path | None = None
    every: int = 0
    questions: int = 4
    traces: Path | None = None
    judges: Sequence[str] = ()


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
    samples = read_samples(data)
    exam = None if watched is None else exams.read(exams.resolve(watched.exam, watched.data))
    about = {} if exam is None else _refuse_overlap(samples, exam, allow_overlap)
    base_weights = weights.find_pipeline(base, None)
    import torch

    from ..painters.diffusers.pipeline import load_pipeline
    from .trainer import WEIGHTS, Trainer

    dtype = "bfloat16" if torch.cuda.is_available() else "float32"
    pipe = load_pipeline(PipelineSetup(base_weights.source, base_weights.revision, dtype))
    look = None
    if watched is not None and exam is not None and watched.every:
        questions = exam.select(Selection(sample=watched.questions, sample_seed=settings.seed)).questions
        traces: Mapping[str, tuple[str, str]] = read_traces(str(watched.traces)) if watched.traces else {}
        kind = exams.kind(exam.kind)
        look = Validation(watched.exam, watched.data, kind, questions, traces, watched.judges, settings, out, say)
    identity = " ".join(f"{name}:{value}" for name, value in sorted(base_weights.identity.items()))
    trainer = Trainer(
        pipe, identity, samples, settings, out, cache, save_every, look, watched.every if watched else 0,
        tuple(trackers), about, say,
    )  # fmt: skip
    trainer.train()
    return out / WEIGHTS


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


DRAWING_STEPS = 28
"""Denoising steps of a validation picture, the usual number for FLUX.1 [dev]."""


@dataclass
class Validation:
    """A callback that draws and marks some questions.

    Attributes:
        exam: The exam as in ``limner run``, with its `data`.
        questions: The questions to draw.
        traces: Question -> trace and final prompt; a question without them is drawn from its own prompt.
        judges: The judges; without any, the pictures are not marked.
        out: The folder of the training.
    """

    exam: str
    data: Path | None
    kind: Any
    questions: Sequence[Question[Any]]
    traces: Mapping[str, tuple[str, str]]
    judges: Sequence[str]
    settings: TrainSettings
    out: Path
    say: Callable[[str], None] = print
    steps: int = DRAWING_STEPS

    def __call__(self, pipe: Any, step: int) -> None:
        """Draw the pictures with the current weights, and mark them."""
        name = f"step-{step:06}"
        folder = self.out / "validation" / name
        for question in self.questions:
            path = folder / f"{question.id}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._draw(pipe, question).save(path)
        self.say(f"{name}: {len(self.questions)} pictures in {folder}")
        if self.judges:
            self._mark(name, folder)

    def _draw(self, pipe: Any, question: Question[Any]) -> Any:
        import torch

        settings = self.settings
        trace, final = self.traces.get(question.id, ("", question.prompt))

        def count(text: str) -> int:
            return len(pipe.tokenizer_2(text, truncation=False, add_special_tokens=False).input_ids)

        words = reason_text(trace, final, settings.tokens, count)
        device = pipe.transformer.device
        for part in ("vae", "text_encoder", "text_encoder_2"):
            getattr(pipe, part).to(device)
        given = encode(pipe, [words], settings.tokens, [question.prompt])
        drawn = pipe(
            **given, width=settings.size, height=settings.size, num_inference_steps=self.steps,
            guidance_scale=settings.guidance, generator=torch.Generator("cpu").manual_seed(settings.seed),
        )  # fmt: skip
        return drawn.images[0]

    def _mark(self, name: str, folder: Path) -> None:
        with open_store(str(self.out / "store"), create=True) as store:
            plan = make_plan(
                self.exam, store, data=self.data, painters=[f"{name}=folder/{folder}"],
                asking=Asking(judges=self.judges), selection=Selection(ids=tuple(q.id for q in self.questions)),
            )  # fmt: skip
            Runner(plan, store, lambda _: None).run()
            _, groups = find_groups(plan.exam.name, store=store, painters=[name])
            for row in standings(plan.exam.name, groups, self.kind.protocol, "careful"):
                values = {score: row.all.value(score) for score in row.all.scores}
                shown = ", ".join(f"{score} {value:.1f}" for score, value in values.items() if value is not None)
                self.say(f"{name} · {row.evaluator.name}: {shown or 'no score'}")
