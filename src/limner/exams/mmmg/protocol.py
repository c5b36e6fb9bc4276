"""MMMG's protocol: one ask per drawing about a knowledge graph; fidelity times readability."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from ...core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant, only_reply
from ...core.evidence import REGIONS, number
from ...core.exam import Question
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Row, Score, mean_of_known
from . import analysis, exact, graph
from .data import LEVELS, GraphRubric
from .replies import FREE, SCHEMA, STRUCTURED, Items, complete, read, some


class Mmmg(Protocol[GraphRubric]):
    """See the module."""

    scored = (
        Score("mmmg_release", 1, "readability times fidelity_release, mean over drawings", monotone=False, digits=3),
        Score("mmmg_release_avg", 1, "the same, mean over the levels' means", monotone=False, digits=3),
        Score("mmmg_exact", 1, "readability times fidelity_exact, mean over drawings", digits=3),
        Score("mmmg_exact_avg", 1, "the same, mean over the levels' means", digits=3, main=False),
        Score("fidelity_release", 1, "1 - GED as the released scorer computes it", monotone=False, digits=3),
        Score("fidelity_exact", 1, "1 - GED with the least distance", digits=3),
        Score("readability", 1, "1 up to n_min regions, 0 from n_max on, even in between", digits=3),
        Score("u_acc", 1, "share of all items shown", digits=3, main=False),
        Score("entity_recall", 1, "share of entities shown", digits=3, main=False),
        Score("dependency_accuracy", 1, "share of dependencies shown", digits=3, main=False),
    )
    variants = ("structured", "free-text")
    options: Mapping[str, tuple[str, ...]] = {"template": ("corrected", "as-published")}
    constants: Mapping[str, float] = {"n_min": 70, "n_max": 160}
    consistency: Mapping[str, float] = {"fidelity_release": 0.92, "u_acc": 0.91}
    needs = frozenset({REGIONS})
    reasons = False
    label_kinds = frozenset({"entity"})
    breakdowns = ("level", "discipline", "level_discipline")
    orders: Mapping[str, tuple[str, ...]] = {"level": LEVELS}
    dimensions = ("fidelity_release", "fidelity_exact", "readability", "u_acc", "entity_recall", "dependency_accuracy")
    reply_tokens: Mapping[str, int] = {STRUCTURED: 3000, FREE: 2500}

    def criteria(self, question: Question[GraphRubric]) -> list[Criterion]:
        """Return the entities, each met where its name stands in the drawing, then the dependencies."""
        kinds = [(id, text, id.partition("/")[0]) for id, text in _items(question).items()]
        return [Criterion(*each, labels=(each[1],) if each[2] == "entity" else ()) for each in kinds]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the main template, what the relations mean, and the form of the reply; or the release's."""
        return variant.released or ("mark", f"relations-{variant.options['template']}", f"reply-{variant.name}")

    def asks(self, question: Question[GraphRubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """One ask: the text, then the drawing as it is."""
        items, free = _items(question), variant.name == "free-text"
        text = _released(question, variant) if variant.released else self._worded(question, variant)
        # What is still not as asked after the last try is kept: the readings differ in what they make of it.
        parse = partial(some if free else complete, items)
        contract, name = Contract(parse, None if free else SCHEMA, required=False), FREE if free else STRUCTURED
        return [Ask(name, (Text(text), Picture(image)), tuple(self.criteria(question)), contract)]

    def _worded(self, question: Question[GraphRubric], variant: Variant) -> str:
        """Return what the judge is told in our wording."""
        (main, relations, form), rubric = self.templates(variant), question.rubric
        free, prompts = variant.name == "free-text", variant.prompts
        return prompts.fill(
            main,
            spare=("relations", "reply"),
            relations=prompts.text(relations).strip(),
            entities=_listed(rubric.elements, free),
            dependencies=_listed(rubric.dependencies, free),
            annotation=rubric.annotation or "(There is no explanation.)",
            reply=prompts.text(form).strip(),
        )

    def marks(self, question: Question[GraphRubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return the reply's answers, read as `reading` says."""
        items = _items(question)
        try:
            reply = only_reply(replies, (STRUCTURED, FREE))
            return read(items, reply.ask, reply.text, reading)
        except Unreadable as error:
            return [Mark.unread(item, str(error)) for item in items]

    def scores(
        self, question: Question[GraphRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Unrounded. Fidelity needs every item answered, MMMG-Score a region count too."""
        known, rubric = values(marks), question.rubric
        entities = [known.get(f"entity/{n}") for n in range(1, len(rubric.elements) + 1)]
        dependencies = [known.get(f"dependency/{n}") for n in range(1, len(rubric.dependencies) + 1)]
        readable = self.from_evidence(evidence).get("readability")
        return scores(rubric.elements, rubric.dependencies, (entities, dependencies), readable)

    def from_evidence(self, evidence: Evidence) -> dict[str, float]:
        """Readability, where the regions are counted."""
        found = readability(number(evidence, REGIONS), self.constants["n_min"], self.constants["n_max"])
        return {} if found is None else {"readability": found}

    def nothing(self, question: Question[GraphRubric]) -> dict[str, float | None]:
        """Return a drawing that was never made is not readable either."""
        return super().nothing(question) | {"readability": 0.0, "mmmg_release": 0.0, "mmmg_exact": 0.0}

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Every score as a mean over drawings; some once more for the drawing's level alone."""
        found = super().parts(row)
        level = row.question.tags.get("level", "")
        return found | {f"{name}{LEVEL}{level}": found[name] for name in AVERAGED if name in found}

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Return the means, and for some the mean of the levels' means."""
        return averaged(means)

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Why drawings score low, as the paper's error analysis counts it; and how well each level is recovered."""
        low = {name: analysis.failures(rows, name) for name in ("mmmg_release", "mmmg_exact")}
        return {"low_scores": low, "levels": analysis.recovered(rows)}

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Scores that are missing, items without an answer, other numbers than the usual ones."""
        usual = type(self).constants
        other = {name: number for name, number in self.constants.items() if number != usual[name]}
        said = [f"{name} is {number:g} instead of {usual[name]:g}" for name, number in other.items()]
        return said + analysis.remarks(rows)


def _released(question: Question[GraphRubric], variant: Variant) -> str:
    """Return what the release's script tells the judge: the graph as JSON, its explanation in the next line."""
    rubric = question.rubric
    graph = {"elements": rubric.elements, "dependencies": rubric.dependencies}
    told = f"{json.dumps(graph, ensure_ascii=False)}\n{rubric.annotation}"
    return variant.prompts.fill("released", graph=told)


def _items(question: Question[GraphRubric]) -> Items:
    entities = {f"entity/{n}": name for n, name in enumerate(question.rubric.elements, 1)}
    return entities | {f"dependency/{n}": text for n, text in enumerate(question.rubric.dependencies, 1)}


def _listed(items: Sequence[str], free: bool) -> str:
    """Numbered where the judge answers by number, plain where it copies the item."""
    return "\n".join(f"- {item}" if free else f"{n}. {item}" for n, item in enumerate(items, 1)) or "(There is none.)"


AVERAGED = ("mmmg_release", "mmmg_exact", "fidelity_release", "fidelity_exact")
"""Scores whose mean over the levels' means is given too, as the paper's tables print it."""
LEVEL = "@"
"""Stands between a score's name and the level it is a part for."""
Answers = Sequence[int | None]


def readability(regions: object, least: float, most: float) -> float | None:
    """1 up to `least` regions, 0 from `most` on, even in between; None where nobody has counted.

    >>> [round(readability(count, 70, 160), 2) for count in (70, 73, 115, 163)]
    [1.0, 0.97, 0.5, 0.0]
    """
    if not isinstance(regions, int | float) or isinstance(regions, bool) or not regions >= 0:
        return None
    return 1.0 if regions <= least else 0.0 if regions >= most else (most - regions) / (most - least)


def scores(
    elements: tuple[str, ...],
    dependencies: tuple[str, ...],
    shown: tuple[Answers, Answers],
    readable: float | None,
) -> dict[str, float | None]:
    """All scores of one drawing, unrounded; `shown` answers the entities and the dependencies in turn.

    Fidelity needs every item answered; the release's is missing too where the released scorer stops with an error.
    """
    there, linked = shown
    found: dict[str, float | None] = dict.fromkeys(AVERAGED)
    found |= {"readability": readable, "u_acc": _share([*there, *linked])}
    found |= {"entity_recall": _share(there), "dependency_accuracy": _share(linked)}
    if None not in there and None not in linked:
        found["fidelity_exact"] = exact.similarity(exact.resolve(elements, dependencies), there, linked)
        full = released(elements, dependencies)
        if full is not None:
            nodes, edges = dict(zip(elements, there, strict=True)), dict(zip(dependencies, linked, strict=True))
            found["fidelity_release"] = graph.similarity(full, graph.build(nodes, edges))
    for way in ("release", "exact"):
        fidelity = found[f"fidelity_{way}"]
        if fidelity is not None and readable is not None:
            found[f"mmmg_{way}"] = readable * fidelity
    return found


def _share(answers: Answers) -> float | None:
    known = [answer for answer in answers if answer is not None]
    return sum(known) / len(known) if known and len(known) == len(answers) else None


@lru_cache(maxsize=8192)
def released(elements: tuple[str, ...], dependencies: tuple[str, ...]) -> graph.ReleaseGraph | None:
    """Return the reference graph as the released scorer builds it; None where it stops with an error."""
    try:
        return graph.build(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True))
    except graph.ScorerError:
        return None


def averaged(means: Mapping[str, Any]) -> dict[str, Any]:
    """Means, and beside some of them ``…_avg``: the plain mean of the levels' means, over the levels there are.

    Works on numbers and on arrays of resamples, in which a level may be missing (NaN).

    >>> averaged({"mmmg_exact": 0.3, "mmmg_exact@PhD": 0.2, "mmmg_exact@preschool": 0.6})
    {'mmmg_exact': 0.3, 'mmmg_exact_avg': 0.4}
    """
    found = {name: mean for name, mean in means.items() if LEVEL not in name}
    for name in AVERAGED:
        if levels := [mean for part, mean in means.items() if part.startswith(name + LEVEL)]:
            found[f"{name}_avg"] = mean_of_known(levels)
    return found
