"""The scores of a drawing by a definition: shares, weighted sums, products, gates and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from .criteria import RubricCriterion, Sheet
from .definition import Definition, ScorePlan


class ScoreSheet:
    """The scores of one drawing for which every criterion has a value, in the order of the definition."""

    def __init__(
        self,
        definition: Definition,
        sheet: Sheet,
        answers: Mapping[str, int],
    ) -> None:
        self._definition, self._criteria, self._answers = definition, sheet.criteria, answers
        self._values = dict(sheet.values)
        self.scores: dict[str, float | None] = {}
        self._shares: dict[str, float | None] = {}
        for name in (name for family in definition.criteria for name in (family.name, family.group) if name):
            if own := self._of(name):
                self._values[name] = sum(self._answers[each.criterion.id] for each in own) / len(own)
        for plan in definition.scores:
            value = self.scores[plan.name] = self._value(plan, definition.top(plan))
            self._values[plan.name] = value

    def _of(self, name: str) -> list[RubricCriterion]:
        return [each for each in self._criteria if name in (each.family.name, each.family.group)]

    def _worth(self, each: RubricCriterion) -> float:
        return each.worth(self._answers[each.criterion.id])

    def _part(self, name: str) -> float | None:
        """Return the value of a score, family or group, from 0 to 1; None if the question has none."""
        if name in self._shares:
            return self._shares[name]
        return _weighted_mean((self._worth(each), each.weight) for each in self._of(name))

    def _value(self, plan: ScorePlan, top: float) -> float | None:
        """Return a score, and remember it as a share of its best value."""
        if plan.kind in ("scale", "sum") and all(condition.holds(self._values) for condition in plan.when):
            value = self._raw(plan)
            scale = plan.kind == "scale"
            self._shares[plan.name] = self._part(plan.parts[0]) if scale else None if value is None else value / top
            return value
        share = self._share(plan)
        if share is not None and plan.round is not None:
            share = round(share, plan.round)
        self._shares[plan.name] = share
        return None if share is None else share * top

    def _raw(self, plan: ScorePlan) -> float | None:
        """Return the mean of a scale's values, or a sum of values times their weights."""
        factors = plan.of if isinstance(plan.of, dict) else dict.fromkeys(plan.parts, 1.0)
        pairs = [(each, factor) for name, factor in factors.items() for each in self._of(name)]
        if not pairs:
            return None
        if plan.kind == "sum":
            return sum(self._worth(each) * each.weight * factor for each, factor in pairs)
        return sum(self._answers[each.criterion.id] for each, _ in pairs) / len(pairs)

    def _share(self, plan: ScorePlan) -> float | None:
        """Return a score as a share of its best value; None if the question does not have it."""
        if plan.kind != "gate" and not all(condition.holds(self._values) for condition in plan.when):
            return None
        if plan.kind == "weighted" and isinstance(plan.of, dict):
            return self._weighted(plan.of, plan.otherwise)
        if plan.kind in ("weighted", "share"):
            return self._pooled(plan)
        parts = [part for part in map(self._part, plan.parts) if part is not None]
        if not parts:
            return None
        if plan.kind == "gate":
            closed = all(condition.holds(self._values) for condition in plan.when)
            return max(0.0, min(parts[0] * plan.times + plan.plus, plan.to)) if closed else parts[0]
        if plan.kind == "all":
            return float(all(map(self._of, plan.required)) and self._all_best(plan.parts))
        return prod(parts) if plan.kind == "product" else sum(parts) / len(parts)

    def _weighted(self, weights: Mapping[str, float], others: Iterable[Mapping[str, float]]) -> float | None:
        """Return a weighted mean of the parts that exist, by the first weights whose parts all exist."""
        for chosen in (weights, *others):
            parts = {name: self._part(name) for name in chosen}
            if None not in parts.values():
                break
        else:
            chosen, parts = weights, {name: self._part(name) for name in weights}
        return _weighted_mean((part, chosen[name]) for name, part in parts.items() if part is not None)

    def _pooled(self, plan: ScorePlan) -> float | None:
        """Return the mean over all criteria of the parts together."""
        pooled = [each for name in plan.parts for each in self._of(name)]
        if not pooled and len(plan.parts) == 1:
            return self._part(plan.parts[0])
        return _weighted_mean((self._worth(each), 1.0 if plan.kind == "share" else each.weight) for each in pooled)

    def _all_best(self, parts: Sequence[str]) -> bool:
        pooled = [each for name in parts if name not in self._shares for each in self._of(name)]
        earlier = [self._shares[name] for name in parts if name in self._shares]
        return all(self._worth(each) == 1 for each in pooled) and all(share in (1, None) for share in earlier)


def _weighted_mean(pairs: Iterable[tuple[float, float]]) -> float | None:
    top = bottom = 0.0
    for value, weight in pairs:
        top, bottom = top + value * weight, bottom + weight
    return top / bottom if bottom else None


def score_drawing(
    definition: Definition,
    sheet: Sheet,
    answers: Mapping[str, int],
) -> dict[str, float | None]:
    """Return the scores of a drawing.

    A score for which criteria are undecided is None, unless it is the same with their worst and best values.
    """
    open_criteria = [each for each in sheet.criteria if each.criterion.id not in answers]
    worst = {each.criterion.id: each.criterion.low for each in open_criteria} | dict(answers)
    scores = ScoreSheet(definition, sheet, worst).scores
    if not open_criteria:
        return scores
    best = {each.criterion.id: each.criterion.top for each in open_criteria} | dict(answers)
    others = ScoreSheet(definition, sheet, best).scores
    used = families_of(definition)
    undecided = {each.family.name for each in open_criteria}
    for plan in definition.scores:
        settled = scores[plan.name] == others[plan.name] and is_monotone(definition, plan)
        if used[plan.name] & undecided and not settled and plan.unread == "open":
            scores[plan.name] = None
    return scores


def families_of(definition: Definition) -> dict[str, set[str]]:
    """Return the families that each score depends on, directly or through earlier scores."""
    used: dict[str, set[str]] = {}
    for plan in definition.scores:
        names = (*plan.parts, *(name for weights in plan.otherwise for name in weights))
        names += tuple(condition.field for condition in plan.when)
        mine = used.setdefault(plan.name, set())
        for name in names:
            mine |= used[name] if name in used and name != plan.name else set()
            mine |= {family.name for family in definition.family(name)}
    return used


def is_monotone(definition: Definition, plan: ScorePlan) -> bool:
    """Return whether a better value of a criterion can never lower a score."""
    families = {name for each in definition.criteria for name in (each.name, each.group)}
    for condition in plan.when:
        about_marks = condition.field in families or any(condition.field == each.name for each in definition.scores)
        falls = condition.below is not None or condition.at_most is not None
        if about_marks and not (plan.kind == "gate" and falls and plan.times <= 1 and plan.plus <= 0):
            return False
    earlier = {each.name: each for each in definition.scores[: definition.scores.index(plan)]}
    names = {*plan.parts, *(condition.field for condition in plan.when)}
    return all(is_monotone(definition, earlier[name]) for name in names if name in earlier)
