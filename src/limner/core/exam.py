"""Exams and questions: what is asked of a painter, and the rubric it is marked by."""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from .errors import UsageError
from .ledger import Ledger
from .sample import stratified
from .spool import Outline, SpooledQuestions

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class Reference:
    """A question's reference image.

    Attributes:
        name: Its name in the data, such as ``Biology/Biology_97.png``.
        path: The file, or None where the data names an image that is not there.
        known_sha256: Set when the image already lies in a store.
        load: Gives the image where it is no file of its own, but lies inside the data's.
    """

    name: str
    path: Path | None = None
    known_sha256: str | None = None
    load: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def sha256(self) -> str | None:
        """The content hash, or None when the image is absent."""
        if self.known_sha256:
            return self.known_sha256
        data = self.read()
        return None if data is None else hashlib.sha256(data).hexdigest()

    def read(self) -> bytes | None:
        """The image as the data has it; None where it is absent, or lies in a store alone."""
        if self.load is not None:
            return self.load()
        return None if self.path is None else self.path.read_bytes()


@dataclass(frozen=True)
class Question(Generic[R]):
    """One question: what to draw and the typed rubric the drawing is marked by."""

    id: str
    prompt: str
    rubric: R
    tags: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None

    @cached_property
    def hash(self) -> str:
        """Identifies the content: id, prompt, rubric, tags and reference image."""
        return content_hash(self.to_json(), self.reference.sha256 if self.reference else None)

    def know_hash(self, hash: str) -> None:
        """Take the content hash that is known already: to work it out anew takes longer than to read the question."""
        self.__dict__["hash"] = hash

    def to_json(self) -> dict[str, Any]:
        """Everything but the reference image's bytes."""
        return {
            "id": self.id,
            "prompt": self.prompt,
            "rubric": self.rubric.model_dump(mode="json"),
            "tags": dict(self.tags),
            "reference": self.reference.name if self.reference else None,
        }

    @classmethod
    def from_json(
        cls,
        data: Mapping[str, Any],
        rubric: type[R],
        reference_sha256: str | None,
        path: Path | None = None,
        load: Callable[[], bytes] | None = None,
    ) -> Question[R]:
        """The question behind `to_json`; its reference is known by hash, or by where it lies."""
        name = data["reference"]
        reference = Reference(name, path, reference_sha256, load) if name is not None else None
        return cls(data["id"], data["prompt"], rubric.model_validate(data["rubric"]), data["tags"], reference)


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def content_hash(body: Mapping[str, Any], reference_sha256: str | None) -> str:
    """What identifies the question behind this `Question.to_json` and the bytes of its reference image."""
    return hashlib.sha256(_canonical({**body, "reference_sha256": reference_sha256}).encode()).hexdigest()


