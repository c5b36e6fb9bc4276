"""Training: train flux-reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import options
from .say import say


@click.group("train")
def train_command() -> None:
    """Train a painter on pictures with chains of reasoning."""


@train_command.command("flux-reason")
@click.option("--data", type=options.FOLDER, required=True, help="Folder with train.jsonl and its images.")
@click.option("--base", required=True, metavar="PATH", help="A FLUX.1 pipeline: a folder, or OWNER/NAME of the hub.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("flux-reason"),
    show_default=True,
    help="Where checkpoints and the trained weights are put; run again to go on.",
)
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="Such as rank=16 or steps=2000. Repeatable.")
@click.option("--cache", type=click.Path(path_type=Path, file_okay=False), help="Where encodings are kept; in --out.")
@click.option("--no-cache", is_flag=True, help="Encode at every step: slower, needs no disk.")
@click.option("--save-every", type=click.IntRange(1), default=500, show_default=True, help="Steps between checkpoints.")
@click.option("--exam", help="The exam the painter will sit: training on its concepts is refused.")
@click.option("--exam-data", type=click.Path(path_type=Path, exists=True), help="The exam's data.")
@click.option("--allow-overlap", is_flag=True, help="Train on the exam's concepts all the same; tables tell it.")
@click.option(
    "--look-every", type=click.IntRange(0), default=0, help="Steps between two looks at the exam's questions."
)
@click.option(
    "--look-at", type=click.IntRange(1), default=4, show_default=True, help="How many questions are drawn then."
)
@click.option(
    "--traces", type=click.Path(path_type=Path, exists=True), help="Traces for them: id, trace, final_prompt."
)
@click.option("--judge", "judges", multiple=True, help="Who marks these pictures. Repeatable.")
@click.option(
    "--log", "trackers", multiple=True, metavar="NAME", help="tensorboard, wandb …; loss.jsonl is always written."
)
def flux_reason_command(**given: Any) -> None:
    """Fine-tune FLUX with LoRA so that it draws from a chain of reasoning, as MMMG's FLUX-Reason does.

    Steps, size and tokens are the paper's; what the paper leaves open is Limner's own choice. Killed, the same command
    goes on. For several GPUs: accelerate launch --no_python limner train flux-reason …
    """
    from ..train.settings import parse
    from ..train.start import Watched, train

    settings = parse(options.pairs(given["given"], "--set"))
    watched = None
    if given["exam"]:
        watched = Watched(given["exam"], given["exam_data"], given["look_every"], given["look_at"], given["traces"],
                          given["judges"])  # fmt: skip
    elif given["look_every"]:
        raise click.UsageError("--look-every needs --exam")
    out: Path = given["out"]
    cache = None if given["no_cache"] else given["cache"] or out / "cache"
    file = train(
        given["data"], given["base"], out, settings, watched=watched, allow_overlap=given["allow_overlap"],
        cache=cache, save_every=given["save_every"], trackers=given["trackers"], say=say,
    )  # fmt: skip
    say(f"Trained: {file}")
    say(
        f"Draw:    limner run EXAM --painter diffusers/{given['base']} --painter-arg lora={file} "
        f"--painter-arg max_sequence_length={settings.tokens} --strategy reason -S send=trained -S planner=MODEL"
    )
