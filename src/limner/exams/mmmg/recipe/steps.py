"""The own steps and readers of MMMG's recipe: sets of prompts, concepts, found pictures, graphs and traces."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from ....build.base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome
from ....build.embedding import MINILM, embed
from ....build.sources import SourceSettings, picture_fields, stored_pictures
from ....build.wording import stem
from ....core.asks import Unreadable
from ....core.json_text import loads
from ....core.schema import StrictModel
from ....core.training import normalize_words
from ..draft import read_graph
from .traces import read_trace, read_trace_rules
from .training import export_training, training_set


class LevelsSettings(StrictModel):
    """The levels, disciplines and numbers of prompts.

    Attributes:
        levels: A level's name in the data -> its name in prompts.
        disciplines: The disciplines, by their names in the data.
        prompts: The number of prompts for each level and discipline. The paper has about 947.
    """

    levels: dict[str, str] = Field(min_length=1)
    disciplines: tuple[str, ...] = Field(min_length=1)
    prompts: int = Field(default=20, ge=1)


async def levels(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every level and discipline."""
    how: LevelsSettings = context.settings
    for level, words in how.levels.items():
        for discipline in how.disciplines:
            body = {"level": level, "words": words, "discipline": discipline, "wanted": how.prompts}
            yield BuildItem(f"cell/{level}/{discipline}", body, "cell")


LINE = re.compile(r"^[^\S\n]*(?:\d{1,3}[.)])?[^\w\n]*(PROMPT|CONCEPT)[^\w\n:]*:[*_ \t]*(\S.*)$", re.MULTILINE)


