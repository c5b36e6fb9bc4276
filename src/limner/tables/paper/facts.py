"""What is known of a painter: from the settings by its spec, else from what the papers say of a model of its name."""

from __future__ import annotations

import re
from functools import cache

from ...core.errors import DataError
from ...core.evaluator import without_options
from ...core.settings import PainterFacts, Settings
from ...exams import each, paper

NOT_MODELS = ("folder", "control", "python")
"""Specs that begin so name no model."""


def facts_of(painter: str, spec: str, settings: Settings) -> PainterFacts:
    """The settings' facts, filled up with the papers' where they know a model of that name."""
    own = settings.painters.get(spec) or settings.painters.get(painter) or settings.painter(spec)
    names = [without_options(painter)]
    if spec.partition("/")[0] not in NOT_MODELS:
        names.append(spec)
    for name in names:
        for word in (name, name.rpartition("/")[2]):
            found = _published().get(plain_name(word), {})
            missing = {key: value for key, value in found.items() if getattr(own, key) is None}
            own = own.model_copy(update=missing)
    return own


def plain_name(name: str) -> str:
    """A model's name as far as it counts: papers and users spell it with other dashes, blanks and letter cases.

    >>> plain_name("Nano Banana Pro") == plain_name("nano-banana-pro")
    True
    """
    return re.sub(r"[^a-z0-9.]+", "", name.casefold())


@cache
def _published() -> dict[str, dict[str, str]]:
    """Facts by a model's plain name; where papers differ, the first one read has the say."""
    found: dict[str, dict[str, str]] = {}
    for kind in each():
        try:
            groups = paper.rules(kind.name).groups
            figures = (*paper.rows(kind.name), *paper.rows(kind.name, paper.BOARD))
        except DataError:
            continue  # An exam's wrong file must not keep others' tables from being shown; its own say what is wrong.
        for row in figures:
            if not row["model"]:
                continue
            group = groups.get(row["model_group"])
            facts = group.model_dump(exclude_none=True) if group else {}
            if row["metric"] == "parameters":
                facts["parameters"] = f"{row['value']}B"
            if side := re.search(r"image side (\d+) px", row["note"]):
                facts["resolution"] = f"{side[1]}x{side[1]}"
            known = found.setdefault(plain_name(row["model"]), {})
            for key, value in facts.items():
                known.setdefault(key, value)
    return found


def published_score(kind: str, score: str, painter: str, spec: str) -> tuple[float, str] | None:
    """What an exam's paper prints as a painter's score over all questions, and who judged; None where it does not.

    >>> published_score("aibench", "overall", "x", "control/reference")
    (70.09, 'Qwen3-VL-235B-A22B-Instruct + UniPercept')
    """
    rules = paper.rules(kind)
    names = {plain_name(word) for name in (without_options(painter), spec) for word in (name, name.rpartition("/")[2])}
    names |= {plain_name(rules.painters[spec])} if spec in rules.painters else set()
    whole = [rule for rule in rules.scores if rule.category and not rule.tag and rule.file == paper.PUBLISHED]
    for rule in whole:
        for row in paper.rows(kind):
            place = row["table"], row["breakdown"], row["category"], rule.metrics.get(row["metric"])
            wanted = rule.table, rule.breakdown, rule.category, score
            if place == wanted and plain_name(row["model"]) in names:
                return round(float(row["value"]) * rule.scale, 6), row["judge"]
    return None


def shown(facts: PainterFacts, name: str) -> str | None:
    """A fact as tables show it: sizes in billions, square resolutions by their side.

    >>> shown(PainterFacts(parameters="27B", resolution="1024x1024"), "parameters")
    '27'
    >>> shown(PainterFacts(resolution="1024x1024"), "resolution")
    '1024'
    """
    value: str | None = getattr(facts, name)
    if value is None:
        return None
    if name == "parameters" and (size := re.fullmatch(r"([\d.]+)\s*([BM])", value)):
        return size[1] if size[2] == "B" else f"{float(size[1]) / 1000:g}"
    if name == "resolution" and (side := re.fullmatch(r"(\d+)\s*[x*×]\s*(\d+)", value)) and side[1] == side[2]:
        return side[1]
    return value
