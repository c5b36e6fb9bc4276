"""The training set of a build: samples with graphs, traces and pictures, as `limner train` reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....build.base import PART, TRAIN, BuildItem
from ....build.engine import Builder
from ....build.export import (
    card_heading,
    check_empty,
    licence_of,
    markdown_table,
    open_licences,
    step_counts,
    write_table,
)
from ....core.asks import Prompts
from ....core.errors import UsageError
from ....core.exam import Exam, Question, Reference
from ....core.images import SUFFIXES, inspect
from ....core.training import FILE, TrainSample, read_samples

TRAINING_PROVENANCE = ("id", "image", "sha256", "origin", "licence", "source")


@dataclass(frozen=True)
class TrainingResult:
    """The counts of a training export; `withheld` counts pictures of a source that may not be passed on."""

    samples: int
    concepts: int
    withheld: int = 0


def training_items(builder: Builder) -> list[BuildItem]:
    """Return the items of the training part that have passed the last step, in order."""
    _, items = builder.look()
    return [item for _, item in sorted(items.items()) if item.body.get(PART) == TRAIN]


def sample_of(item: BuildItem, image: str) -> TrainSample:
    """Return an item as a sample with its picture under this name."""
    fields = {name: item.body.get(name, "") for name in TrainSample.model_fields}
    fields |= {"id": item.id, "image": image}
    fields |= {"elements": tuple(part["name"] for part in item.body["elements"])}
    fields |= {"dependencies": tuple(part["says"] for part in item.body["dependencies"])}
    return TrainSample.model_validate(fields)


def training_set(builder: Builder) -> Exam[TrainSample]:
    """Return the training part as an exam whose questions are its samples, so that they can be counted."""
    return Exam(builder.build.name, builder.recipe.exam, tuple(_questions(builder)))


def _questions(builder: Builder) -> Iterator[Question[TrainSample]]:
    for item in training_items(builder):
        sample = sample_of(item, str(item.body["image"]))
        tags = {"level": sample.level, "discipline": sample.discipline, "concept": sample.concept}
        yield Question(sample.id, sample.prompt, sample, tags, Reference(sample.image, known_sha256=sample.image))


def export_training(
    builder: Builder, folder: Path, licence: str = "CC-BY-4.0", pass_on: Sequence[str] = ()
) -> TrainingResult:
    """Write ``train.jsonl``, ``images/`` and a card into an empty folder, and read them back as training does.

    Args:
        builder: The build.
        folder: The folder for ``limner train``.
        licence: The licence of prompts, graphs and traces.
        pass_on: Further licences under which pictures of a source may be passed on.

    Raises:
        UsageError: There is nothing to train on, or the folder is not empty.
    """
    mine, licences = training_items(builder), open_licences(pass_on)
    items = [item for item in mine if _is_drawn(item, builder) or licence_of(item).casefold() in licences]
    if not mine:
        raise UsageError(
            f"no item of {builder.build.name} is for training and has passed its last step; see `limner build status`"
        )
    if not items:
        raise UsageError(f"no licence of the {len(mine)} pictures allows passing them on; --pass-on LICENCE adds one")
    check_empty(folder)
    (folder / "images").mkdir(parents=True)
    lines, rows = [], list[dict[str, Any]]()
    for item in items:
        data = builder.store.blobs.get(item.body["image"])
        # Unchanged: a canary would mean that these pictures must not be used for training.
        name = f"images/{item.id}.{SUFFIXES[inspect(data).format]}"
        (folder / name).write_bytes(data)
        lines.append(sample_of(item, name).model_dump_json())
        source = item.body.get("source") or {}
        rows.append({"id": item.id, "image": name, "sha256": item.body["image"], "origin": item.body.get("origin", ""),
                     "licence": item.body.get("licence", ""), "source": source.get("origin", "")})  # fmt: skip
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_table(folder / "provenance.csv", TRAINING_PROVENANCE, rows)
    counts = Counter(row["licence"] or "unknown" for row in rows).most_common()
    fields = {"licence": licence, "recipe": builder.recipe.name, "kind": builder.recipe.exam, "size": str(len(items))}
    fields["licences"] = markdown_table(["licence", "pictures"], [[name, str(n)] for name, n in counts])
    fields["withheld"] = f"{len(mine) - len(items):,}"
    fields["counts"] = step_counts(builder.recipe, builder.look()[0])
    facts = {"name": builder.build.name, "licence": licence}
    heading = card_heading(facts, len(items), ["reasoning", "text-to-image", "limner"], [FILE])
    card = heading + Prompts(Path(__file__).parent).fill("training-card", **fields)
    (folder / "README.md").write_text(card, encoding="utf-8")
    samples = read_samples(folder)
    return TrainingResult(len(samples), len({sample.rubric.concept for sample in samples}), len(mine) - len(items))


def _is_drawn(item: BuildItem, builder: Builder) -> bool:
    """Return whether the build has drawn an item's picture itself, and not taken it from a source."""
    return (item.body.get("source") or {}).get("origin") in builder.build.body["roles"].values()
