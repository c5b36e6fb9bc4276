"""Validation pictures: drawn on the way at fixed seeds from an exam's questions, and marked by Limner itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.exam import Question, Selection
from ..painters.diffusers.text_encoding import encode, reason_text
from ..running.runner import Runner
from ..running.setup import Asking, make_plan
from ..scoring.groups import find_groups
from ..scoring.standings import standings
from ..store.store import open_store
from .settings import TrainSettings

STEPS = 28
"""Steps of drawing a validation picture, as FLUX.1 [dev] usually takes."""


@dataclass
class Validation:
    """Draws and marks.

    Attributes:
        exam: As ``limner run`` takes it, with its `data`.
        questions: Those that are drawn.
        traces: Question -> trace and final prompt; one without is drawn from its prompt.
        judges: Who marks; nobody leaves the pictures unmarked.
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
    steps: int = STEPS

    def __call__(self, pipe: Any, step: int) -> None:
        """Draw the pictures as the weights are now, and mark them."""
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
