"""Exams and questions: what painters are asked to draw, and the rubrics for marking drawings."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from .errors import UsageError

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class Reference:
    """A question's picture: its reference image, or a picture that a painter is given.

    Attributes:
        name: Its name in the data, such as ``Biology/Biology_97.png``.
        path: The image file; None if the data names an image that is absent.
        known_sha256: The content hash, if the image is already in a store.
        load: Returns the image's bytes if they are embedded in a data file.
    """

    name: str
    path: Path | None = None
    known_sha256: str | None = None
    load: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def sha256(self) -> str | None:
        """The content hash; None if the image is absent."""
        if self.known_sha256:
            return self.known_sha256
        data = self.read()
        return None if data is None else hashlib.sha256(data).hexdigest()

    def read(self) -> bytes | None:
        """Return the image's bytes from the data; None if it is absent or only in a store."""
        if self.load is not None:
            return self.load()
        return None if self.path is None else self.path.read_bytes()


@dataclass(frozen=True)
class Question(Generic[R]):
    """One question: the prompt to draw, and the typed rubric for marking the drawing.

    Attributes:
        inputs: The pictures that a painter is given with the prompt, in order.
    """

    id: str
    prompt: str
    rubric: R
    tags: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None
    inputs: tuple[Reference, ...] = ()

    @property
    def pictures(self) -> tuple[Reference, ...]:
        """All pictures of the question: its inputs and its reference image."""
        return self.inputs if self.reference is None else (*self.inputs, self.reference)

    @cached_property
    def hash(self) -> str:
        """A hash of the content: id, prompt, rubric, tags, input pictures and reference image."""
        return hash_question(self.to_json(), self.reference.sha256 if self.reference else None)

    def know_hash(self, hash: str) -> None:
        """Set the content hash if it is already known, because computing it takes longer than reading the question."""
        self.__dict__["hash"] = hash

    def to_json(self) -> dict[str, Any]:
        """Return everything except the bytes of the pictures; ``inputs`` only if there are any."""
        inputs = [{"name": picture.name, "sha256": picture.sha256} for picture in self.inputs]
        body = {
            "id": self.id,
            "prompt": self.prompt,
            "rubric": self.rubric.model_dump(mode="json"),
            "tags": dict(self.tags),
            "reference": self.reference.name if self.reference else None,
        }
        return body | ({"inputs": inputs} if inputs else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any], rubric: type[R], reference_sha256: str | None) -> Question[R]:
        """Return the question from the result of `to_json`, with its reference image identified by hash."""
        name = data["reference"]
        reference = Reference(name, known_sha256=reference_sha256) if name is not None else None
        inputs = tuple(Reference(each["name"], known_sha256=each["sha256"]) for each in data.get("inputs", ()))
        return cls(data["id"], data["prompt"], rubric.model_validate(data["rubric"]), data["tags"], reference, inputs)


def hash_question(body: Mapping[str, Any], reference_sha256: str | None) -> str:
    """Return the hash of a question's content, as `Question.to_json` returns it, and of its reference image."""
    content = {**body, "reference_sha256": reference_sha256}
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


_OWN_EXAMS: dict[str, Mapping[str, str]] = {}


def know_exam(name: str, files: Mapping[str, str] | None) -> None:
    """Set the files that define a user's own exam, which were read from its folder or a store; None if installed."""
    if files is not None:
        _OWN_EXAMS[name] = files


def own_exam(name: str) -> Mapping[str, str] | None:
    """Return the files that define a user's own exam; None for any other name."""
    return _OWN_EXAMS.get(name)


@dataclass(frozen=True)
class Exam(Generic[R]):
    """A set of questions with one protocol.

    Attributes:
        name: The name under which results are stored.
        kind: The registered name of the protocol.
        questions: The questions in order.
        subsets: Named lists of question ids, such as ``mini``.
        notes: Remarks on this copy of the data, such as absent images.
        files: The files that define a user's own exam, by name.
    """

    name: str
    kind: str
    questions: tuple[Question[R], ...]
    subsets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] | None = None

    def select(self, selection: Selection, breakdowns: Sequence[str] = ()) -> Exam[R]:
        """Return the exam with only the selected questions, in order; a sample is stratified by `breakdowns`."""
        return replace(self, questions=tuple(selection.apply(self.questions, self.subsets, breakdowns)))

    def find(self, id: str) -> Question[R] | None:
        """Return the question with this id, or None."""
        return self._by_id.get(id)

    @cached_property
    def _by_id(self) -> dict[str, Question[R]]:
        return {question.id: question for question in self.questions}


