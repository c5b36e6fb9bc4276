"""MMMG's protocol: one ask per drawing about a knowledge graph, scored as fidelity times readability."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from ...core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant, only_reply
from ...core.evidence import REGIONS, measured_number
from ...core.exam import Question
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Row, Score, mean_of_known
from . import analysis, graph
from .data import LEVELS, GraphRubric
from .replies import FREE, SCHEMA, STRUCTURED, Items, read_answers, require_complete, require_some


class Mmmg(Protocol[GraphRubric]):
    """MMMG's protocol: the score is fidelity to a knowledge graph times readability."""

    scored = (
        Score("mmmg_release", 1, "readability times fidelity_release, mean over drawings", monotone=False, digits=3),
        Score("mmmg_release_avg", 1, "the same, mean over the levels' means", monotone=False, digits=3),
        Score("mmmg_exact", 1, "readability times fidelity_exact, mean over drawings", digits=3),
        Score("mmmg_exact_avg", 1, "the same, mean over the levels' means", digits=3, main=False),
        Score("fidelity_release", 1, "1 - GED as the released scorer computes it", monotone=False, digits=3),
        Score("fidelity_exact", 1, "1 - GED with the minimum distance", digits=3),
        Score("readability", 1, "1 up to n_min regions, 0 from n_max on, linear in between", digits=3),
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
        """Return the entities, with their names as labels, then the dependencies."""
        kinds = [(id, text, id.partition("/")[0]) for id, text in _items(question).items()]
        return [Criterion(*each, labels=(each[1],) if each[2] == "entity" else ()) for each in kinds]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the templates of the instructions, the relations and the form of the reply, or the release's."""
        return variant.released or ("mark", f"relations-{variant.options['template']}", f"reply-{variant.name}")

    def asks(self, question: Question[GraphRubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return one ask: the text, then the drawing at full size."""
        items, free = _items(question), variant.name == "free-text"
        text = _released(question, variant) if variant.released else self._worded(question, variant)
        # A reply that still breaks the contract after the last attempt is kept, and each reading interprets it.
        parse = partial(require_some if free else require_complete, items)
        contract, name = Contract(parse, None if free else SCHEMA, required=False), FREE if free else STRUCTURED
        return [Ask(name, (Text(text), Picture(image)), tuple(self.criteria(question)), contract)]

    def _worded(self, question: Question[GraphRubric], variant: Variant) -> str:
        """Return the judge's instructions in our wording."""
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
        """Return the marks from the reply's answers, interpreted according to `reading`."""
        items = _items(question)
        try:
            reply = only_reply(replies, (STRUCTURED, FREE))
            return read_answers(items, reply.ask, reply.text, reading)
        except Unreadable as error:
            return [Mark.unread(item, str(error)) for item in items]

    def scores(
        self, question: Question[GraphRubric], marks: Sequence[Mark], evidence: Evidence
    ) -> dict[str, float | None]:
        """Return unrounded scores; fidelity requires an answer for every item, the MMMG score also a region count."""
        answers, rubric = values(marks), question.rubric
        entities = [answers.get(f"entity/{n}") for n in range(1, len(rubric.elements) + 1)]
        dependencies = [answers.get(f"dependency/{n}") for n in range(1, len(rubric.dependencies) + 1)]
        readable = self.from_evidence(evidence).get("readability")
        return compute_scores(rubric.elements, rubric.dependencies, (entities, dependencies), readable)

    def from_evidence(self, evidence: Evidence) -> dict[str, float]:
        """Return readability, if the regions were counted."""
        readable = readability(measured_number(evidence, REGIONS), self.constants["n_min"], self.constants["n_max"])
        return {} if readable is None else {"readability": readable}

    def nothing(self, question: Question[GraphRubric]) -> dict[str, float | None]:
        """Return the worst scores, readability included."""
        return super().nothing(question) | {"readability": 0.0, "mmmg_release": 0.0, "mmmg_exact": 0.0}

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Return the parts of every score; for some scores, also those of the drawing's level."""
        parts = super().parts(row)
        level = row.question.tags.get("level", "")
        return parts | {f"{name}{LEVEL}{level}": parts[name] for name in AVERAGED if name in parts}

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Return the means; for some scores, also the mean of the levels' means."""
        return with_level_averages(means)

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the paper's error analysis of low scores, and the mean of each metric by level."""
        low = {name: analysis.failures(rows, name) for name in ("mmmg_release", "mmmg_exact")}
        return {"low_scores": low, "levels": analysis.recovery_by_level(rows)}

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Return remarks on changed constants, missing scores and unanswered items."""
        usual = type(self).constants
        other = {name: value for name, value in self.constants.items() if value != usual[name]}
        texts = [f"{name} is {value:g} instead of {usual[name]:g}" for name, value in other.items()]
        return texts + analysis.remarks(rows)


def _released(question: Question[GraphRubric], variant: Variant) -> str:
    """Return the text as the released script writes it: the graph as JSON, then its explanation on a new line."""
    rubric = question.rubric
    graph = {"elements": rubric.elements, "dependencies": rubric.dependencies}
    text = f"{json.dumps(graph, ensure_ascii=False)}\n{rubric.annotation}"
    return variant.prompts.fill("released", graph=text)


def _items(question: Question[GraphRubric]) -> Items:
    entities = {f"entity/{n}": name for n, name in enumerate(question.rubric.elements, 1)}
    return entities | {f"dependency/{n}": text for n, text in enumerate(question.rubric.dependencies, 1)}


def _listed(items: Sequence[str], free: bool) -> str:
    """Return a list of items: numbered if the judge answers by number, with dashes if it repeats the item's text."""
    return "\n".join(f"- {item}" if free else f"{n}. {item}" for n, item in enumerate(items, 1)) or "(There is none.)"


AVERAGED = ("mmmg_release", "mmmg_exact", "fidelity_release", "fidelity_exact")
"""The scores that also have a mean over the levels' means, as in the paper's tables."""
LEVEL = "@"
"""The separator between score and level in the names of parts."""
Answers = Sequence[int | None]


def readability(regions: object, least: float, most: float) -> float | None:
    """Return 1 for up to `least` regions, 0 from `most` on, and linear values in between; None without a count.

    >>> [round(readability(count, 70, 160), 2) for count in (70, 73, 115, 163)]
    [1.0, 0.97, 0.5, 0.0]
    """
    if not isinstance(regions, int | float) or isinstance(regions, bool) or not regions >= 0:
        return None
    return 1.0 if regions <= least else 0.0 if regions >= most else (most - regions) / (most - least)


def compute_scores(
    elements: tuple[str, ...],
    dependencies: tuple[str, ...],
    shown: tuple[Answers, Answers],
    readable: float | None,
) -> dict[str, float | None]:
    """Return all scores of one drawing, unrounded; `shown` holds the answers for entities and for dependencies.

    Fidelity requires an answer for every item. The release's fidelity is also None if its scorer stops with an error.
    """
    entities, links = shown
    results: dict[str, float | None] = dict.fromkeys(AVERAGED)
    results |= {"readability": readable, "u_acc": _share([*entities, *links])}
    results |= {"entity_recall": _share(entities), "dependency_accuracy": _share(links)}
    if None not in entities and None not in links:
        results["fidelity_exact"] = graph.exact_similarity(graph.resolve_graph(elements, dependencies), entities, links)
        full = release_graph(elements, dependencies)
        if full is not None:
            nodes, edges = dict(zip(elements, entities, strict=True)), dict(zip(dependencies, links, strict=True))
            results["fidelity_release"] = graph.similarity(full, graph.build(nodes, edges))
    for way in ("release", "exact"):
        fidelity = results[f"fidelity_{way}"]
        if fidelity is not None and readable is not None:
            results[f"mmmg_{way}"] = readable * fidelity
    return results


def _share(answers: Answers) -> float | None:
    answered = [answer for answer in answers if answer is not None]
    return sum(answered) / len(answered) if answered and len(answered) == len(answers) else None


@lru_cache(maxsize=8192)
def release_graph(elements: tuple[str, ...], dependencies: tuple[str, ...]) -> graph.ReleaseGraph | None:
    """Return the reference graph as the released scorer builds it; None if the scorer stops with an error."""
    try:
        return graph.build(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True))
    except graph.ScorerError:
        return None


def with_level_averages(means: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means, with those of levels replaced by ``…_avg``, their unweighted mean.

    This works on numbers and on arrays of resamples, in which a level may be missing (NaN).

    >>> with_level_averages({"mmmg_exact": 0.3, "mmmg_exact@PhD": 0.2, "mmmg_exact@preschool": 0.6})
    {'mmmg_exact': 0.3, 'mmmg_exact_avg': 0.4}
    """
    averages = {name: mean for name, mean in means.items() if LEVEL not in name}
    for name in AVERAGED:
        if levels := [mean for part, mean in means.items() if part.startswith(name + LEVEL)]:
            averages[f"{name}_avg"] = mean_of_known(levels)
    return averages
