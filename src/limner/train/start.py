"""The start of a training: base, samples, the exam that they must not reveal, and what is drawn for validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import exams
from ..core.errors import UsageError
from ..core.exam import Exam, Question
from ..core.training import TrainSample, find_overlap, read_samples
from ..painters.diffusers import PipelineSetup, weights
from ..store.records import OVERLAP
from .settings import TrainSettings, hold_out
from .validation import Validation, Watched

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