def whole_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags without numbered parts of another one, which repeat it.

    >>> whole_tags({"taxonomy": "Biology/Cells", "taxonomy1": "Biology", "taxonomy2": "Cells", "level": "easy"})
    {'taxonomy': 'Biology/Cells', 'level': 'easy'}
    """
    return {tag: value for tag, value in tags.items() if (base := tag.rstrip("0123456789")) == tag or base not in tags}


@dataclass(frozen=True)
class Selection:
    """A selection of questions. All conditions must hold; ``sample`` is applied after them, ``limit`` last.

    Attributes:
        subset: The name of one of the exam's lists, such as ``mini``.
        ids: Question ids; unknown ids are an error.
        where: Tag conditions ``(tag, value)``; several values of one tag are alternatives.
        limit: The maximum number of questions; the first ones are taken.
        sample: The number of questions to sample, in the exam's proportions.
        sample_seed: The seed of the sample.
    """

    subset: str | None = None
    ids: tuple[str, ...] | None = None
    where: tuple[tuple[str, str], ...] = ()
    limit: int | None = None
    sample: int | None = None
    sample_seed: int = 0

    def apply(
        self, questions: Sequence[Question[R]], subsets: Mapping[str, frozenset[str]], breakdowns: Sequence[str] = ()
    ) -> list[Question[R]]:
        """Return the selected questions in order; a sample is stratified by the tags `breakdowns`.

        Raises:
            UsageError: The exam has no such subset, id or tag; the message lists those it has.
        """
        if self.subset is not None and self.subset not in subsets:
            names = ", ".join(sorted(subsets)) or "none"
            raise UsageError(f"no subset {self.subset!r} in this exam; it has: {names}")
        known_ids = {question.id for question in questions}
        wanted = known_ids if self.ids is None else set(self.ids)
        if unknown := wanted - known_ids:
            raise UsageError(f"no question with id {', '.join(sorted(unknown)[:5])}; see `limner exams` or the data")
        if self.subset is not None:
            wanted = wanted & subsets[self.subset]
        conditions = self._conditions(questions)
        chosen = [
            question
            for question in questions
            if question.id in wanted
            and all(question.tags.get(tag, "").casefold() in values for tag, values in conditions.items())
        ]
        if self.sample is not None:
            strata = [_tag_value(tag) for tag in breakdowns]
            chosen = sample_stratified(chosen, self.sample, self.sample_seed, strata, lambda question: question.id)
        return chosen[: self.limit]

    def _conditions(self, questions: Sequence[Question[R]]) -> dict[str, set[str]]:
        """Return the allowed values of each tag that has conditions."""
        conditions: dict[str, set[str]] = {}
        for tag, value in self.where:
            conditions.setdefault(tag, set()).add(value.casefold())
        tags = {tag for question in questions for tag in question.tags} if conditions else set[str]()
        for tag in conditions:
            if tag not in tags:
                raise UsageError(f"no tag {tag!r} in this exam; it has: {', '.join(sorted(tags)) or 'none'}")
        return conditions

    @classmethod
    def parse(
        cls,
        subset: str | None = None,
        ids: str | None = None,
        where: Iterable[str] = (),
        limit: int | None = None,
        sample: int | None = None,
        sample_seed: int | None = None,
    ) -> Selection:
        """Parse command-line words: ``a,b`` or ``@file`` for ids, ``tag=value`` for conditions."""
        pairs = []
        for condition in where:
            tag, sep, value = condition.partition("=")
            if not (sep and tag):
                raise UsageError(f"--where takes TAG=VALUE, not {condition!r}")
            pairs.append((tag.strip(), value.strip()))
        if limit is not None and limit < 1:
            raise UsageError(f"--limit must be at least 1, not {limit}")
        if sample is not None and sample < 1:
            raise UsageError(f"--sample must be at least 1, not {sample}")
        if sample is None and sample_seed is not None:
            raise UsageError("--sample-seed needs --sample N")
        chosen = None if ids is None else _parse_ids(ids)
        return cls(subset, chosen, tuple(pairs), limit, sample, sample_seed or 0)


def _tag_value(tag: str) -> Callable[[Question[Any]], str]:
    return lambda question: question.tags.get(tag, "")


def _parse_ids(text: str) -> tuple[str, ...]:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--ids {text}: cannot be read: {error}") from error
    ids = tuple(part.strip() for part in re.split(r"[,\n]", text) if part.strip())
    if not ids:
        raise UsageError("--ids names no id")
    return ids


T = TypeVar("T")


def allocate_proportionally(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Allocate n items to groups in proportion to their sizes, by largest remainder; ties favour larger groups.

    >>> allocate_proportionally({"biology": 6, "physics": 3, "music": 1}, 4)
    {'biology': 3, 'physics': 1, 'music': 0}
    """
    whole = sum(sizes.values())
    n = min(n, whole)
    parts = {name: divmod(size * n, whole) if whole else (0, 0) for name, size in sizes.items()}
    counts = {name: part for name, (part, _) in parts.items()}
    order = sorted(sizes, key=lambda name: (-parts[name][1], -sizes[name], name))
    for name in order[: n - sum(counts.values())]:
        counts[name] += 1
    return counts


def sample_stratified(
    items: Sequence[T], n: int, seed: int, strata: Sequence[Callable[[T], str]], name: Callable[[T], str]
) -> list[T]:
    """Return a sample of n items, in their original order; all items if there are no more than n.

    Args:
        items: The population.
        n: The sample size.
        seed: The seed of the sample.
        strata: Nested groupings over which the sample is spread, the outermost first.
        name: Returns an item's name. The choice depends only on names and seed, not on the order of items.
    """
    chosen = {name(item) for item in _choose(items, n, seed, strata, name)}
    return [item for item in items if name(item) in chosen]


def _choose(
    items: Sequence[T], n: int, seed: int, strata: Sequence[Callable[[T], str]], name: Callable[[T], str]
) -> list[T]:
    if n <= 0:
        return []
    if not strata or n >= len(items):
        return sorted(items, key=lambda item: hashlib.sha256(f"{seed}\n{name(item)}".encode()).digest())[:n]
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(strata[0](item), []).append(item)
    taken = allocate_proportionally({group: len(members) for group, members in groups.items()}, n)
    return [item for group in groups for item in _choose(groups[group], taken[group], seed, strata[1:], name)]
