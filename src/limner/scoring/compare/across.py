"""Comparison of exams: whether several exams of a store rank painters in the same order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ...core.errors import UsageError
from ...core.evaluator import Evaluated, Evaluator, label, row_name
from ...core.protocol import Protocol, Score
from ...store import DEFAULT
from ...store.store import using_store
from .. import Comparable, Group, comparables
from ..groups import find_groups
from ..stats import rank_agreement, spearman_spread
from ..stats.types import Floats


@dataclass(frozen=True)
class ExamColumn(Evaluated):
    """One exam with the chosen evaluator, the score, and its value for each painter.

    Attributes:
        drawn: Painter -> the score in each resample of the exam's questions.
    """

    exam: str
    evaluator: Evaluator
    score: Score
    questions: int
    values: Mapping[str, float]
    drawn: Mapping[str, Floats]


@dataclass(frozen=True)
class Across:
    """Painters over several exams.

    Attributes:
        painters: The painters that at least two of the exams have.
        pairs: The agreement of orders for each pair of exams: ``first``, ``second``, ``painters``, ``spearman``
            (with ``low`` and ``high`` from resampling the questions of both) and ``kendall``.
    """

    columns: tuple[ExamColumn, ...]
    painters: tuple[str, ...]
    pairs: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        columns = [
            {
                "exam": column.exam,
                "judge": column.judge,
                "evaluator": column.evaluator.name,
                "setup": dict(column.setup),
                **column.evaluator.warnings_json,
                "score": column.score.name,
                "questions": column.questions,
            }
            for column in self.columns
        ]
        rows = [
            {"painter": painter, "scores": {column.exam: column.values.get(painter) for column in self.columns}}
            for painter in self.painters
        ]
        return {"exams": columns, "painters": rows, "pairs": [dict(pair) for pair in self.pairs]}


def exams(
    names: Sequence[str],
    *,
    judges: Sequence[str] = (),
    score: str | None = None,
    reading: str = "careful",
    store: Any = DEFAULT,
    painters: Sequence[str] = (),
) -> Across:
    """Return how well several exams of a store agree on the order of their common painters.

    Painters are matched by name, options and strategy, without the options of an exam. For each exam, the evaluator
    with the most painters is used.

    Args:
        names: Two exams or more.
        judges: Only these judges.
        score: A score that all the exams have; by default the first main score of each.
        reading: How stored replies are read.
        store: The store that holds the results.
        painters: Only these painters.

    Raises:
        UsageError: There are fewer than two exams, or one of them has no marks.
    """
    if len(set(names)) < 2:
        raise UsageError("--exams takes two exams or more, such as --exams ONE,ANOTHER")
    with using_store(store) as opened:
        columns = [_column(name, judges, score, reading, opened, painters) for name in dict.fromkeys(names)]
    counts = Counter(painter for column in columns for painter in column.values)
    shared = sorted(painter for painter, count in counts.items() if count > 1)
    pairs = tuple(_pair(first, other) for first, other in combinations(columns, 2))
    return Across(tuple(columns), tuple(shared), pairs)


def _column(
    name: str, judges: Sequence[str], score: str | None, reading: str, store: Any, painters: Sequence[str]
) -> ExamColumn:
    kind, groups = find_groups(name, store=store, judges=judges, reading=reading, painters=painters)
    protocol = kind.protocol
    sides = comparables(groups, protocol)
    if not sides:
        raise UsageError(f"{name}: nothing is marked{' by this judge' if judges else ''}; `limner run {name}` marks")
    # Among equals, prefer one with a score of the exam to one with the fallback score.
    side = max(sides, key=lambda each: (len(each.groups), each.score(score) in protocol.scored, len(each.questions)))
    chosen = side.score(score)
    values, drawn = {}, {}
    for painter, at in _keys(side, protocol).items():
        if chosen.name in side.values[at]:
            values[painter] = side.values[at][chosen.name]
            drawn[painter] = side.drawn[at][chosen.name]
    return ExamColumn(name, side.evaluator, chosen, len(side.questions), values, drawn)


def _keys(side: Comparable, protocol: Protocol[Any]) -> dict[str, int]:
    """Return painter without the exam's options -> its index; among several options, the usual ones count."""
    places: dict[str, int] = {}
    for at, group in sorted(enumerate(side.groups), key=lambda pair: (len(pair[1].painter), pair[1].painter)):
        places.setdefault(row_name(_own(group, protocol), group.strategy), at)
    return places


def _own(group: Group, protocol: Protocol[Any]) -> str:
    drawing = group.entries[0].drawing
    return label(drawing.painter, {k: v for k, v in drawing.options.items() if k not in protocol.draw_options})


def _pair(first: ExamColumn, second: ExamColumn) -> dict[str, Any]:
    common = sorted(first.values.keys() & second.values.keys())
    alike = rank_agreement(first.values, second.values)
    order = alike["spearman"]
    low = high = None
    if order.value is not None:
        # Questions of two exams are resampled independently: the common seed must not pair them.
        draws = [np.array([column.drawn[painter] for painter in common]).T for column in (first, second)]
        low, high = spearman_spread(order.value, draws[0], np.roll(draws[1], 1, axis=0))
    body: dict[str, Any] = {"first": first.exam, "second": second.exam, "painters": alike["painters"]}
    body["spearman"] = {**order.to_json(), "low": low, "high": high}
    return body | {"kendall": alike["kendall"].to_json()}
