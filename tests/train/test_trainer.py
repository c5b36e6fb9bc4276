"""A tiny FLUX learns four pictures on the CPU; killed, it learns the same; what is cached changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limner.core.errors import UsageError
from limner.core.training import read_samples
from limner.train.settings import MODULES, TrainSettings
from tests.painters.diffusers import tiny
from tests.train.conftest import make_flux, picture, write_samples

SHORT = TrainSettings(
    steps=6, size=16, tokens=64, rank=4, alpha=4, batch=2, accumulate=2, learning_rate=1e-3, warmup=2,
    recompute=0,
)  # fmt: skip
EVERYWHERE = (*MODULES, "x_embedder", "context_embedder", "norm_out.linear", "norm1.linear", "norm.linear",
              "norm1_context.linear")  # fmt: skip


def made(data: Path, out: Path, settings: TrainSettings = SHORT, cached: bool = True, **how: Any) -> Any:
    from limner.train.trainer import Trainer

    cache = out.parent / "cache" if cached else None
    return Trainer(make_flux(), "tiny", read_samples(data), settings, out, cache, say=lambda _: None, **how)


def logged(out: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (out / "loss.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_cached_and_uncached_encodings_give_equal_loss(data: Path, tmp_path: Path) -> None:
    first = made(data, tmp_path / "a").train()
    files = list((tmp_path / "cache").rglob("*.safetensors"))
    assert len(files) == 8
    assert made(data, tmp_path / "b").train() == first
    assert made(data, tmp_path / "c", cached=False).train() == pytest.approx(first, rel=1e-5)
    assert logged(tmp_path / "a") == first


@pytest.mark.slow
def test_recomputation_does_not_change_loss(data: Path, tmp_path: Path) -> None:
    plain = made(data, tmp_path / "a", replace(SHORT, steps=2)).train()
    assert made(data, tmp_path / "b", replace(SHORT, steps=2, recompute=0.5)).train() == pytest.approx(plain, rel=1e-5)


SCRIPT = """
import os, signal, sys
from pathlib import Path
import diffusers, peft, torch, transformers
import limner.train.trainer
from tests.train.test_trainer import made
torch.set_num_threads(1)
data, out = map(Path, sys.argv[1:3])
for last in map(int, sys.argv[3:]):
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    sys.exit()
trainer = made(data, out, save_every=2)
log = trainer._log
def logs(step, numbers):
    log(step, numbers)
    if step == last:
        os.kill(os.getpid(), signal.SIGKILL)
trainer._log = logs
trainer.train()
"""
"""Kills one process after another at the step that is named; what all of them import is loaded once."""


@pytest.mark.slow
def test_killed_training_resumes_with_same_loss_curve(data: Path, tmp_path: Path) -> None:
    whole = made(data, tmp_path / "whole").train()
    words = [sys.executable, "-c", SCRIPT, str(data), str(tmp_path / "cut"), "3", "5"]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.split() == ["-9", "-9"]
    assert [path.name for path in (tmp_path / "cut").glob("checkpoint-*")] == ["checkpoint-00000004"]
    made(data, tmp_path / "cut", save_every=2).train()
    assert logged(tmp_path / "cut") == pytest.approx(whole, rel=1e-6)
    ends = [(tmp_path / name / "flux-reason.safetensors").read_bytes() for name in ("whole", "cut")]
    assert len(ends[0]) == len(ends[1])


def test_pipeline_of_another_family_is_refused(data: Path, tmp_path: Path) -> None:
    from limner.train.trainer import Trainer

    with pytest.raises(UsageError, match="StableDiffusion3Pipeline is not a FLUX"):
        Trainer(tiny.sd3(), "tiny", read_samples(data), SHORT, tmp_path / "out", None).train()


@pytest.mark.slow
def test_weights_record_their_training_data(data: Path, tmp_path: Path) -> None:
    from limner.painters.diffusers.weights import training_metadata

    facts = {"overlap": {"exam": "e", "concepts": ["water cycle"], "questions": 2}}
    made(data, tmp_path / "out", replace(SHORT, steps=1), about=facts).train()
    found = training_metadata(tmp_path / "out" / "flux-reason.safetensors")
    assert found["overlap"] == facts["overlap"]
    assert (found["settings"]["rank"], found["samples"]) == (4, 4)
    assert training_metadata(data / "train.jsonl") == {}
    with pytest.raises(UsageError, match="a checkpoint of another base, samples or settings"):
        made(data, tmp_path / "out", replace(SHORT, rank=8, alpha=8)).train()


@pytest.mark.slow
def test_training_overfits_and_redraws_four_pictures(data: Path, tmp_path: Path) -> None:
    from limner.painters.batched.jobs import DrawItem
    from limner.painters.diffusers.jobs import DrawSettings, PipelineSetup
    from limner.painters.diffusers.pipeline import Pipeline
    from limner.painters.diffusers.text_encoding import reason_text
    from limner.train.trainer import Trainer

    settings = replace(SHORT, steps=300, rank=32, alpha=32, batch=4, accumulate=1, learning_rate=5e-3, warmup=10,
                       modules=EVERYWHERE)  # fmt: skip
    pipe, samples, out = make_flux(wide=True), read_samples(data), tmp_path / "out"
    pipe.save_pretrained(tmp_path / "base")
    losses = Trainer(pipe, "tiny", samples, settings, out, tmp_path / "cache", say=lambda _: None).train()
    start, end = np.mean(losses[:10]), np.mean(losses[-50:])
    assert end <= start / 10

    def count(text: str) -> int:
        return len(pipe.tokenizer_2(text, truncation=False, add_special_tokens=False).input_ids)

    words = [reason_text(s.rubric.trace, s.rubric.final_prompt, 64, count) for s in samples]
    items = [DrawItem(text, n, (), sample.prompt) for n, (text, sample) in enumerate(zip(words, samples, strict=True))]
    how = DrawSettings(16, 16, steps=20, guidance=3.5, max_sequence_length=64)
    load = PipelineSetup(str(tmp_path / "base"), None, "float32", device="cpu",
                         loras=((str(out / "flux-reason.safetensors"), 1.0),))  # fmt: skip
    drawn = [np.frombuffer(one.pixels, np.uint8).reshape(16, 16, 3) for one in Pipeline.open(load).draw(how, items)]  # type: ignore[union-attr]
    # What the random autoencoder makes of each picture is what can be drawn of it.
    import torch

    with torch.no_grad():
        seen = []
        for n in range(4):
            pixels = torch.from_numpy(np.asarray(picture(n), np.float32).transpose(2, 0, 1).copy())[None] / 127.5 - 1
            back = pipe.vae.decode(pipe.vae.encode(pixels).latent_dist.mode()).sample[0]
            seen.append(((back / 2 + 0.5).clamp(0, 1) * 255).numpy().transpose(1, 2, 0))
    far = [[float(np.abs(one - other).mean()) for other in seen] for one in drawn]
    assert [int(np.argmin(row)) for row in far] == [0, 1, 2, 3], far


@pytest.mark.slow
def test_samples_of_several_shapes_train_together(tmp_path: Path) -> None:
    from PIL import Image

    folder = write_samples(tmp_path / "mixed")
    Image.new("RGB", (32, 16), "red").save(folder / "images/0.png")
    trainer = made(folder, tmp_path / "out", replace(SHORT, steps=2, size=32, batch=2))
    losses = trainer.train()
    assert len(set(trainer._groups)) == 2
    assert all(np.isfinite(losses))