def read_prompts(reply: str, item: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return prompts with their concepts, from alternating PROMPT and CONCEPT lines.

    Raises:
        Unreadable: The reply has faults; the message lists them.
    """
    many, most_words, concept_words = item["many"], values["words"], values["concept_words"]
    entries: list[dict[str, str]] = []
    wrong: list[str] = []
    for word, text in LINE.findall(reply):
        text = text.strip("*_ \t\r")
        if word == "PROMPT":
            entries.append({"prompt": text})
        elif not entries or "concept" in entries[-1]:
            wrong.append(f"the concept {text[:60]!r} has no prompt before it")
        else:
            entries[-1]["concept"] = text
    if not 1 <= len(entries) <= many:
        raise Unreadable(f"there are {len(entries)} lines **PROMPT**: …; {many} are wanted")
    seen: set[str] = set()
    for entry in entries:
        prompt, concept = entry["prompt"], entry.get("concept", "")
        if not normalize_words(concept):
            wrong.append(f"{prompt[:60]!r} has no line **CONCEPT**: … after it")
        elif len(concept.split()) > concept_words:
            wrong.append(f"the concept {concept[:60]!r} has more than {concept_words} words")
        if (words := len(prompt.split())) > most_words:
            wrong.append(f"{prompt[:60]!r} has {words} words; at most {most_words} are allowed")
        if not names_form(prompt, values["forms"]):
            wrong.append(f"{prompt[:60]!r} names no visual form, such as {', '.join(values['forms'][:4])}")
        if normalize_words(prompt) in seen:
            wrong.append(f"{prompt[:60]!r} occurs twice")
        seen.add(normalize_words(prompt))
    if wrong:
        raise Unreadable("; ".join(wrong[:6]))
    return {"prompts": entries}


def names_form(prompt: str, forms: Sequence[str]) -> bool:
    """Return whether a prompt names the kind of picture.

    >>> names_form("Draw a flow-chart of digestion.", ("diagram", "flow chart"))
    True
    """
    words = " ".join(stem(word) for word in normalize_words(prompt).split())
    return any(f" {' '.join(stem(word) for word in form.split())} " in f" {words} " for form in forms)


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
    from scipy.cluster.hierarchy import DisjointSet

    joined, first = DisjointSet(labels), dict[object, int]()
    for label, key in zip(labels, keys, strict=True):
        joined.merge(label, first.setdefault(key, label))
    names = {label: min(cluster) for cluster in joined.subsets() for label in cluster}
    return [names[label] for label in labels]


BLOCK = 1024
"""The number of rows of distances in memory at a time."""


def dbscan(vectors: np.ndarray[Any, Any], eps: float, min_samples: int) -> list[int]:
    """Return the cluster of each vector, counted from 0 in the order of their first members.

    A vector is a core if `min_samples` vectors, itself included, lie within the cosine distance `eps`. Cores within
    `eps` of each other form one cluster; other vectors within `eps` of a core join the nearest one. Each remaining
    vector, which DBSCAN calls noise, gets its own cluster: a concept that occurs once is a concept too.

    Args:
        vectors: Unit vectors, one per row.
        eps: The cosine distance, 0 to 2.
        min_samples: The number of vectors that make a core.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count = len(vectors)
    rows, columns, near = [], [], []
    for start in range(0, count, BLOCK):
        distances = 1.0 - vectors[start : start + BLOCK] @ vectors.T
        row, column = np.nonzero(distances <= eps)
        rows.append(row + start)
        columns.append(column)
        near.append(distances[row, column])
    if not count:
        return []
    source, target, apart = (np.concatenate(parts) for parts in (rows, columns, near))
    core = np.bincount(source, minlength=count) >= min_samples
    dense = core[source] & core[target]
    links = csr_array((np.ones(dense.sum(), np.int8), (source[dense], target[dense])), shape=(count, count))
    labels = np.asarray(connected_components(links, directed=False)[1], np.int64)
    # Vectors that are not cores are single components until they join their nearest core.
    edge = ~core[source] & core[target]
    order = np.lexsort((target[edge], apart[edge]))
    for member, core_member in zip(source[edge][order][::-1], target[edge][order][::-1], strict=True):
        labels[member] = labels[core_member]
    names: dict[int, int] = {}
    return [names.setdefault(int(label), len(names)) for label in labels]


def medoids(vectors: np.ndarray[Any, Any], labels: list[int]) -> dict[int, int]:
    """Return for each cluster the member nearest to its mean."""
    nearest: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for place, label in enumerate(labels):
        members.setdefault(label, []).append(place)
    for label, places in members.items():
        middle = vectors[places].mean(axis=0)
        nearest[label] = places[int(np.argmax(vectors[places] @ middle))]
    return nearest


class FoundPicturesSettings(SourceSettings):
    """The sources of pictures.

    A picture belongs to the prompt whose id is its file's name, or whose prompt or concept is its ``keyword``.

    Attributes:
        origin: ``real`` for pictures by people, ``synthetic`` for pictures by a model.
    """

    origin: Literal["real", "synthetic"] = "real"


async def found_pictures(
    items: Sequence[BuildItem], context: StepContext
) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield pictures made elsewhere, assigned to their prompts."""
    how: FoundPicturesSettings = context.settings
    ids: dict[str, list[BuildItem]] = {}
    words: dict[str, list[BuildItem]] = {}
    for candidate in items:
        if candidate.sort != "image":
            continue
        ids.setdefault(candidate.id, []).append(candidate)
        for field in ("prompt", "concept", "asked_concept"):
            words.setdefault(normalize_words(str(candidate.body.get(field, ""))), []).append(candidate)
    taken: set[str] = set()
    number = -1
    async for picture, stored in stored_pictures(context):
        number += 1
        name = picture.file.stem if picture.file is not None else ""
        asked = ids.get(name) or words.get(normalize_words(picture.about.get("keyword", "") or name), [])
        free = [candidate for candidate in asked if candidate.id not in taken]
        if not free:
            why = "a prompt has one picture already" if asked else "no prompt for this picture"
            yield f"found-{number}", Dropped(why, picture.origin)
            continue
        if isinstance(stored, Dropped):
            yield f"found-{number}", stored
            continue
        item = free[0]
        taken.add(item.id)
        yield BuildItem(item.id, {**item.body, **picture_fields(picture, stored, how), "origin": how.origin})


def read_drafted_graph(reply: str, item: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the knowledge graph in a reply."""
    return {name: value for name, value in read_graph(loads(reply)).items() if name != "links"}


def check_graph(item: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Check the reviewed graph by the rules for drafts."""
    try:
        return read_graph(item)
    except Unreadable as error:
        raise Unreadable(f"the graph must be corrected: {error}") from error


def read_reasoning(reply: str, item: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the reasoning trace of a graph and the prompt it ends in."""
    names = [entity["name"] for entity in item["elements"]]
    trace, final = read_trace(reply, names, item["links"], read_trace_rules(folder))
    return {"trace": trace, "final_prompt": final}


TRAINING = export_training, training_set
"""What writes the training part, and what returns it as an exam."""
STEPS = {
    "levels": BuildStep("levels", "levels times disciplines", LevelsSettings,
                        takes="cell", makes="cell", source=levels, preview=True),
    "concepts": BuildStep("concepts", "puts prompts together by concept and topic: sentence embeddings, DBSCAN",
                          ConceptsSettings, reads=("prompt", "concept", "level"), together=concepts),
    "found-pictures": BuildStep("found-pictures", "takes pictures found for prompts", FoundPicturesSettings,
                                source=found_pictures),
}  # fmt: skip
"""The recipe's own steps, by name."""
