"""The command that trains: train flux-reason."""

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
@click.option(
    "--data", type=options.FOLDER, required=True, metavar="DIR", help="A folder with train.jsonl and its images."
)
@click.option("--base", required=True, metavar="PATH", help="A FLUX.1 pipeline: a folder, or OWNER/NAME on the hub.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("flux-reason"),
    show_default=True,
    help="The folder for checkpoints and trained weights; run the command again to resume.",
)
@click.option(
    "--set", "given", multiple=True, metavar="NAME=VALUE", help="A setting, such as rank=16 or steps=2000. Repeatable."
)
@click.option(
    "--cache", type=click.Path(path_type=Path, file_okay=False), help="The folder for encodings; by default in --out."
)
@click.option("--no-cache", is_flag=True, help="Encode at every step: slower, but needs no disk space.")
@click.option("--save-every", type=click.IntRange(1), default=500, show_default=True, help="Steps between checkpoints.")
@click.option(
    "--keep", type=click.IntRange(1), default=1, show_default=True,
    help="Checkpoints to keep: the newest, and also the one with the lowest held-out loss.",
)  # fmt: skip
@click.option(
    "--held-out", metavar="SHARE", help="The share of samples for the held-out loss; by default 0.02, 0 for none."
)
@click.option("--fast", is_flag=True, help="Compile the blocks and recompute a fifth of them: faster, more memory.")
@click.option("--exam", help="The exam that the painter will take: training on its concepts is refused.")
@click.option("--exam-data", type=click.Path(path_type=Path, exists=True), help="The exam's data.")
@click.option("--allow-overlap", is_flag=True, help="Train on the exam's concepts anyway; tables will say so.")
@click.option("--look-every", type=click.IntRange(0), default=0, help="Draw validation pictures every so many steps.")
@click.option(
    "--look-at", type=click.IntRange(1), default=4, show_default=True, help="The number of pictures drawn then."
)
@click.option(
    "--traces",
    type=click.Path(path_type=Path, exists=True),
    help="Traces for the exam's questions: id, trace, final_prompt.",
)
@click.option(
    "--planner", metavar="MODEL", help="A model that writes these traces; without any, held-out samples are drawn."
)
@click.option("--judge", "judges", multiple=True, help="A judge of the drawn questions. Repeatable.")
@click.option(
    "--log", "trackers", multiple=True, metavar="NAME", help="tensorboard, wandb …; loss.jsonl is always written."
)
def flux_reason_command(**given: Any) -> None:
    """Fine-tune FLUX with LoRA to draw from a chain of reasoning, like MMMG's FLUX-Reason.

    Steps, size and tokens are the paper's; Limner chose what the paper leaves open. After an interruption, the same
    command resumes. For several GPUs: accelerate launch --no_python limner train flux-reason …
    """
    from ..train.settings import FAST, parse
    from ..train.start import Watched, train

    settings = parse(
        (FAST if given["fast"] else {})
        | ({"held_out": given["held_out"]} if given["held_out"] is not None else {})
        | options.parse_pairs(given["given"], "--set")
    )
    watched = Watched(given["exam"], given["exam_data"], given["look_every"], given["look_at"], given["traces"],
                      given["planner"], given["judges"])  # fmt: skip
    out: Path = given["out"]
    cache = None if given["no_cache"] else given["cache"] or out / "cache"
    train(
        given["data"], given["base"], out, settings, watched=watched, allow_overlap=given["allow_overlap"],
        cache=cache, save_every=given["save_every"], keep=given["keep"], trackers=given["trackers"], say=say,
    )  # fmt: skip
