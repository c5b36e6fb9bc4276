"""Prompts beyond 512 tokens reach FLUX whole, and what no encoder reads is told; on tiny pipelines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limner.painters.batched import DrawItem, RawDrawing
from limner.painters.diffusers import DiffusersPainter, DrawSettings, PipelineSetup
from limner.painters.diffusers.text_encoding import MAX_TOKENS, USUAL_TOKENS, encode, find_unread, is_flux
from limner.store import Store
from limner.workers import WorkerUnfit
from tests.painters.inputs import inputs

pytestmark = pytest.mark.slow
FAMILIES = ("flux", "sd3", "sdxl", "qwen")
_open: dict[str, Any] = {}


@pytest.fixture
def loaded(pipeline: Callable[[str], Path], request: pytest.FixtureRequest) -> Any:
    if request.param not in _open:
        from limner.painters.diffusers.pipeline import Pipeline

        load = PipelineSetup(str(pipeline(request.param)), dtype="float32", device="cpu")
        _open[request.param] = Pipeline.open(load)
    return _open[request.param]


flux = pytest.mark.parametrize("loaded", ["flux"], indirect=True)


def text(place: int, letter: str, length: int = 600) -> str:
    """Letters, each of them one token, of which the one at this place, counted in tokens from 1, is another."""
    letters = ["a"] * length
    letters[place - 2] = letter  # The tokenizer begins with a token of its own.
    return "".join(letters)


def draw(loaded: Any, prompt: str, most: int | None = None, **more: Any) -> RawDrawing:
    how = DrawSettings(32, 32, steps=2, max_sequence_length=most, **more)
    (drawn,) = loaded.draw(how, [DrawItem(prompt, 7)])
    assert isinstance(drawn, RawDrawing), drawn
    return drawn


@flux
def test_513th_token_changes_drawing(loaded: Any) -> None:
    one, other = text(513, "b"), text(513, "z")
    tokens = [loaded.pipe.tokenizer_2(prompt).input_ids for prompt in (one, other)]
    assert [n for n, pair in enumerate(zip(*tokens, strict=True), 1) if len(set(pair)) > 1] == [513]
    # Of the pipeline's own 512 it is none; of 2,048 it is one.
    assert draw(loaded, one).pixels == draw(loaded, other).pixels == draw(loaded, one, 512).pixels
    assert draw(loaded, one, MAX_TOKENS).pixels != draw(loaded, other, MAX_TOKENS).pixels
    assert draw(loaded, one, 513).pixels == draw(loaded, other, 513).pixels  # The last one read is the mark of the end.
    assert draw(loaded, one, 514).pixels != draw(loaded, other, 514).pixels


@flux
def test_tokens_are_read_up_to_limit(loaded: Any) -> None:
    ends = [text(place, letter, 2100) for place in (MAX_TOKENS - 1, MAX_TOKENS) for letter in "bz"]
    found = [draw(loaded, prompt, MAX_TOKENS).pixels for prompt in ends]
    assert found[0] != found[1]
    assert found[2] == found[3]


@flux
def test_encoding_equals_that_of_pipeline(loaded: Any) -> None:
    """Where both can, they agree to the last bit."""
    import torch

    prompts = ["A cell.", text(20, "b", 40)]

    def once(**given: Any) -> Any:
        noise = [torch.Generator().manual_seed(1) for _ in prompts]
        how = {"num_inference_steps": 1, "width": 32, "height": 32, "output_type": "np"}
        return loaded.pipe(**given, **how, generator=noise).images

    with torch.inference_mode():
        own = once(prompt=prompts, max_sequence_length=300)
        here = once(**encode(loaded.pipe, prompts, 300))
        alone = encode(_Encoders(loaded.pipe), prompts, 300)
        whole = encode(loaded.pipe, prompts, 300)
    assert np.array_equal(own, here)
    assert all(torch.equal(alone[name], whole[name]) for name in whole)


class _Encoders:
    """A pipeline of encoders alone, as training has it."""

    def __new__(cls, pipe: Any) -> Any:
        return type(pipe)(
            scheduler=pipe.scheduler, vae=None, transformer=None, text_encoder=pipe.text_encoder,
            tokenizer=pipe.tokenizer, text_encoder_2=pipe.text_encoder_2, tokenizer_2=pipe.tokenizer_2,
        )  # fmt: skip


@flux
def test_long_prompt_works_with_other_options(loaded: Any) -> None:
    drawn = draw(loaded, text(513, "b"), MAX_TOKENS, guidance=60.0)
    assert drawn.about["arguments"]["max_sequence_length"] == MAX_TOKENS
    assert drawn.pixels != draw(loaded, text(513, "b"), MAX_TOKENS, guidance=1.0).pixels
    truly = [
        draw(loaded, text(513, "b"), MAX_TOKENS, true_cfg_scale=5.0, negative_prompt=word) for word in ("blur", "words")
    ]
    assert truly[0].pixels != truly[1].pixels


@flux
def test_editing_reads_prompt_to_same_limit(loaded: Any) -> None:
    from tests.support import picture

    how = DrawSettings(32, 32, steps=2, strength=1.0, editing=True, max_sequence_length=MAX_TOKENS)
    found = [list(loaded.draw(how, [DrawItem(text(513, letter), 7, (picture(1),))])) for letter in "bz"]
    assert all(isinstance(one, RawDrawing) for (one,) in found), found
    assert found[0][0].pixels != found[1][0].pixels


@flux
def test_sequence_length_over_maximum_is_refused(loaded: Any) -> None:
    with pytest.raises(WorkerUnfit, match="FluxPipeline reads at most 2048 tokens, not max_sequence_length=2049"):
        draw(loaded, "A cell.", MAX_TOKENS + 1)


@pytest.mark.parametrize("loaded", FAMILIES, indirect=True)
def test_unread_part_is_reported(loaded: Any) -> None:
    family = type(loaded.pipe).__name__
    assert is_flux(loaded.pipe) == (family == "FluxPipeline")
    read = {"FluxPipeline": USUAL_TOKENS, "StableDiffusion3Pipeline": 256, "StableDiffusionXLPipeline": 77}.get(family)
    assert find_unread(loaded.pipe, "A cell.", None) is None
    assert "cut" not in draw(loaded, "A cell.").about
    if read is None:  # How the others count is their own.
        return
    cut = draw(loaded, "a" * 700 + "zzz").about["cut"]
    assert (cut["read"], cut["sent"] // 10, cut["unit"]) == (read, 70, "tokens")
    assert cut["rest"].endswith(("zzz", "…"))
    assert len(cut["rest"]) < 320


@flux
def test_unread_words_are_listed(loaded: Any) -> None:
    prompt = "a" * 510 + "xyz"
    assert find_unread(loaded.pipe, prompt, None) == {"sent": 515, "read": 512, "unit": "tokens", "rest": "xyz"}
    assert find_unread(loaded.pipe, prompt, 515) is None
    assert draw(loaded, prompt).about["cut"]["rest"] == "xyz"
    assert "cut" not in draw(loaded, prompt, MAX_TOKENS).about


@pytest.mark.parametrize("family", FAMILIES)
def test_painter_counts_tokens_with_pipeline_own_tokenizer(
    family: str, pipeline: Callable[[str], Path], store: Store
) -> None:
    painter = DiffusersPainter(inputs("mine", f"diffusers/{pipeline(family)}", store.blobs, {}))
    count = painter.token_counter()
    if family not in ("flux", "sd3"):
        assert count is None
        return
    words = "Photosynthesis: CO2 + H2O.\n\n=== DRAWING ===\n\nA leaf."
    from limner.painters.diffusers.pipeline import load_pipeline

    pipe = load_pipeline(PipelineSetup(str(pipeline(family)), dtype="float32"))
    own = pipe.tokenizer_2 if family == "flux" else pipe.tokenizer_3
    assert count is not None
    assert count(words) == len(own(words, add_special_tokens=False).input_ids) > 40
