"""Drafts of knowledge graphs by models or reviewers: parsed, repaired if safe, and checked by the paper's rules.

The rules: only the six relations, only declared entities, no isolated entity, ``change()`` only around an entity, and
one explanation for each element and dependency. A relation of n entities is split into n - 1 relations of two. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...core.asks import DraftFault, Unreadable, refuse_faulty_draft
from . import graph

RELATIONS = ("Defines", "Entails", "Causes", "Contains", "Requires", "TemporalOrder")
CHAINED = "TemporalOrder"
"""The relation in which each entity precedes the next; in others, the first one relates to each of the rest."""
CHANGE = re.compile(r"change\s*\(\s*(.+?)\s*\)", re.IGNORECASE)
_RELATIONS = {name.lower(): name for name in RELATIONS}
MAX_PARTS = 12
"""The maximum number of comma-separated parts of a dependency."""


@dataclass(frozen=True)
class Link:
    """A parsed dependency between two declared entities, or their changes."""

    relation: str
    first: str
    second: str
    changes: tuple[bool, bool] = (False, False)

    def __str__(self) -> str:
        """Return the dependency as written in the data."""
        ends = (f"change({name})" if yes else name for name, yes in zip(self.ends, self.changes, strict=True))
        return f"{self.relation}({', '.join(ends)})"

    @property
    def ends(self) -> tuple[str, str]:
        """Both entities."""
        return self.first, self.second


def read_graph(draft: Mapping[str, Any]) -> dict[str, Any]:
    """Return a build item's fields: ``elements`` and ``dependencies`` with explanations, ``definitions``, ``links``.

    Args:
        draft: A draft in the paper's form, with ``Visual Components`` and ``Key Knowledge``, or with the above fields.

    Raises:
        Unreadable: The draft has faults, which the message lists.
    """
    read_shape = _read_paper_shape if "Visual Components" in draft else _read_item_shape
    elements, dependencies, definitions = read_shape(draft)
    links, faults = check_graph(elements, dependencies, definitions)
    refuse_faulty_draft(faults)
    return {
        "elements": [{"name": name, "why": why} for name, why in elements],
        "dependencies": [{"says": str(link), "why": why} for link, why in links],
        "definitions": definitions,
        "links": [[link.relation, *link.ends] for link, _ in links],
    }


Explained = list[tuple[str, str]]
"""Elements or dependencies, each with its explanation."""


def check_graph(
    elements: Sequence[tuple[str, str]], dependencies: Sequence[tuple[str, str]], definitions: str
) -> tuple[list[tuple[Link, str]], list[DraftFault]]:
    """Return the readable dependencies, split into pairs of entities, with explanations; and all faults."""
    names = [name for name, _ in elements]
    faults = list(_elements(names))
    if not definitions:
        faults.append(DraftFault("empty", "there are no definitions"))
    for what, explained in (("element", elements), ("dependency", dependencies)):
        faults += [DraftFault("empty", f"{what} {name!r} has no explanation") for name, why in explained if not why]
    links: dict[Link, str] = {}
    for text, why in dependencies:
        try:
            for link in read_dependency(text, names):
                if link in links:
                    faults.append(DraftFault("repeated", f"{link} occurs twice"))
                links.setdefault(link, why)
        except UnreadDependency as error:
            faults.append(error.fault)
    faults += [DraftFault("unscored", lost) for link in links if (lost := _why_misread(link, names))]
    joined = {end for link in links for end in link.ends}
    if not any(fault.kind in ("undeclared", "form", "relation", "arity") for fault in faults):
        faults += [DraftFault("alone", f"{name!r} is in no dependency") for name in names if name not in joined]
    return list(links.items()), faults


class UnreadDependency(ValueError):
    """A dependency that cannot be read; `fault` says why."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.fault = DraftFault(kind, detail)


