"""Figures from the papers, as rows that can stand beside one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...published import FOLDER, rows


@dataclass(frozen=True)
class Rule:
    """Where a paper prints one of our scores.

    Attributes:
        metric: The paper's name for it; `score` is ours, `scale` brings the figure to our scale.
        category: The category that stands for all questions; without it, every category is a value of `tag`.
        tag: The tag the categories are values of; `fixed` is the one value that `category` stands for.
    """

    table: str
    breakdown: str
    metric: str
    score: str
    scale: float = 1.0
    category: str | None = None
    tag: str | None = None
    fixed: str | None = None
    names: dict[str, str] = field(default_factory=dict)


_LEVELS = {"primary": "primaryschool", "secondary": "secondaryschool"}
RULES: dict[str, tuple[Rule, ...]] = {
    "genexam": (
        *(Rule("Table 2", "overall", name, name, category="Overall") for name in ("strict", "relaxed")),
        *(Rule("Table 2", "subject", name, name, tag="subject") for name in ("strict", "relaxed")),
        *(Rule("Table 6b", "difficulty", name, name, tag="difficulty") for name in ("strict", "relaxed")),
    ),
    "mmmg": (
        Rule("Table 2", "average_over_levels", "MMMG-Score", "mmmg_release_avg", 0.01, category="Avg"),
        Rule("Table 2", "education_level", "MMMG-Score", "mmmg_release", 0.01, tag="level", names=_LEVELS),
    ),
    "worldgenbench": (
        *(
            Rule(table, "overall", "knowledge_checklist_score", "checklist", category=name, tag="domain", fixed=value)
            for table, name, value in (("Table 1", "Humanities", "humanities"), ("Table 2", "Nature", "nature"))
        ),
        Rule("Table 1", "continent", "knowledge_checklist_score", "checklist", tag="continent"),
        Rule("Table 2", "discipline", "knowledge_checklist_score", "checklist", tag="discipline"),
    ),
    "fepbench": (
        *(Rule("Table 2", "overall", name.upper(), name, category="Mean") for name in ("if", "re", "sp")),
        *(
            Rule("Table 2", "atom_type", name.upper(), f"{name}_{part}", category=part)
            for name in ("if", "re", "sp")
            for part in ("visual", "text", "relation", "layout")
        ),
        *(
            Rule("Table 3", "prompt", name.upper(), name, category=f"{word} / Overall", tag="regime", fixed=regime)
            for name in ("if", "re", "sp")
            for word, regime in (("free-form", "free"), ("structured", "structured"))
        ),
    ),
    "aibench": (
        Rule("Table 3", "overall", "score", "overall", category="Overall"),
        Rule("Table 3", "dimension", "aesthetics", "aesthetics", category="Aesthetics"),
        *(
            Rule("Table 3", "dimension", "accuracy", name, category=name.title())
            for name in ("component", "topology", "phase", "semantics")
        ),
    ),
}


def published(kind: str, values: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The paper's rows for an exam of this kind; none where no paper is known.

    Args:
        kind: The exam's kind.
        values: The values that the exam's tags have; a category that is none of them is left out.

    Returns:
        ``{"model", "group", "judge", "table", "tag", "value", "scores"}``, one for each model, table and category.
    """
    if kind not in RULES or not (FOLDER / f"{kind}.csv").exists():
        return []
    spelt = {tag: {_plain(value): value for value in found} for tag, found in values.items()}
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows(kind):
        for rule in _fitting(RULES[kind], row):
            value = rule.fixed
            if rule.tag and not value:
                word = _plain(row["category"])
                value = spelt.get(rule.tag, {}).get(rule.names.get(word, word))
                if value is None:
                    continue
            place = (row["model"], row["model_group"], row["judge"], row["table"], rule.tag or "", value or "")
            names = ("model", "group", "judge", "table", "tag", "value")
            body = found.setdefault(place, dict(zip(names, place, strict=True)) | {"scores": {}})
            body["scores"][rule.score] = round(float(row["value"]) * rule.scale, 6)
    return _joined(found.values())


def _fitting(rules: Iterable[Rule], row: dict[str, Any]) -> list[Rule]:
    return [
        rule
        for rule in rules
        if (rule.table, rule.breakdown, rule.metric) == (row["table"], row["breakdown"], row["metric"])
        and rule.category in (None, row["category"])
    ]


def _joined(bodies: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row where several judges or instruments gave a model's figures of one table, as in AIBench's."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for body in bodies:
        place = tuple(body[name] for name in ("model", "group", "table", "tag", "value"))
        kept = found.setdefault(place, body)
        if kept is not body and not kept["scores"].keys() & body["scores"].keys():
            kept["scores"] |= body["scores"]
            # The longest name of the judge tells most: "X + Y" stands beside plain "X" and "Y".
            kept["judge"] = max(kept["judge"], body["judge"], key=len)
    return list(found.values())


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", word.casefold())
