"""A knowledge graph as a model or a reviewer drafts it: read, mended where that is safe, and held to the paper's rules.

The six relations, entities that are declared, no entity alone, ``change()`` around an entity, and one explanation for
each element and dependency. A relation of n entities becomes n - 1 of two. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...core.asks import DraftFault, Unreadable, refuse
from . import exact, graph

RELATIONS = ("Defines", "Entails", "Causes", "Contains", "Requires", "TemporalOrder")
CHAINED = "TemporalOrder"
"""Of several entities each comes before the next; in the other relations the first stands to each of the others."""
CHANGE = re.compile(r"change\s*\(\s*(.+?)\s*\)", re.IGNORECASE)
_RELATIONS = {name.lower(): name for name in RELATIONS}
MOST = 12
"""Parts between commas that a dependency may have."""


@dataclass(frozen=True)
class Link:
    """A dependency that was read: two declared entities, each perhaps by its change."""

    relation: str
    first: str
    second: str
    changes: tuple[bool, bool] = (False, False)

    def __str__(self) -> str:
        """As the data has it."""
        ends = (f"change({name})" if yes else name for name, yes in zip(self.ends, self.changes, strict=True))
        return f"{self.relation}({', '.join(ends)})"

    @property
    def ends(self) -> tuple[str, str]:
        """Both entities."""
        return self.first, self.second


def read_graph(found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a build's item: ``elements`` and ``dependencies`` with explanations, ``definitions``, ``links``.

    Args:
        found: As the paper has it, with ``Visual Components`` and ``Key Knowledge``, or those fields themselves.

    Raises:
        Unreadable: With all that is wrong.
    """
    elements, dependencies, definitions = _paper_shape(found) if "Visual Components" in found else _item_shape(found)
    links, faults = check_graph(elements, dependencies, definitions)
    refuse(faults)
    return {
        "elements": [{"name": name, "why": why} for name, why in elements],
        "dependencies": [{"says": str(link), "why": why} for link, why in links],
        "definitions": definitions,
        "links": [[link.relation, *link.ends] for link, _ in links],
    }


Told = list[tuple[str, str]]
"""Elements or dependencies, each with its explanation."""


def check_graph(
    elements: Sequence[tuple[str, str]], dependencies: Sequence[tuple[str, str]], definitions: str
) -> tuple[list[tuple[Link, str]], list[DraftFault]]:
    """Return the dependencies that can be read, those of many entities split, and everything that is wrong."""
    names = [name for name, _ in elements]
    faults = list(_elements(names))
    if not definitions:
        faults.append(DraftFault("empty", "there are no definitions"))
    for what, told in (("element", elements), ("dependency", dependencies)):
        faults += [DraftFault("empty", f"{what} {name!r} has no explanation") for name, why in told if not why]
    links: dict[Link, str] = {}
    for text, why in dependencies:
        try:
            for link in read_dependency(text, names):
                if link in links:
                    faults.append(DraftFault("repeated", f"{link} stands there twice"))
                links.setdefault(link, why)
        except UnreadDependency as error:
            faults.append(error.fault)
    faults += [DraftFault("unscored", lost) for link in links if (lost := _misread(link, names))]
    joined = {end for link in links for end in link.ends}
    if not any(fault.kind in ("undeclared", "form", "relation", "arity") for fault in faults):
        faults += [DraftFault("alone", f"{name!r} is in no dependency") for name in names if name not in joined]
    return list(links.items()), faults


