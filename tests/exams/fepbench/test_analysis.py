"""What the paper reports beyond its tables, against plain arithmetic and scipy."""

from __future__ import annotations

from statistics import mean, quantiles

import pytest
from scipy.stats import pearsonr, spearmanr

from limner.core.exam import Question
from limner.core.protocol import Row
from limner.exams.fepbench import analysis
from tests.exams.fepbench.atom_sets import PROTOCOL, many, question


def row(id: str, count: int, scores: dict[str, float | None], **tags: str) -> Row:
    """A drawing of a figure with so many semantic atoms."""
    asked = question(None, id, **tags)
    return Row(Question(asked.id, asked.prompt, many(text=(count - 5, 1)), asked.tags), (), scores)


ROWS = [
    row(f"S{n}", 6 + n // 2, {"if": 1 - n / 20, "re": (n * 7 % 16) / 20, "sp": None if n == 3 else (n * 5 % 16) / 16})
    for n in range(16)
]


def test_bins_are_quarters_with_their_quartiles() -> None:
    found = analysis.complexity(ROWS)
    assert [one["n"] for one in found] == [4, 4, 4, 4]
    assert [one["atoms"] for one in found] == [[6, 7], [8, 9], [10, 11], [12, 13]]
    first = [1.0, 0.95, 0.9, 0.85]
    low, middle, high = quantiles(first, n=4, method="inclusive")
    expected = {"mean": mean(first), "q1": low, "median": middle, "q3": high}
    assert found[0]["if"] == {name: pytest.approx(value) for name, value in expected.items()}
    assert found[0]["sp"]["mean"] == pytest.approx(mean([0, 5 / 16, 10 / 16]))


def test_nothing_to_analyse() -> None:
    assert analysis.complexity([]) == []
    found = PROTOCOL.analyses([])
    assert found["correlations"]["if-re"] == {"n": 0, "pearson": None, "spearman": None}
    assert found["gaps"] == {"structured - free": {}, "multi - single": {}}


def test_correlations_are_scipys() -> None:
    found = analysis.correlations(ROWS)
    assert list(found) == ["if-re", "if-sp", "re-sp"]
    for name, body in found.items():
        one, other = name.split("-")
        pairs = [(r.scores[one], r.scores[other]) for r in ROWS]
        x, y = zip(*[(a, b) for a, b in pairs if a is not None and b is not None], strict=True)
        assert body["n"] == len(x) == (16 if name == "if-re" else 15)
        assert body["pearson"] == pytest.approx(pearsonr(x, y)[0])
        assert body["spearman"] == pytest.approx(spearmanr(x, y)[0])


def test_gaps_between_conditions() -> None:
    rows = [
        row("A", 8, {"if": 0.5}, regime="free"), row("A", 8, {"if": 0.7}, regime="structured"),
        row("B", 8, {"if": 0.1}, regime="free"), row("B", 8, {"if": 0.3}, regime="structured", panel_type="multi"),
        row("C", 8, {"if": 0.9}, regime="free", panel_type="multi"),
    ]  # fmt: skip
    found = analysis.gaps(rows, PROTOCOL)
    assert found["structured - free"]["if"] == pytest.approx(0.2)
    assert found["multi - single"]["if"] == pytest.approx(0.6 - 1.3 / 3)
