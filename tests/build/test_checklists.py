"""Lint of checklists and criteria: the papers' own have no error, planted faults are found."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from benchmarks.rubric_proof import HALVES, planted, rows_of

from limner import exams
from limner.build.criterion_words import FAULT_KINDS, criterion_faults, why_always_true, why_invisible
from limner.exams.worldgenbench.recipe.checklists import (
    ERRORS,
    WARNINGS,
    lint_checklist,
    why_already_stated,
    why_not_visible,
    why_several_facts,
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
)
from tests.needs import released

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
def test_checklist_faults_are_reported(kind: str, prompt: str, entries: list[dict[str, str]]) -> None:
    assert kind in ERRORS or kind in WARNINGS
    assert kind in kinds(prompt, entries)


def test_items_of_paper_have_no_errors() -> None:
    lists = printed()
    assert [len(one.entries) for one in lists] == [4, 3, 10, 10, 6]
    found = Counter(one.kind for each in lists for one in lint_checklist(each.prompt, each.entries))
    assert not set(found) & ERRORS
    assert not any(why_not_visible(entry["item"]) for each in lists for entry in each.entries), "pH and pKa among them"


@pytest.mark.parametrize("half", ["tuned on", "held out"])
def test_error_rates_on_planted_faults(half: str) -> None:
    """What docs/worldgenbench.md says of the half that no rule was set on."""
    lists, forms = halves()[half], TUNED if half == "tuned on" else HELD_OUT
    rows = [(one, n, entry["item"]) for one in lists for n, entry in enumerate(one.entries, 1)]
    counts = {}
    for name, labels in (("compound", COMPOUND), ("stated", STATED)):
        reported = [
            (
                n in labels.get(one.id, ()),
                (why_several_facts(item) if name == "compound" else why_already_stated(item, one.prompt)) is not None,
            )
            for one, n, item in rows
        ]
        true, false = ([hit for labelled, hit in reported if labelled == there] for there in (True, False))
        counts[name] = (sum(true), len(true), sum(false), len(false))
    compounds, restated = planted_compounds(lists, forms, 1), planted_stated(lists, forms, 1)
    counts["planted"] = (
        sum(why_several_facts(item) is not None for item in compounds), len(compounds),
        sum(why_already_stated(*pair) is not None for pair in restated), len(restated),
    )  # fmt: skip
    print(half, counts)
    if half == "held out":
        assert counts == {"compound": (5, 5, 1, 60), "stated": (1, 2, 2, 63), "planted": (55, 56, 35, 36)}


@pytest.mark.parametrize(("half", "least"), [("tune", 40), ("report", 36)])
def test_bad_criteria_are_detected_by_wording(half: str, least: int) -> None:
    bad = planted(HALVES.index(half))
    assert tuple(sorted(bad)) == tuple(sorted(FAULT_KINDS))
    found = {
        kind: sum(bool(criterion_faults(text.format(label="Anode", other="Cathode"))) for text in texts)
        for kind, texts in bad.items()
    }
    print(f"{half}: {sum(found.values())} of {sum(map(len, bad.values()))}", found)
    assert sum(found.values()) >= least


@pytest.mark.parametrize("kind", exams.SHIPPED)
def test_criteria_of_the_samples_are_neither_always_true_nor_invisible(kind: str) -> None:
    source = exams.resolve(f"sample/{kind}", None)
    protocol = exams.kind(source.kind).protocol
    texts = {one.text for question in exams.read(source).questions for one in protocol.criteria(question)}
    assert not [text for text in texts if why_always_true(text) or why_invisible(text)]


def test_few_released_criteria_are_flagged() -> None:
    points = [point["question"] for row in rows_of(released("genexam"), 1) for point in row["scoring_points"]]
    found = Counter(kind for text in points for kind, _ in criterion_faults(text))
    print(f"of {len(points)}:", json.dumps(found))
    assert found["always-true"] == 0
    assert found["invisible"] <= 0.003 * len(points)
    assert found["general"] <= 0.022 * len(points)
    assert found["compound"] <= 0.12 * len(points)
