"""Figures from the papers, as rows that can stand beside one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..exams.paper import PublishedScore, rows, rules
from ..tables.paper import known as layouts


def published(kind: str, values: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The paper's rows for an exam of this kind; none where no paper is known.

    Args:
        kind: The exam's kind; its ``rules.toml`` says which figures are our scores.
        values: The values that the exam's tags have; a category that is none of them is left out.

    Returns:
        ``{"model", "group", "judge", "table", "tag", "value", "scores"}``, one for each model, table and category.
    """
    spelt = {tag: {_plain(value): value for value in found} for tag, found in values.items()}
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    known = rules(kind).scores
    for row in rows(kind):
        for rule in _fitting(known, row):
            value = rule.fixed
            if rule.tag and not value:
                word = _plain(row["category"])
                value = spelt.get(rule.tag, {}).get(rule.names.get(word, word))
                if value is None:
                    continue
            place = (row["model"], row["model_group"], row["judge"], row["table"], rule.tag or "", value or "")
            names = ("model", "group", "judge", "table", "tag", "value")
            body = found.setdefault(place, dict(zip(names, place, strict=True)) | {"scores": {}})
            body["scores"][rule.metrics[row["metric"]]] = round(float(row["value"]) * rule.scale, 6)
    return _joined(found.values())


def questions_of(kind: str) -> int | None:
    """How many questions the paper's figures rest on, where its tables say so.

    >>> questions_of("genexam")
    1000
    """
    return next((layout.paper.questions for layout in layouts().values() if layout.exam == kind), None)


def _fitting(known: Iterable[PublishedScore], row: Mapping[str, str]) -> list[PublishedScore]:
    return [
        rule
        for rule in known
        if (rule.table, rule.breakdown) == (row["table"], row["breakdown"])
        and row["metric"] in rule.metrics
        and rule.category in (None, row["category"])
    ]


def _joined(bodies: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row where several judges or instruments gave a model's figures of one table."""
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
