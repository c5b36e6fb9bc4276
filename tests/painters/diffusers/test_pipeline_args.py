from __future__ import annotations

from typing import Any

import pytest

from limner.painters.diffusers import DrawSettings, call_arguments, drawn_size
from limner.workers import WorkerUnfit


class Plain:
    def __call__(self, prompt: Any, width: int = 0, height: int = 0, num_inference_steps: int = 50) -> None: ...


class Guided:
    def __call__(self, prompt: Any, guidance_scale: float = 3.5, true_cfg_scale: float = 1.0) -> None: ...


class TrulyGuided:
    def __call__(
        self, prompt: Any, negative_prompt: Any = None, true_cfg_scale: float = 4.0, guidance_scale: Any = None
    ) -> None: ...


class Editor:
    def __call__(self, prompt: Any, image: Any, strength: float = 0.6, max_area: int = 1024**2) -> None: ...


@pytest.mark.parametrize(
    ("pipe", "how", "given"),
    [
        (Plain(), DrawSettings(64, 32, steps=9), {"width": 64, "height": 32, "num_inference_steps": 9}),
        (Guided(), DrawSettings(64, 64, guidance=2.0), {"guidance_scale": 2.0}),
        (TrulyGuided(), DrawSettings(64, 64, guidance=5.0), {"negative_prompt": [" ", " "], "true_cfg_scale": 5.0}),
        (TrulyGuided(), DrawSettings(64, 64, negative_prompt="blur"), {"negative_prompt": ["blur", "blur"]}),
        (Editor(), DrawSettings(64, 32, strength=0.5, editing=True), {"strength": 0.5, "max_area": 2048}),
        (Editor(), DrawSettings(64, 32, strength=0.5), {"max_area": 2048}),
    ],
)
def test_options_use_parameter_names_of_pipeline(pipe: Any, how: DrawSettings, given: dict[str, Any]) -> None:
    assert call_arguments(pipe, how, ["a", "b"], 16) == {"prompt": ["a", "b"], **given}


@pytest.mark.parametrize(
    ("how", "option"),
    [
        (DrawSettings(64, 64, guidance=2.0), "guidance"),
        (DrawSettings(64, 64, strength=0.5, editing=True), "strength"),
    ],
)
def test_option_a_pipeline_does_not_take_is_reported(how: DrawSettings, option: str) -> None:
    with pytest.raises(WorkerUnfit, match=f"^Plain takes no {option}$"):
        call_arguments(Plain(), how, ["a"], 16)


def test_sides_are_rounded_down_to_multiple() -> None:
    assert drawn_size(DrawSettings(1920, 1080), 16) == (1920, 1072)
    assert drawn_size(DrawSettings(5, 17), 16) == (16, 16)
