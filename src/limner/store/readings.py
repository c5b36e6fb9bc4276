"""Readings: which stored questions a data folder came to, so that it need not be read again while it is as it was.

A reading is written in the transaction that stores its questions: either all of both is there, or nothing.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic_core import from_json

from ..core.exam import Exam
from ..core.ledger import PackedNames, Recent, UnpackedNames, file_hash, unchanged, under, within
from ..core.spool import SpooledQuestions
from .schema import meta, questions
from .store import Store
from .stored_questions import SHA256, StoredQuestions

AT_ONCE = 10_000
"""The hashes of so many questions stand together."""
NONE = ""
"""The path of a reference that is not there."""


def reading_of(exam: Exam[Any]) -> list[dict[str, str]]:
    """The rows for an exam whose questions and references are all in the store.

    None where it cannot be told what it was read from, and where questions are few: to read those takes no time.
    """
    asked, ledger = exam.questions, exam.ledger
    if ledger is None or not ledger.clear or ledger.questions is not asked or not isinstance(asked, SpooledQuestions):
        return []
    paths, hashes, references = PackedNames(), bytearray(), hashlib.sha256()
    for place in range(len(asked)):
        raw, (hash, reference) = asked.raw(place), asked.hashes(place)
        if raw.load is not None or hash is None:
            return []
        paths.add(NONE if raw.path is None else within(ledger.root, raw.path))
        references.update(_line(reference if raw.path is not None else None))
        hashes += bytes.fromhex(hash)
    told = ledger.to_json() | {
        "kind": exam.kind,
        "paths": paths.packed(),
        "references": references.hexdigest(),
        "subsets": {name: sorted(ids) for name, ids in exam.subsets.items()},
        "notes": exam.notes,
    }
    return [
        *({"key": _key(exam.name, n), "value": one} for n, one in enumerate(_pieces(hashes), 1)),
        {"key": _key(exam.name), "value": json.dumps(told | {"questions": len(asked)})},
    ]


def read_before(store: Store, name: str, kind: str, rubric: type[Any], root: Path, by: str) -> Exam[Any] | None:
    """The exam that the data under `root` holds, from the store; None where it must be read.

    All data files and references are compared by their content.
    """
    stored = sa.select(sa.func.count()).select_from(questions).where(questions.c.exam == name)
    value, hashes = sa.select(meta.c.value), bytearray()
    with store.reading() as connection:
        if (found := connection.scalar(value.where(meta.c.key == _key(name)))) is None:
            return None
        told: Mapping[str, Any] = from_json(found)
        for number in range(-(-told["questions"] // AT_ONCE)):
            hashes += b64decode(connection.scalar(value.where(meta.c.key == _key(name, number + 1))) or "")
        whole = connection.scalar(stored) >= told["questions"] == len(hashes) // SHA256
    if not whole or told["kind"] != kind or not unchanged(told, root, by):
        return None
    paths = UnpackedNames(told["paths"])
    if _read_all(str(root), paths) != told["references"]:
        return None

    def place(number: int) -> str | None:
        return under(str(root), paths[number]) if paths[number] != NONE else None

    asked = StoredQuestions(store, name, rubric, bytes(hashes), place)
    subsets = {subset: frozenset(ids) for subset, ids in told["subsets"].items()}
    return Exam(name, kind, SpooledQuestions(asked, range(len(asked))), subsets, tuple(told["notes"]))


def is_kept(store: Store, exam: Exam[Any]) -> bool:
    """Whether it comes from this store, as `read_before` gives it."""
    return isinstance(exam.questions, SpooledQuestions) and getattr(exam.questions.source, "store", None) is store


def _key(exam: str, part: int = 0) -> str:
    return f"reading {hashlib.sha256(exam.encode()).hexdigest()[:24]} {part}"


def _pieces(hashes: bytearray) -> Iterator[str]:
    """The hashes of the questions, some in a row of the table: all in one would take several times their room."""
    size = AT_ONCE * SHA256
    return (b64encode(hashes[at : at + size]).decode() for at in range(0, len(hashes), size))


def _read_all(root: str, paths: Iterable[str]) -> str | None:
    """The hash over these files under `root`; None where one cannot be read."""
    recent = Recent[str, str]()

    def hash_of(path: str) -> str | None:
        return None if path == NONE else recent.get(path, lambda: file_hash(under(root, path)))

    found = hashlib.sha256()
    try:
        for path in paths:
            found.update(_line(hash_of(path)))
    except OSError:
        return None
    return found.hexdigest()


def _line(sha256: str | None) -> bytes:
    return f"{sha256}\n".encode()
