"""Steps of FLUX-Reason's training at full size with random weights, beside diffusers' own example of LoRA training.

Needs a GPU. `python -m benchmarks.train_flux ours --fast` trains our way, `… example FILE` runs diffusers'
`train_dreambooth_lora_flux.py` on the same weights, pictures and settings. Each prints seconds a step (median,
the first `WARM` left out), the peak of memory and the losses.

`python -m benchmarks.train_flux times` needs no GPU: it trains a tiny FLUX with every way of sampling noise levels, and
prints the loss on held-out samples at the noise levels of drawing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import runpy
import statistics
import sys
import tempfile
import time
import types
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from limner.train.settings import FAST

SAMPLES, WARM = 6, 4
WORDS = "The roots take water up and the leaves give it back to the air. "
TIMES: list[float] = []
LOSSES: list[float] = []


def transformer() -> Any:
    import diffusers

    with torch.device("cuda"):
        torch.manual_seed(0)
        torch.set_default_dtype(torch.bfloat16)
        made = diffusers.FluxTransformer2DModel(guidance_embeds=True)
        torch.set_default_dtype(torch.float32)
        for weight in made.parameters():
            # So small that gradients stay finite through 57 random blocks.
            torch.nn.init.normal_(weight, std=0.01) if weight.dim() > 1 else None
    return made


def vae() -> Any:
    import diffusers

    kinds = ("DownEncoderBlock2D",) * 4, ("UpDecoderBlock2D",) * 4
    with torch.device("cuda"):
        torch.manual_seed(0)
        return diffusers.AutoencoderKL(
            3, 3, *kinds, block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=16,
            sample_size=1024, scaling_factor=0.3611, shift_factor=0.1159, use_quant_conv=False,
            use_post_quant_conv=False, force_upcast=True,
        )  # fmt: skip


def t5() -> Any:
    import transformers

    config = transformers.T5Config(
        vocab_size=32128, d_model=4096, d_kv=64, d_ff=10240, num_layers=24, num_heads=64, feed_forward_proj="gated-gelu"
    )
    with torch.device("cuda"):
        torch.manual_seed(0)
        return transformers.T5EncoderModel(config).to(torch.bfloat16)


def clip() -> Any:
    import transformers

    config = transformers.CLIPTextConfig(
        hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, vocab_size=49408,
        projection_dim=768, bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    with torch.device("cuda"):
        torch.manual_seed(0)
        return transformers.CLIPTextModel(config).to(torch.bfloat16)


def tokenizers() -> tuple[Any, Any]:
    from tests.painters.diffusers import tiny

    return tiny._clip_words(), tiny._t5_words()


def scheduler() -> Any:
    import diffusers

    return diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0, use_dynamic_shifting=True)


def picture(n: int) -> Image.Image:
    dice = np.random.default_rng(n)
    return Image.fromarray(dice.integers(0, 255, (16, 16, 3), np.uint8)).resize((1024, 1024), Image.Resampling.BICUBIC)


def write_samples(folder: Path) -> Path:
    (folder / "images").mkdir(parents=True)
    rows = []
    for n in range(SAMPLES):
        picture(n).save(folder / f"images/{n}.png")
        rows.append(
            {"id": f"s{n}", "level": "PhD", "discipline": "Biology", "concept": f"c{n}", "prompt": f"Draw {n}.",
             "image": f"images/{n}.png", "trace": f"{n} " + WORDS * 60, "final_prompt": WORDS}
        )  # fmt: skip
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return folder


def ours(given: dict[str, str], cached: bool) -> None:
    import diffusers

    from limner.core.training import read_samples
    from limner.train.settings import parse
    from limner.train.trainer import Trainer

    words, pieces = tokenizers()
    pipe = diffusers.FluxPipeline(scheduler(), vae(), clip(), words, t5(), pieces, transformer())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        cache = folder / "cache" if cached else None
        trainer = Trainer(
            pipe, "random", read_samples(write_samples(folder / "data")), parse(given), folder / "out", cache, 10**9,
            say=lambda _: None,
        )  # fmt: skip
        log = trainer._log

        def timed(step: int, numbers: Mapping[str, float]) -> None:
            torch.cuda.synchronize()
            TIMES.append(time.perf_counter())
            LOSSES.append(numbers["loss"])
            log(step, numbers)

        trainer._log = timed  # type: ignore[method-assign]
        for name in ("_save", "_finish"):
            setattr(trainer, name, lambda *_: None)
        trainer.train()


def example(file: Path, given: dict[str, str]) -> None:
    """Run the example as it is, but for where weights, captions and the log come from."""
    import accelerate
    import diffusers
    import transformers

    from limner.train.settings import parse

    settings = parse(given)
    words, pieces = tokenizers()
    kept = {"t5": t5(), "clip": clip()}

    def instead(kind: Any, make: Any) -> None:
        kind.from_pretrained = classmethod(lambda cls, *_, **__: make())

    def encoder(_place: Any, subfolder: str = "", **_: Any) -> Any:
        name = "T5EncoderModel" if subfolder.endswith("_2") else "CLIPTextModel"
        return types.SimpleNamespace(architectures=[name])

    transformers.PretrainedConfig.from_pretrained = staticmethod(encoder)
    instead(transformers.CLIPTokenizer, lambda: words)
    instead(transformers.T5TokenizerFast, lambda: pieces)
    instead(transformers.CLIPTextModel, lambda: kept["clip"])
    instead(transformers.T5EncoderModel, lambda: kept["t5"])
    instead(diffusers.FluxTransformer2DModel, transformer)
    instead(diffusers.AutoencoderKL, vae)
    instead(diffusers.FlowMatchEulerDiscreteScheduler, scheduler)
    rows = {"image": [picture(n) for n in range(SAMPLES)], "text": [f"{n} {WORDS * 60}" for n in range(SAMPLES)]}

    class Rows(dict):  # type: ignore[type-arg]
        column_names = ("image", "text")

    data = types.ModuleType("datasets")
    data.load_dataset = lambda *_, **__: {"train": Rows(rows)}  # type: ignore[attr-defined]
    sys.modules["datasets"] = data

    def log(self: Any, values: dict[str, float], step: int | None = None, **_: Any) -> None:
        if "loss" in values:
            torch.cuda.synchronize()
            TIMES.append(time.perf_counter())
            LOSSES.append(float(values["loss"]))
            if len(TIMES) == settings.steps:
                raise SystemExit

    accelerate.Accelerator.log = log
    diffusers.utils.check_min_version = lambda *_: None
    with tempfile.TemporaryDirectory() as out:
        sys.argv = [
            str(file), "--pretrained_model_name_or_path=random", "--dataset_name=random", "--caption_column=text",
            "--instance_prompt=Draw.", f"--output_dir={out}", "--mixed_precision=bf16", f"--resolution={settings.size}",
            f"--train_batch_size={settings.batch}", f"--gradient_accumulation_steps={settings.accumulate}",
            f"--max_sequence_length={settings.tokens}", f"--rank={settings.rank}", f"--lora_alpha={settings.alpha}",
            f"--lora_layers={','.join(settings.modules)}", f"--max_train_steps={settings.steps}",
            f"--learning_rate={settings.learning_rate}", "--lr_scheduler=constant", "--lr_warmup_steps=0",
            "--weighting_scheme=logit_normal", f"--guidance_scale={settings.guidance}", "--gradient_checkpointing",
            f"--seed={settings.seed}", "--checkpointing_steps=1000000",
        ]  # fmt: skip
        with suppress(SystemExit):
            runpy.run_path(str(file), run_name="__main__")


COLOURS = {"red": (220, 30, 30), "blue": (30, 30, 220), "green": (20, 160, 60), "black": (10, 10, 10)}
PARTS = {
    "top": (slice(0, 8), slice(0, 16)),
    "left": (slice(0, 16), slice(0, 8)),
    "middle": (slice(4, 12), slice(4, 12)),
}


def write_combinations(folder: Path) -> Path:
    """Write samples of two coloured parts each, so that held-out ones combine what others show."""
    (folder / "images").mkdir(parents=True)
    rows = []
    halves = [(colour, part) for colour in COLOURS for part in PARTS]
    for n, pair in enumerate((one, other) for one in halves for other in halves if one[1] != other[1]):
        pixels = np.full((16, 16, 3), 255, np.uint8)
        for colour, part in pair:
            pixels[PARTS[part]] = COLOURS[colour]
        Image.fromarray(pixels).save(folder / f"images/{n}.png")
        words = " then ".join(f"{part} {colour}" for colour, part in pair)
        rows.append(
            {"id": f"s{n}", "level": "PhD", "discipline": "Biology", "concept": words, "prompt": f"Draw {words}.",
             "image": f"images/{n}.png", "trace": words, "final_prompt": words}
        )  # fmt: skip
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return folder


def times(given: dict[str, str], repeats: int) -> None:
    """Train a tiny FLUX that shifts the noise levels of 16 pixels as FLUX.1 [dev] shifts those of 1,024."""
    from tests.train.conftest import make_flux
    from tests.train.test_trainer import EVERYWHERE

    from limner.core.training import read_samples
    from limner.train.settings import parse
    from limner.train.trainer import LOG, Trainer

    torch.set_num_threads(1)
    usual = {"steps": "200", "size": "16", "tokens": "64", "rank": "32", "alpha": "32", "batch": "8", "accumulate": "1",
             "learning_rate": "0.005", "warmup": "20", "schedule": "cosine", "recompute": "0", "held_out": "0.25",
             "modules": ",".join(EVERYWHERE)}  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        samples = read_samples(write_combinations(Path(place) / "data"))
        ways = list(itertools.product(("uniform", "logit-normal"), ("resolution", "none")))
        ends: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
        for seed, way in itertools.product(range(repeats), ways):
            pipe, out = make_flux(wide=True), Path(place) / f"{'-'.join(way)}-{seed}"
            own = {"time_sampling": way[0], "shift": way[1], "seed": str(seed)}
            settings = parse(usual | given | own)
            trainer = Trainer(pipe, "tiny", samples, settings, out, Path(place) / "cache", say=lambda _: None)
            trainer.held_out = list(trainer.held_out) * 8
            trainer.train()
            ends[way].append(json.loads((out / LOG).read_text("utf-8").splitlines()[-1])["held-out loss"])
            print(f"seed {seed}, {way[0]}, shift {way[1]}: {ends[way][-1]:.4f}", flush=True)
        for way, losses in ends.items():
            print(f"{way[0]}, shift {way[1]}: mean {statistics.mean(losses):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=["ours", "example", "times"])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    words = parser.parse_args()
    chosen = dict(word.split("=", 1) for word in words.set)
    if words.way == "times":
        times(chosen, words.repeats)
        return
    # Its gradients are not finite here (torch 2.11, H200, 6,144 tokens), whoever trains.
    torch.backends.cuda.enable_cudnn_sdp(False)
    given = {"steps": "16", "accumulate": "1", "warmup": "0", "held_out": "0"} | (FAST if words.fast else {})
    given |= {"time_sampling": "logit-normal", "shift": "none"} | chosen  # As the example samples.
    if words.way == "ours":
        ours(given, not words.no_cache)
    else:
        example(words.file, given)
    each = [after - before for before, after in zip(TIMES[WARM:], TIMES[WARM + 1 :], strict=False)]
    found = {
        "way": words.way, "set": given, "cached": not words.no_cache, "steps": len(each),
        "seconds a step": round(statistics.median(each), 4), "steps a second": round(1 / statistics.median(each), 4),
        "peak GB": round(torch.cuda.max_memory_allocated() / 1e9, 1), "mean loss": round(statistics.mean(LOSSES), 4),
        "losses": [round(loss, 4) for loss in LOSSES[:5]],
    }  # fmt: skip
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
