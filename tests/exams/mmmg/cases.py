"""Questions, replies and random graphs for tests of MMMG."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from limner.core.exam import Question, Reference
from limner.core.marks import Mark
from limner.exams.mmmg.data import GraphRubric

ELEMENTS = ("boiler", "Steam", "turbine")
DEPENDENCIES = ("Causes(boiler, steam)", "Requires(turbine, Steam)")
RELATIONS = ("Causes", "Requires", "Defines", "Contains", "Entails", "TemporalOrder")


def question(
    elements: Sequence[str] = ELEMENTS,
    dependencies: Sequence[str] = DEPENDENCIES,
    id: str = "highschool_Engineering_1",
    annotation: str = "A boiler makes steam that drives a turbine.",
) -> Question[GraphRubric]:
    level, discipline = id.split("_")[:2]
    rubric = GraphRubric(elements=tuple(elements), dependencies=tuple(dependencies), annotation=annotation)
    tags = {"level": level, "discipline": discipline, "level_discipline": f"{level}_{discipline}"}
    return Question(id, "Draw a power plant.", rubric, tags, Reference("x.png", known_sha256="0" * 64))


def marks(entities: Sequence[object], dependencies: Sequence[object] = ()) -> list[Mark]:
    found = [Mark(f"entity/{n}", int(bool(yes))) for n, yes in enumerate(entities, 1)]
    return found + [Mark(f"dependency/{n}", int(bool(yes))) for n, yes in enumerate(dependencies, 1)]


def body(entities: Sequence[object], dependencies: Sequence[object] = ()) -> dict[str, Any]:
    """A structured reply."""

    def entries(answers: Sequence[object]) -> list[dict[str, Any]]:
        return [{"item": n, "reason": f"seen {n}", "answer": "yes" if a else "no"} for n, a in enumerate(answers, 1)]

    return {"description": "A drawing.", "entities": entries(entities), "dependencies": entries(dependencies)}


def structured(entities: Sequence[object], dependencies: Sequence[object] = ()) -> str:
    return json.dumps(body(entities, dependencies))


def checklist(answers: Mapping[str, object]) -> str:
    """A reply in free text, in the form the released parser takes."""
    lines = [f"- {item}: {'yes' if answer else 'no'}" for item, answer in answers.items()]
    return "The picture shows a plant.\n\n" + "\n".join(lines)


def flags(names: Sequence[str], chosen: Sequence[bool]) -> dict[str, bool]:
    return dict(zip(names, chosen, strict=True))


@st.composite
def graphs(draw: st.DrawFn, most: int = 8, loops: bool = False) -> tuple[dict[str, bool], dict[str, bool]]:
    """Entities and dependencies with random answers; endpoints are always exact names."""
    count = draw(st.integers(1, most))
    names = [f"node {chr(97 + n)}" for n in range(count)]
    pairs = [(a, b) for a in names for b in names if loops or a != b]
    chosen = draw(st.lists(st.tuples(st.sampled_from(RELATIONS), st.sampled_from(pairs)), max_size=9)) if pairs else []
    texts = list(dict.fromkeys(f"{relation}({a}, {b})" for relation, (a, b) in chosen))
    answers = [draw(st.booleans()) for _ in (*names, *texts)]
    return flags(names, answers[:count]), flags(texts, answers[count:])
