"""The paper's equations on cases worked out by hand, from replies to scores."""

from __future__ import annotations

from statistics import mean, quantiles

import pytest
from scipy.stats import pearsonr, spearmanr

from limner.core.exam import Question
from limner.core.protocol import Row
from limner.exams.fepbench import analysis
from tests.exams.fepbench.atom_sets import PROTOCOL, Flags, many, question, score

ATOMS = many(visual=(2, 1), text=(4, 2), relation=(2, 2))
"""Two visual instruction atoms v1 v2 and a reasoning one v3; texts t1-t4, t5 t6; relations r1 r2, r3 r4."""
ASKED = question(ATOMS.model_dump())


def test_scores_match_manual_calculation() -> None:
    flags: dict[str, Flags] = {
        "v1": (1, 1, 0), "v2": (0, 1, 1), "v3": (1, 0, 1),
        "t1": (1, 1, 1), "t2": (1, 0, 0), "t3": (0, 0, 0), "t4": (1, 1, 0), "t5": (0, 1, 0), "t6": (1, 0, 1),
        "r1": (1, 1, 1), "r2": (0, 0, 0), "r3": (1, 1, 0), "r4": (1, 1, 1),
    }  # fmt: skip
    items = [
        ("text", "Sun", "top"), ("text", "Moon", "top"),
        ("visual", "tree", "left"),
        ("relation", "arrow from tree to Sun", "left"), ("relation", "ring around the tree", "left"),
    ]  # fmt: skip
    found = score(ASKED, flags, items, layout=(1, 0, 1))
    expected = {
        "if_visual": (0.5 + 0) / 2, "if_text": (1 + 0 + 0 + 0.5) / 4, "if_relation": (1 + 0) / 2, "if_layout": 2 / 3,
        "re_visual": 0.5 / 1, "re_text": (0 + 0.5) / 2, "re_relation": (0.5 + 1) / 2,
        # Realised by their gates: v1 v3; t1 t2 t4 t6; r1 r3 r4.
        "sp_visual": 1 - 1 / 3, "sp_text": 1 - 2 / 6, "sp_relation": 1 - 2 / 5,
    }  # fmt: skip
    expected["if"] = sum(expected[f"if_{x}"] for x in ("visual", "text", "relation", "layout")) / 4
    expected["re"] = sum(expected[f"re_{x}"] for x in ("visual", "text", "relation")) / 3
    expected["sp"] = sum(expected[f"sp_{x}"] for x in ("visual", "text", "relation")) / 3
    assert found == {name: pytest.approx(value) for name, value in expected.items()}


def test_gate_without_parts_does_not_match_but_is_realised() -> None:
    nothing: dict[str, Flags] = {f"t{n}": (0, 0, 0) for n in range(1, 7)}
    found = score(ASKED, {**nothing, "t1": (1, 0, 0)}, [("text", "Sun", "top")])
    assert (found["if_text"], found["re_text"], found["sp_text"]) == (0.0, 0.0, 0.5)


def test_part_without_gate_neither_matches_nor_is_realised() -> None:
    flags: dict[str, Flags] = {f"t{n}": (0, 1, 1) for n in range(1, 7)}
    found = score(ASKED, flags, [("text", "Sun", "top")])
    assert (found["if_text"], found["re_text"], found["sp_text"]) == (0.0, 0.0, 0.0)


def test_precision_without_content_is_undefined() -> None:
    nothing: dict[str, Flags] = {f"t{n}": (0, 0, 0) for n in range(1, 7)}
    found = score(ASKED, nothing, [("visual", "tree", "left")])
    assert found["sp_text"] is None
    assert found["sp"] == pytest.approx((0.75 + 1.0) / 2)
    assert found["if_text"] == 0.0


def test_repeated_item_counts_once() -> None:
    items = [
        ("text", "Golgi Apparatus", "top left"),
        ("text", "  golgi   apparatus. ", "Top left"),
        ("text", "“Golgi apparatus”", "top left."),
        ("text", "Golgi apparatus", "bottom"),
        ("visual", "Golgi apparatus", "top left"),
    ]
    found = score(ASKED, {}, items)
    assert found["sp_text"] == pytest.approx(6 / 8)
    assert found["sp_visual"] == pytest.approx(3 / 4)
    assert found["sp_relation"] == 1.0


def row(id: str, count: int, scores: dict[str, float | None], **tags: str) -> Row:
    """A drawing of a figure with so many semantic atoms."""
    asked = question(None, id, **tags)
    return Row(Question(asked.id, asked.prompt, many(text=(count - 5, 1)), asked.tags), (), scores)


ROWS = [
    row(f"S{n}", 6 + n // 2, {"if": 1 - n / 20, "re": (n * 7 % 16) / 20, "sp": None if n == 3 else (n * 5 % 16) / 16})
    for n in range(16)
]


def test_complexity_bins_are_quarters_with_quartiles() -> None:
    found = analysis.complexity(ROWS)
    assert [one["n"] for one in found] == [4, 4, 4, 4]
    assert [one["atoms"] for one in found] == [[6, 7], [8, 9], [10, 11], [12, 13]]
    first = [1.0, 0.95, 0.9, 0.85]
    low, middle, high = quantiles(first, n=4, method="inclusive")
    expected = {"mean": mean(first), "q1": low, "median": middle, "q3": high}
    assert found[0]["if"] == {name: pytest.approx(value) for name, value in expected.items()}
    assert found[0]["sp"]["mean"] == pytest.approx(mean([0, 5 / 16, 10 / 16]))


def test_analyses_of_no_rows_are_empty() -> None:
    assert analysis.complexity([]) == []
    found = PROTOCOL.analyses([])
    assert found["correlations"]["if-re"] == {"n": 0, "pearson": None, "spearman": None}
    assert found["gaps"] == {"structured - free": {}, "multi - single": {}}


def test_correlations_match_scipy() -> None:
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
