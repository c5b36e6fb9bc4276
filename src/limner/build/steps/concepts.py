"""Concepts and topics: sentence embeddings, and DBSCAN with a narrow and a wide reach."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from ...core.schema import StrictModel
from ...core.training import plain
from ..base import Bench, BuildItem, BuildStep, Dropped, StepOutcome
from ..embedding import MINILM, dbscan, embed, medoids


class ConceptsSettings(StrictModel):
    """How prompts are put together. All numbers are ours: the paper names neither model nor reach.

    Attributes:
        model: ``minilm``, a model of sentence-transformers by folder or name, or ``letters``: no model, only spelling.
        of: What is embedded: the key ``concept`` that came with a prompt, or the ``prompt``, as in the paper.
        eps: Cosine distance within which prompts are of one concept.
        topic_eps: The same for topics, which hold whole concepts.
        min_samples: How many make a dense place.
        per_concept: At most so many prompts of a concept go on at each level; with 0 all do.
    """

    model: str = MINILM
    of: Literal["concept", "prompt"] = "concept"
    eps: float = Field(default=0.22, gt=0, lt=1)
    topic_eps: float = Field(default=0.4, gt=0, lt=1)
    min_samples: int = Field(default=2, ge=1)
    per_concept: int = Field(default=0, ge=0)


async def concepts(items: Sequence[BuildItem], bench: Bench) -> Mapping[str, StepOutcome]:
    """See the module."""
    how: ConceptsSettings = bench.settings
    if not items:
        return {}
    found = await asyncio.to_thread(_grouped, [item.body for item in items], how)
    taken: Counter[tuple[str, str]] = Counter()
    left: dict[str, StepOutcome] = {}
    for item, (concept, topic) in zip(items, found, strict=True):
        place = concept, item.body["level"]
        taken[place] += 1
        if how.per_concept and taken[place] > how.per_concept:
            left[item.id] = Dropped("enough of this concept", concept)
        else:
            left[item.id] = item.having(asked_concept=item.body["concept"], concept=concept, topic=topic)
    return left


def _grouped(bodies: Sequence[Mapping[str, str]], how: ConceptsSettings) -> list[tuple[str, str]]:
    """Concept and topic of each, by their names."""
    names = [body["concept"] for body in bodies]
    vectors = embed([body[how.of] for body in bodies], how.model)
    narrow = _joined(dbscan(vectors, how.eps, how.min_samples), [plain(name) for name in names])
    wide = _joined(dbscan(vectors, how.topic_eps, how.min_samples), narrow)
    told = []
    for labels in (narrow, wide):
        middle = medoids(vectors, labels)
        words: dict[int, Counter[str]] = {}
        for label, name in zip(labels, names, strict=True):
            words.setdefault(label, Counter())[plain(name)] += 1
        called: dict[int, str] = {}
        for label, counts in words.items():
            most = max(counts.values())
            usual = {name for name, times in counts.items() if times == most}
            own = names[middle[label]]
            first = next(name for name, one in zip(names, labels, strict=True) if one == label and plain(name) in usual)
            called[label] = own if plain(own) in usual else first
        told.append([called[label] for label in labels])
    return list(zip(*told, strict=True))


def _joined(labels: Sequence[int], keys: Sequence[object]) -> list[int]:
    """The same clusters, those joined that share a key: no name stands for two concepts, no concept for two topics."""
    parent = {label: label for label in labels}

    def root(label: int) -> int:
        while parent[label] != label:
            label = parent[label]
        return label

    seen: dict[object, int] = {}
    for label, key in zip(labels, keys, strict=True):
        one, other = root(label), root(seen.setdefault(key, label))
        parent[max(one, other)] = min(one, other)
    return [root(label) for label in labels]


STEP = BuildStep("concepts", "puts prompts together by concept and topic: sentence embeddings, DBSCAN",
                 ConceptsSettings, reads=("prompt", "concept", "level"), together=concepts)  # fmt: skip
