"""A tiny FLUX learns four pictures on the CPU; killed, it learns the same; what is cached changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from limner.core.errors import UsageError
from limner.core.training import read_samples
from limner.train.settings import MODULES, TrainSettings, hold_out
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
    from safetensors.torch import load_file

    ends = [load_file(tmp_path / name / "flux-reason.safetensors") for name in ("whole", "cut")]
    assert ends[0].keys() == ends[1].keys()
    assert all(bool((tensor == ends[1][name]).all()) for name, tensor in ends[0].items())


@pytest.mark.slow
def test_newest_and_best_checkpoints_are_kept_with_model_cards(data: Path, tmp_path: Path) -> None:
    out, held_out_losses = tmp_path / "out", iter([3.0, 1.0, 2.0, 4.0, 5.0])
    settings = replace(SHORT, steps=5, held_out=0.25, accumulate=1, schedule="cosine")
    trainer = made(data, out, settings, save_every=1, keep=2, about={"model": "tiny/flux", "exam": "mmmg"})
    lines: list[str] = []
    trainer.say, trainer._held_out_loss = lines.append, lambda: next(held_out_losses)
    trainer.train()
    kept = [folder.name for folder in sorted(out.glob("checkpoint-*"))]
    assert kept == ["checkpoint-00000002", "checkpoint-00000004", "checkpoint-00000005"]
    assert f"lowest held-out loss: 1.0000 after step 2, in {out / kept[0]}" in lines
    card = (out / "README.md").read_text("utf-8")
    assert card.startswith("---\nbase_model: tiny/flux\n")
    assert (
        "for 5 steps on 3 samples. None of their concepts occurs in mmmg. The loss on 1 held-out samples is 5" in card
    )
    assert "| `rank` | 4 |" in card
    assert "{{" not in card
    assert "The loss on 1 held-out samples is 1.0000." in (out / kept[0] / "README.md").read_text("utf-8")
    rates = [json.loads(line)["learning rate"] for line in (out / "loss.jsonl").read_text("utf-8").splitlines()]
    assert rates == pytest.approx([0, 5e-4, 1e-3, 7.5e-4, 2.5e-4])
    with pytest.raises(UsageError, match="a checkpoint of another base, samples or settings"):
        made(data, out, replace(settings, steps=6)).train()


@pytest.mark.slow
def test_held_out_loss_ignores_how_times_are_sampled_and_falls(data: Path, tmp_path: Path) -> None:
    settings = replace(SHORT, steps=20, held_out=0.25, warmup=0, learning_rate=1e-2)
    trainer = made(data, tmp_path / "out", settings, save_every=10)
    other = made(data, tmp_path / "other", replace(settings, time_sampling="logit-normal", shift="none"))
    for one in (trainer, other):
        one._prepare()
    (held,) = trainer.held_out
    assert held.id not in {sample.id for sample in trainer.trained}
    before = trainer._held_out_loss()
    assert before == other._held_out_loss() == trainer._held_out_loss()
    losses = [trainer._update(step)["loss"] for step in range(20)]
    assert trainer._held_out_loss() < before
    assert len(set(losses)) == 20


def test_concepts_are_held_out_whole(data: Path) -> None:
    samples = [sample for sample in read_samples(data) for _ in range(5)]
    named = [replace(sample, id=f"{sample.id}-{n}") for n, sample in enumerate(samples)]
    trained, held_out = hold_out(named, 0.25, 42)
    assert (len(trained), len(held_out), len({sample.rubric.concept for sample in held_out})) == (15, 5, 1)
    assert hold_out(named[::-1], 0.25, 42)[1] == held_out[::-1]
    assert hold_out(named, 0.02, 42)[1] == []


@pytest.mark.parametrize("dynamic", [True, False])
def test_times_are_shifted_as_in_drawing(dynamic: bool) -> None:
    import diffusers
    import torch
    from diffusers.pipelines.flux.pipeline_flux import calculate_shift

    from limner.train.flow import generator, sample_noise, shift_times

    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=dynamic)
    even = np.linspace(1.0, 1 / 28, 28)
    scheduler.set_timesteps(sigmas=even, mu=calculate_shift(4096))
    drawn = scheduler.sigmas[:-1]
    assert shift_times(torch.from_numpy(even), scheduler, 4096).numpy() == pytest.approx(drawn.numpy(), abs=1e-6)
    picture = {"mean": torch.zeros(16, 128, 128), "std": torch.zeros(16, 128, 128)}

    def sampled(settings: TrainSettings) -> list[float]:
        noised = [sample_noise(picture, generator(0, n, "s"), settings, scheduler) for n in range(150)]
        return [float(np.quantile([float(time) for _, _, time in noised], at)) for at in (0.1, 0.5, 0.9)]

    own = [float(np.quantile(drawn, at)) for at in (0.1, 0.5, 0.9)]
    assert sampled(SHORT) == pytest.approx(own, abs=0.12)
    earlier = replace(SHORT, time_sampling="logit-normal", shift="none")
    assert sampled(earlier) == pytest.approx([0.22, 0.50, 0.78], abs=0.08)
    level = sample_noise(picture, generator(0, 0, "s"), SHORT, scheduler, 0.5)[2]
    assert float(level) == pytest.approx(float(shift_times(torch.tensor(0.5), scheduler, 4096)))


def test_endings_match_layers_of_blocks_only() -> None:
    import re

    from limner.train.weights import target_layers

    transformer = make_flux().transformer
    names = [name for name, _ in transformer.named_modules()]
    matched = {name for name in names if re.fullmatch(target_layers(transformer, MODULES), name)}
    assert "proj_out" in names
    assert "single_transformer_blocks.0.proj_out" in matched
    assert all("transformer_blocks." in name for name in matched)
    assert [n for n in names if re.fullmatch(target_layers(transformer, ["x_embedder"]), n)] == ["x_embedder"]


@pytest.mark.slow
def test_compiled_training_has_equal_losses(data: Path, tmp_path: Path) -> None:
    usual = replace(SHORT, steps=3, accumulate=1)
    plain = made(data, tmp_path / "a", usual).train()
    fast = made(data, tmp_path / "b", replace(usual, compiled=True, recompute=0.5)).train()
    assert fast == pytest.approx(plain, rel=1e-4)


def test_share_of_blocks_is_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.utils.checkpoint

    from limner.train.trainer import recomputing

    recomputed: list[Any] = []
    monkeypatch.setattr(torch.utils.checkpoint, "checkpoint", lambda call, *_, **__: recomputed.append(call))
    blocks = [torch.nn.Identity() for _ in range(57)]
    flux = SimpleNamespace(transformer_blocks=blocks[:19], single_transformer_blocks=blocks[19:])
    for share, count in ((0.2, 11), (1.0, 57)):
        recomputed.clear()
        call = recomputing(flux, share)
        for block in blocks:
            call(block, torch.zeros(1))
        assert len(recomputed) == count


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
    from limner.painters.batched import DrawItem
    from limner.painters.diffusers import DrawSettings, PipelineSetup
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
