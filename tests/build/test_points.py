"""Lint: the release has no error, planted faults are found, nothing breaks it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.points import ERRORS, WARNINGS, LintLimits, compound, general, lint_question
from tests.build.planted import HELD_OUT, TUNED, planted
from tests.build.rows import rows

PROMPT = "Draw a plant cell and label the cell wall, the nucleus and the vacuole. Show which one stores water."
POINTS: list[dict[str, Any]] = [
    {"question": "Does the drawing show one plant cell?", "score": 0.1},
    {"question": "Does the label of the cell wall point to the outermost layer?", "score": 0.4},
    {"question": "Is the vacuole the largest space inside the cell?", "score": 0.5},
]


def kinds(prompt: str = PROMPT, points: list[dict[str, Any]] | None = None) -> set[str]:
    return {one.kind for one in lint_question(prompt, POINTS if points is None else points)}


def one_point(words: str) -> set[str]:
    return kinds(points=[{"question": words, "score": 1.0}])


def test_a_good_question_is_clean() -> None:
    assert kinds() == set()


@pytest.mark.parametrize(
    ("kind", "prompt", "points"),
    [
        ("empty", " ", POINTS),
        ("length", "word " * 200, POINTS),
        ("language", "Zeichne die Zelle und den Kern mit der Wand und dem Saft", POINTS),
        ("language", "画出植物细胞并标注细胞壁、细胞核和液泡的位置", POINTS),
        ("count", PROMPT, []),
        (
            "count",
            PROMPT,
            [{"question": f"Is part {n} drawn left of part {n + 1}?", "score": 1 / 21} for n in range(21)],
        ),
        ("weight", PROMPT, [*POINTS[:2], {**POINTS[2], "score": 0.0}]),
        ("weight", PROMPT, [*POINTS[:2], {**POINTS[2], "score": 1.5}]),
        ("sum", PROMPT, [*POINTS[:2], {**POINTS[2], "score": 0.4}]),
        ("repeated", PROMPT, [POINTS[0], POINTS[0], {**POINTS[1], "score": 0.8}]),
    ],
)
def test_errors_of_a_question(kind: str, prompt: str, points: list[dict[str, Any]]) -> None:
    assert kind in ERRORS
    assert kind in kinds(prompt, points)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("not-yes-no", "What colour is the nucleus?"),
        ("not-yes-no", "Where is the nucleus drawn?"),
        ("not-yes-no", "The nucleus is drawn in the vacuole"),
        ("not-yes-no", "Name the parts?"),
        ("polarity", "Is the cell wall missing?"),
        ("polarity", "Is the nucleus mislabeled?"),
        ("polarity", "Does the drawing contain any spelling errors?"),
        ("polarity", "Does the arrow fail to reach the vacuole?"),
        ("negated", "Does the cell lack chloroplasts?"),
        ("compound", "Is the nucleus drawn, and is it labeled?"),
        ("general", "Is the cell correct?"),
        ("basic-weight", "Is there a plant cell?"),
    ],
)
def test_faults_of_a_point(kind: str, words: str) -> None:
    assert kind in ERRORS or kind in WARNINGS
    assert kind in one_point(words)


@pytest.mark.parametrize(
    "words",
    [
        "In the upper panel, is the nucleus left of the vacuole?",
        "When moving clockwise, does the number of sharps increase by one?",
        "Is the drawing free of spelling errors in its labels?",
        "Are there no arrows missing between A and B?",
        "Does the curve pass through (0, 1)?",
    ],
)
def test_right_points_have_no_error(words: str) -> None:
    assert not one_point(words) & ERRORS


def test_a_prompt_that_says_everything_is_told() -> None:
    points = [
        {"question": "Is the red triangle left of the blue circle?", "score": 0.5},
        {"question": "Does a dashed arrow join the yellow square?", "score": 0.5},
    ]
    whole = "Draw a red triangle left of a blue circle and a dashed arrow that joins the yellow square."
    assert "whole-description" in kinds(whole, points)
    assert "not-in-prompt" in kinds(
        "Draw a cell.", [{"question": "Is the mitochondrion beside the ribosome under the Golgi body?", "score": 1.0}]
    )


def test_the_release_has_no_error_and_its_warnings_are_counted() -> None:
    found = Counter(
        one.kind for row in rows() for one in lint_question(row["prompt"], row["scoring_points"])
    )  # fmt: skip
    print(dict(found))
    assert not set(found) & ERRORS
    assert found == {
        "compound": 815, "not-in-prompt": 289, "general": 119, "negated": 92, "whole-description": 15,
        "basic-weight": 5,
    }  # fmt: skip


def test_planted_points_are_found_on_the_half_never_tuned_on() -> None:
    everyone = rows()
    random.Random(3).shuffle(everyone)
    for half, forms, name in ((everyone[::2], TUNED, "tuned on"), (everyone[1::2], HELD_OUT, "held out")):
        hits, there = Counter[str](), Counter[str]()
        for kind, words in planted(half, forms, 7):
            there[kind] += 1
            hits[kind] += (compound(words) if kind == "compound" else general(words)) is not None
        for kind, many in there.items():
            print(f"{name}: {kind}: recall {hits[kind]}/{many} = {hits[kind] / many:.3f}")
            assert hits[kind] / many >= 0.8


@given(st.text(max_size=80), st.lists(st.tuples(st.text(max_size=80), st.floats(-1, 2)), max_size=25))
def test_nothing_breaks_it(prompt: str, points: list[tuple[str, float]]) -> None:
    found = lint_question(prompt, [{"question": words, "score": score} for words, score in points], LintLimits())
    assert all(one.kind in ERRORS or one.kind in WARNINGS for one in found)
    assert all(str(one) for one in found)
