"""Lint of checklists: the paper's own items have no error, planted ones are found, nothing breaks it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.checklists import (
    CHECKLIST_ERRORS,
    CHECKLIST_WARNINGS,
    ChecklistLimits,
    lint_checklist,
    several,
    stated,
    unseen,
)
from tests.build.checklist_items import (
    COMPOUND,
    HELD_OUT,
    STATED,
    TUNED,
    halves,
    planted_compounds,
    planted_stated,
    printed,
    sampled,
)

PROMPT = "In the spring of 1950 a ferryman crosses the river at Basel while the fair is on."
ENTRIES = [
    {
        "item": "The ferry hangs on a cable across the water",
        "explanation": "Reaction ferries are moved by the current.",
    },
    {"item": "A cathedral with two red towers stands on the bank", "explanation": "The Minster is of red sandstone."},
]


def kinds(prompt: str = PROMPT, entries: list[dict[str, str]] | None = None) -> set[str]:
    return {one.kind for one in lint_checklist(prompt, ENTRIES if entries is None else entries)}


def test_a_good_checklist_is_clean() -> None:
    assert kinds() == set()


@pytest.mark.parametrize(
    ("kind", "prompt", "entries"),
    [
        ("empty", " ", ENTRIES),
        ("empty", PROMPT, [{"item": " ", "explanation": "x"}]),
        ("unexplained", PROMPT, [{"item": "A ferry lies at the bank", "explanation": ""}]),
        ("length", "word " * 250, ENTRIES),
        ("language", "Der Fährmann und die Frau mit dem Hund auf der Brücke", ENTRIES),
        ("count", PROMPT, []),
        ("count", PROMPT, [{"item": f"Boat {n} lies there", "explanation": "x"} for n in range(21)]),
        ("repeated", PROMPT, [ENTRIES[0], {**ENTRIES[0], "item": ENTRIES[0]["item"].upper()}]),
        ("compound", PROMPT, [{"item": "The ferry is red and the flag is white", "explanation": "x"}]),
        ("already-stated", PROMPT, [{"item": "A ferryman crosses the river at Basel", "explanation": "x"}]),
        ("unseen", PROMPT, [{"item": "The ferryman thinks of his mother", "explanation": "x"}]),
    ],
)
def test_faults(kind: str, prompt: str, entries: list[dict[str, str]]) -> None:
    assert kind in CHECKLIST_ERRORS or kind in CHECKLIST_WARNINGS
    assert kind in kinds(prompt, entries)


def test_the_papers_own_items_have_no_error() -> None:
    lists = printed()
    assert [len(one.entries) for one in lists] == [4, 3, 10, 10, 6]
    found = Counter(one.kind for each in lists for one in lint_checklist(each.prompt, each.entries))
    assert not set(found) & CHECKLIST_ERRORS
    assert not any(unseen(entry["item"]) for each in lists for entry in each.entries), "pH and pKa among them"


def test_the_sample_has_no_error() -> None:
    assert not {one.kind for each in sampled() for one in lint_checklist(each.prompt, each.entries)} & CHECKLIST_ERRORS


@pytest.mark.parametrize("half", ["tuned on", "held out"])
def test_error_rates(half: str) -> None:
    """What docs/build-worldgenbench.md says of the half that no rule was set on."""
    lists, forms = halves()[half], TUNED if half == "tuned on" else HELD_OUT
    rows = [(one, n, entry["item"]) for one in lists for n, entry in enumerate(one.entries, 1)]
    counts = {}
    for name, labels in (("compound", COMPOUND), ("stated", STATED)):
        told = [
            (
                n in labels.get(one.id, ()),
                (several(item) if name == "compound" else stated(item, one.prompt)) is not None,
            )
            for one, n, item in rows
        ]
        true, false = ([hit for labelled, hit in told if labelled == there] for there in (True, False))
        counts[name] = (sum(true), len(true), sum(false), len(false))
    compounds, restated = planted_compounds(lists, forms, 1), planted_stated(lists, forms, 1)
    counts["planted"] = (
        sum(several(item) is not None for item in compounds), len(compounds),
        sum(stated(*pair) is not None for pair in restated), len(restated),
    )  # fmt: skip
    print(half, counts)
    if half == "held out":
        assert counts == {"compound": (5, 5, 1, 60), "stated": (1, 2, 2, 63), "planted": (55, 56, 35, 36)}


@given(st.text(max_size=80), st.lists(st.tuples(st.text(max_size=80), st.text(max_size=20)), max_size=25))
def test_nothing_breaks_it(prompt: str, entries: list[tuple[str, str]]) -> None:
    rows = [{"item": item, "explanation": why} for item, why in entries]
    found = lint_checklist(prompt, rows, ChecklistLimits())
    assert all(one.kind in CHECKLIST_ERRORS or one.kind in CHECKLIST_WARNINGS for one in found)
