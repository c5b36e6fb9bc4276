"""The words behind marks that were read for their numbers alone: reasons and keys of replies, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..core.protocol import Protocol, Reading
from ..store import Store
from ..store.records import load_replies, marking_texts
from .entries import Entry
from .mark_reader import MarkReader, read_replies

_READER = MarkReader()


def with_texts(store: Store, entries: Sequence[Entry], protocol: Protocol[Any], reading: Reading) -> Iterator[Entry]:
    """The same entries with all that their markings say; for some entries of many, whose words would fill the memory.

    A marking that has changed since its numbers were read stays without its words: they would say something else.
    """
    wanted = {entry.marking.id: entry.marking for entry in entries if entry.marking is not None}
    found = {each.id: each for each in marking_texts(store, wanted) if each.created == wanted[each.id].created}
    asked = [each for each in found.values() if each.marks is None]
    texts = load_replies(store, [key for each in asked for _, key in each.replies])
    for entry in entries:
        said = found.get(entry.marking.id) if entry.marking is not None else None
        if said is None or entry.marking is None:
            yield entry
            continue
        marks, given = entry.marks, said.marks
        if entry.scored:
            if given is None:
                marks = tuple(read_replies(entry.question, said.replies, texts, protocol, reading))
            else:
                marks = _READER.read(given)
        yield replace(entry, marking=replace(entry.marking, replies=said.replies), marks=marks)