def read_dependency(text: str, names: Sequence[str]) -> list[Link]:
    """Return the links of a dependency; n entities make n - 1 links.

    >>> [str(link) for link in read_dependency("contains(Cell, nucleus, Wall)", ["cell", "nucleus", "wall"])]
    ['Contains(cell, nucleus)', 'Contains(cell, wall)']
    >>> [str(link) for link in read_dependency("Causes(change(price), change(demand))", ["price", "demand"])]
    ['Causes(change(price), change(demand))']

    Raises:
        UnreadDependency: It is not one of the six relations between declared entities.
    """
    head, bracket, inner = text.strip().partition("(")
    if not bracket or not inner.endswith(")"):
        raise UnreadDependency("form", f"{text!r} is not written Relation(a, b)")
    relation = _RELATIONS.get("".join(head.split()).lower())
    if relation is None:
        raise UnreadDependency("relation", f"{head.strip()!r} in {text!r} is none of {', '.join(RELATIONS)}")
    parts = [part.strip() for part in inner.removesuffix(")").split(",")]
    if len(parts) > MAX_PARTS:
        raise UnreadDependency("arity", f"{text[:80]!r} has {len(parts)} entities; at most {MAX_PARTS} are split")
    declared = {name.casefold(): name for name in names}
    ends = _ends(parts, declared)
    if ends is None:
        lost = [part for part in parts if _end(part, declared) is None]
        raise UnreadDependency("undeclared", f"{', '.join(map(repr, lost))} in {text!r} is not a declared element")
    if len(ends) < 2:
        raise UnreadDependency("arity", f"{text!r} has one entity; it takes two")
    pairs = list(pairwise(ends)) if relation == CHAINED else [(ends[0], end) for end in ends[1:]]
    links = [Link(relation, first[0], second[0], (first[1], second[1])) for first, second in pairs]
    if any(link.first == link.second for link in links):
        raise UnreadDependency("self", f"{text!r} joins an element to itself")
    return links


def _ends(parts: Sequence[str], declared: Mapping[str, str]) -> list[tuple[str, bool]] | None:
    """Return the entities in comma-separated parts, allowing for names that contain commas."""
    if not parts:
        return []
    for n in range(1, len(parts) + 1):
        end = _end(", ".join(parts[:n]), declared)
        rest = _ends(parts[n:], declared) if end is not None else None
        if end is not None and rest is not None:
            return [end, *rest]
    return None


def _end(text: str, declared: Mapping[str, str]) -> tuple[str, bool] | None:
    changed = CHANGE.fullmatch(text)
    name = declared.get(" ".join((changed[1] if changed else text).split()).casefold())
    return None if name is None else (name, changed is not None)


def _elements(names: Sequence[str]) -> Iterator[DraftFault]:
    if len(names) < 2:
        yield DraftFault("count", "a graph has two elements or more")
    for name, times in Counter(name.casefold() for name in names).items():
        if not name:
            yield DraftFault("empty", "an element has no name")
        elif times > 1:
            yield DraftFault("repeated", f"the element {name!r} occurs {times} times")


def _why_misread(link: Link, names: Sequence[str]) -> str | None:
    """Return why the exam's scorers would misread a link, or None."""
    text = str(link)
    wanted = graph.directed_edges(link.relation, link.first.lower(), link.second.lower())
    nodes = list(dict.fromkeys(name.lower() for name in names))
    try:
        ends = [tuple(graph.resolve_endpoint(end, nodes) for end in pair) for pair in graph.edge_ends(text)]
    except graph.ScorerError as error:
        return str(error)
    edges = graph.resolve_graph(tuple(names), (text,)).edges[0]
    if ends != wanted or sorted((nodes[one], nodes[other]) for one, other in edges) != sorted(wanted):
        return f"{text} is not read as it is meant; leave commas and brackets out of the names"
    return None


def _read_paper_shape(draft: Mapping[str, Any]) -> tuple[Explained, Explained, str]:
    parts, knowledge = draft["Visual Components"], draft.get("Key Knowledge")
    if not isinstance(parts, Mapping) or not isinstance(knowledge, Mapping):
        raise Unreadable('"Visual Components" and "Key Knowledge" must be objects')
    both = []
    for names, whys in (("elements", "Element Explanation"), ("dependencies", "Dependency Explanation")):
        items, explanations = _texts(parts, names), _texts(knowledge, whys)
        if len(items) != len(explanations):
            raise Unreadable(f'lengths: "{whys}" has {len(explanations)} entries for {len(items)} {names}')
        both.append(list(zip(items, explanations, strict=True)))
    definitions = knowledge.get("Definitions")
    return both[0], both[1], " ".join(definitions.split()) if isinstance(definitions, str) else ""


def _read_item_shape(draft: Mapping[str, Any]) -> tuple[Explained, Explained, str]:
    both = []
    for what, name in (("elements", "name"), ("dependencies", "says")):
        rows = draft.get(what)
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise Unreadable(f'"Visual Components" is missing, or "{what}" is not a list of objects')
        both.append([(str(row.get(name) or "").strip(), str(row.get("why") or "").strip()) for row in rows])
    return both[0], both[1], str(draft.get("definitions") or "").strip()


def _texts(draft: Mapping[str, Any], name: str) -> list[str]:
    value = draft.get(name)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise Unreadable(f'"{name}" must be a list of texts')
    return [" ".join(text.split()) for text in value]
