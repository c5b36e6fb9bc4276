"""Concepts and topics: sentence embeddings, clustered by DBSCAN with a small and a large distance."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from ...core.schema import StrictModel
from ...core.training import normalize_words
from ..base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome
from ..embedding import MINILM, dbscan, embed, medoids


class ConceptsSettings(StrictModel):
    """The settings of the grouping. All numbers are our choice: the paper names neither model nor distance.

    Attributes:
        model: ``minilm``, a model of sentence-transformers by folder or name, or ``letters``: no model, only spelling.
        of: The text to embed: the key ``concept`` that came with a prompt, or the ``prompt``, as in the paper.
        eps: The cosine distance within which prompts have the same concept.
        topic_eps: The cosine distance within which they have the same topic; a topic contains whole concepts.
        min_samples: The number of prompts that make a core of a cluster.
        per_concept: The most prompts of a concept that pass at each level; 0 for all.
    """

    model: str = MINILM
    of: Literal["concept", "prompt"] = "concept"
    eps: float = Field(default=0.22, gt=0, lt=1)
    topic_eps: float = Field(default=0.4, gt=0, lt=1)
    min_samples: int = Field(default=2, ge=1)
    per_concept: int = Field(default=0, ge=0)


async def concepts(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Group prompts into concepts and topics by the distance of their embeddings."""
    how: ConceptsSettings = context.settings
    if not items:
        return {}
    groups = await asyncio.to_thread(_group_by_meaning, [item.body for item in items], how)
    taken: Counter[tuple[str, str]] = Counter()
    left: dict[str, StepOutcome] = {}
    for item, (concept, topic) in zip(items, groups, strict=True):
        place = concept, item.body["level"]
        taken[place] += 1
        if how.per_concept and taken[place] > how.per_concept:
            left[item.id] = Dropped("enough of this concept", concept)
        else:
            left[item.id] = item.having(asked_concept=item.body["concept"], concept=concept, topic=topic)
    return left


def _group_by_meaning(bodies: Sequence[Mapping[str, str]], how: ConceptsSettings) -> list[tuple[str, str]]:
    """Return the names of concept and topic for each prompt."""
    names = [body["concept"] for body in bodies]
    vectors = embed([body[how.of] for body in bodies], how.model)
    narrow = _join_clusters(dbscan(vectors, how.eps, how.min_samples), [normalize_words(name) for name in names])
    wide = _join_clusters(dbscan(vectors, how.topic_eps, how.min_samples), narrow)
    columns = []
    for labels in (narrow, wide):
        middle = medoids(vectors, labels)
        words: dict[int, Counter[str]] = {}
        for label, name in zip(labels, names, strict=True):
            words.setdefault(label, Counter())[normalize_words(name)] += 1
        called: dict[int, str] = {}
        for label, counts in words.items():
            most = max(counts.values())
            usual = {name for name, times in counts.items() if times == most}
            own = names[middle[label]]
            first = next(
                name
                for name, other in zip(names, labels, strict=True)
                if other == label and normalize_words(name) in usual
            )
            called[label] = own if normalize_words(own) in usual else first
        columns.append([called[label] for label in labels])
    return list(zip(*columns, strict=True))


def _join_clusters(labels: Sequence[int], keys: Sequence[object]) -> list[int]:
    """Join clusters that share a key, so that no name has two concepts and no concept two topics."""
    parent = {label: label for label in labels}

    def root(label: int) -> int:
        while parent[label] != label:
            label = parent[label]
        return label

    seen: dict[object, int] = {}
    for label, key in zip(labels, keys, strict=True):
        first, other = root(label), root(seen.setdefault(key, label))
        parent[max(first, other)] = min(first, other)
    return [root(label) for label in labels]


STEP = BuildStep("concepts", "puts prompts together by concept and topic: sentence embeddings, DBSCAN",
                 ConceptsSettings, reads=("prompt", "concept", "level"), together=concepts)  # fmt: skip