@dataclass(frozen=True)
class Exam(Generic[R]):
    """A set of questions with one protocol.

    Attributes:
        name: The name results are stored under.
        kind: The name of the protocol, as registered.
        questions: In their order; many of them are made one by one, see `limner.core.spool`.
        subsets: Named lists of question ids, such as ``mini``.
        notes: What a user should know about this copy of the data, such as absent images.
        ledger: What was looked at to read it, where that is known.
    """

    name: str
    kind: str
    questions: Sequence[Question[R]]
    subsets: Mapping[str, frozenset[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ledger: Ledger | None = field(default=None, repr=False, compare=False)

    def select(self, selection: Selection, breakdowns: Sequence[str] = ()) -> Exam[R]:
        """The same exam with the selected questions only, in their order; samples are spread over `breakdowns`."""
        places = selection.places(self.questions, self.subsets, breakdowns)
        if len(places) == len(self.questions):
            return self
        if isinstance(self.questions, SpooledQuestions):
            return replace(self, questions=self.questions.take(places))
        return replace(self, questions=tuple(self.questions[place] for place in places))

    def find(self, id: str) -> Question[R] | None:
        """The question of this id."""
        return self.questions.find(id) if isinstance(self.questions, SpooledQuestions) else self._by_id.get(id)

    @cached_property
    def _by_id(self) -> dict[str, Question[R]]:
        return {question.id: question for question in self.questions}


@dataclass(frozen=True)
class Selection:
    """Which questions to take. All conditions hold together; ``sample`` comes after them, ``limit`` last.

    Attributes:
        subset: A named list of the exam, such as ``mini``.
        ids: Question ids; an id the exam does not have is an error.
        where: Tag conditions ``(tag, value)``; values of one tag are alternatives, tags hold together.
        limit: The first N of what is left.
        sample: N of what is left, in the exam's own proportions; see `limner.core.sample`.
        sample_seed: Another one takes others.
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
        """The questions that fulfil every condition, in their order; a sample is spread over these tags."""
        return [questions[place] for place in self.places(questions, subsets, breakdowns)]

    def places(
        self, questions: Sequence[Question[R]], subsets: Mapping[str, frozenset[str]], breakdowns: Sequence[str] = ()
    ) -> Sequence[int]:
        """Where they stand. Of many questions none is made for it, and where only a limit is set none is looked at."""
        if self == Selection(limit=self.limit):
            return range(len(questions))[: self.limit]
        if self.subset is not None and self.subset not in subsets:
            known = ", ".join(sorted(subsets)) or "none"
            raise UsageError(f"no subset {self.subset!r} in this exam; there is: {known}")
        within = None if self.subset is None else subsets[self.subset]
        wanted, unknown = (None, set[str]()) if self.ids is None else (set(self.ids), set(self.ids))
        conditions, tags = self._conditions(), set[str]()
        chosen: list[_Candidate] = []
        for place, id, told in self._outlines(questions, wanted if wanted is not None else within):
            unknown.discard(id)
            tags.update(told)
            if (within is not None and id not in within) or (wanted is not None and id not in wanted):
                continue
            if all(told.get(tag, "").casefold() in values for tag, values in conditions.items()):
                named = id if self.sample is not None else ""
                strata = tuple(told.get(tag, "") for tag in breakdowns) if named else ()
                chosen.append(_Candidate(place, named, strata))
        chosen.sort(key=lambda one: one.number)
        if unknown:
            raise UsageError(f"no question with id {', '.join(sorted(unknown)[:5])}; see `limner exams` or the data")
        for tag in conditions:
            if tag not in tags:
                raise UsageError(f"no tag {tag!r} in this exam; there is: {', '.join(sorted(tags)) or 'none'}")
        if self.sample is not None:
            by = [_value_at(n) for n in range(len(breakdowns))]
            chosen = stratified(chosen, self.sample, self.sample_seed, by, lambda place: place.id)
        return array("L", (place.number for place in chosen[: self.limit]))

    def _outlines(self, questions: Sequence[Question[R]], ids: Iterable[str] | None) -> Iterator[Outline]:
        """Place, id and tags of the questions that may be chosen; which tags there are, only all of them tell."""
        if not isinstance(questions, SpooledQuestions):
            return ((place, question.id, question.tags) for place, question in enumerate(questions))
        return questions.outlines(None if self.where or ids is None else ids)

    def _conditions(self) -> dict[str, set[str]]:
        conditions: dict[str, set[str]] = {}
        for tag, value in self.where:
            conditions.setdefault(tag, set()).add(value.casefold())
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
        """From the command line's words: ``a,b`` or ``@file`` for ids, ``tag=value`` for conditions."""
        pairs = []
        for condition in where:
            tag, sep, value = condition.partition("=")
            if not (sep and tag):
                raise UsageError(f"--where takes TAG=VALUE, not {condition!r}")
            pairs.append((tag.strip(), value.strip()))
        if limit is not None and limit < 1:
            raise UsageError(f"--limit takes a number from 1 up, not {limit}")
        if sample is not None and sample < 1:
            raise UsageError(f"--sample takes a number from 1 up, not {sample}")
        if sample is None and sample_seed is not None:
            raise UsageError("--sample-seed says which sample: give --sample N too")
        found = None if ids is None else _ids(ids)
        return cls(subset, found, tuple(pairs), limit, sample, sample_seed or 0)


class _Candidate(NamedTuple):
    """A question that may be chosen: where it stands and, for a sample, its id and what it is spread over."""

    number: int
    id: str
    strata: tuple[str, ...]


def _value_at(n: int) -> Callable[[_Candidate], str]:
    return lambda place: place.strata[n]


def _ids(text: str) -> tuple[str, ...]:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--ids {text}: cannot be read: {error}") from error
    found = tuple(part.strip() for part in re.split(r"[,\n]", text) if part.strip())
    if not found:
        raise UsageError("--ids names no id")
    return found