class UnreadDependency(ValueError):
    """A dependency that says nothing of declared entities; `fault` says why."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.fault = DraftFault(kind, detail)


def read_dependency(text: str, names: Sequence[str]) -> list[Link]:
    """Return the links a dependency stands for; n entities make n - 1.

    >>> [str(link) for link in read_dependency("contains(Cell, nucleus, Wall)", ["cell", "nucleus", "wall"])]
    ['Contains(cell, nucleus)', 'Contains(cell, wall)']
    >>> [str(link) for link in read_dependency("Causes(change(price), change(demand))", ["price", "demand"])]
    ['Causes(change(price), change(demand))']

    Raises:
        UnreadDependency: It is none of the six relations over declared entities.
    """
    head, bracket, inner = text.strip().partition("(")
    if not bracket or not inner.endswith(")"):
        raise UnreadDependency("form", f"{text!r} is not written Relation(a, b)")
    relation = _RELATIONS.get("".join(head.split()).lower())
    if relation is None:
        raise UnreadDependency("relation", f"{head.strip()!r} in {text!r} is none of {', '.join(RELATIONS)}")
    parts = [part.strip() for part in inner.removesuffix(")").split(",")]
    if len(parts) > MOST:
        raise UnreadDependency("arity", f"{text[:80]!r} has {len(parts)} entities; at most {MOST} are split")
    declared = {name.casefold(): name for name in names}
    ends = _ends(parts, declared)
    if ends is None:
        lost = [part for part in parts if _end(part, declared) is None]
        raise UnreadDependency("undeclared", f"{', '.join(map(repr, lost))} in {text!r} is no declared element")
    if len(ends) < 2:
        raise UnreadDependency("arity", f"{text!r} has one entity; it takes two")
    pairs = list(pairwise(ends)) if relation == CHAINED else [(ends[0], end) for end in ends[1:]]
    found = [Link(relation, one[0], other[0], (one[1], other[1])) for one, other in pairs]
    if any(link.first == link.second for link in found):
        raise UnreadDependency("self", f"{text!r} joins an element to itself")
    return found


def _ends(parts: Sequence[str], declared: Mapping[str, str]) -> list[tuple[str, bool]] | None:
    """Return the entities behind comma-separated parts; a name may have commas of its own."""
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
            yield DraftFault("repeated", f"the element {name!r} stands there {times} times")


def _misread(link: Link, names: Sequence[str]) -> str | None:
    """Why the exam's scorers would read a link otherwise than it is meant."""
    said = str(link)
    wanted = graph.directed(link.relation, link.first.lower(), link.second.lower())
    nodes = list(dict.fromkeys(name.lower() for name in names))
    try:
        ends = [(graph.place(first, nodes), graph.place(second, nodes)) for first, second in graph.ends(said)]
    except graph.ScorerError as error:
        return str(error)
    found = exact.resolve(tuple(names), (said,)).edges[0]
    if ends != wanted or sorted((nodes[one], nodes[other]) for one, other in found) != sorted(wanted):
        return f"{said} is not read as it is meant; leave commas and brackets out of the names"
    return None


def _paper_shape(found: Mapping[str, Any]) -> tuple[Told, Told, str]:
    parts, known = found["Visual Components"], found.get("Key Knowledge")
    if not isinstance(parts, Mapping) or not isinstance(known, Mapping):
        raise Unreadable('"Visual Components" and "Key Knowledge" must be objects')
    both = []
    for names, whys in (("elements", "Element Explanation"), ("dependencies", "Dependency Explanation")):
        one, other = _texts(parts, names), _texts(known, whys)
        if len(one) != len(other):
            raise Unreadable(f'lengths: "{whys}" has {len(other)} entries for {len(one)} {names}')
        both.append(list(zip(one, other, strict=True)))
    definitions = known.get("Definitions")
    return both[0], both[1], " ".join(definitions.split()) if isinstance(definitions, str) else ""


def _item_shape(found: Mapping[str, Any]) -> tuple[Told, Told, str]:
    both = []
    for what, name in (("elements", "name"), ("dependencies", "says")):
        rows = found.get(what)
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise Unreadable(f'"Visual Components" is missing, or "{what}" is no list of objects')
        both.append([(str(row.get(name) or "").strip(), str(row.get("why") or "").strip()) for row in rows])
    return both[0], both[1], str(found.get("definitions") or "").strip()


def _texts(found: Mapping[str, Any], name: str) -> list[str]:
    value = found.get(name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Unreadable(f'"{name}" must be a list of texts')
    return [" ".join(one.split()) for one in value]
