"""The paper's equations on cases worked out by hand, from replies to scores."""

from __future__ import annotations

import pytest

from tests.exams.fepbench.atom_sets import Flags, many, question, score

ATOMS = many(visual=(2, 1), text=(4, 2), relation=(2, 2))
"""Two visual instruction atoms v1 v2 and a reasoning one v3; texts t1-t4, t5 t6; relations r1 r2, r3 r4."""
ASKED = question(ATOMS.model_dump())


def test_a_figure_by_hand() -> None:
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


def test_a_gate_without_its_parts_matches_nothing_and_is_realised_all_the_same() -> None:
    nothing: dict[str, Flags] = {f"t{n}": (0, 0, 0) for n in range(1, 7)}
    found = score(ASKED, {**nothing, "t1": (1, 0, 0)}, [("text", "Sun", "top")])
    assert (found["if_text"], found["re_text"], found["sp_text"]) == (0.0, 0.0, 0.5)


def test_a_part_without_its_gate_matches_nothing_and_is_not_realised() -> None:
    flags: dict[str, Flags] = {f"t{n}": (0, 1, 1) for n in range(1, 7)}
    found = score(ASKED, flags, [("text", "Sun", "top")])
    assert (found["if_text"], found["re_text"], found["sp_text"]) == (0.0, 0.0, 0.0)


def test_precision_of_nothing_is_undefined() -> None:
    nothing: dict[str, Flags] = {f"t{n}": (0, 0, 0) for n in range(1, 7)}
    found = score(ASKED, nothing, [("visual", "tree", "left")])
    assert found["sp_text"] is None
    assert found["sp"] == pytest.approx((0.75 + 1.0) / 2)
    assert found["if_text"] == 0.0


def test_the_same_item_named_again_counts_once() -> None:
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
