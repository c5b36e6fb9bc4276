"""Lint of scoring points and traces: good ones pass, planted faults are told."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from limner import exams
from limner.build.ask import AskSettings
from limner.build.criterion_words import why_compound, why_general
from limner.build.recipe import open_recipe
from limner.core.asks import Unreadable
from limner.exams.genexam.recipe.points import ERRORS, WARNINGS, lint_question
from limner.exams.mmmg.draft import check_graph
from limner.exams.mmmg.recipe.traces import read_trace, read_trace_rules
from limner.painters.diffusers.text_encoding import SEPARATOR
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
        ("not-yes-no", "The nucleus is drawn in the vacuole"),
        ("not-yes-no", "In which corner is the nucleus?"),
        ("polarity", "Is the cell wall missing?"),
        ("polarity", "Does the drawing contain any spelling errors?"),
        ("negated", "Does the cell lack chloroplasts?"),
        ("negated", "Isn't the vacuole in the middle?"),
        ("negated", "Are none of the arrows red?"),
        ("negated", "Should the cell wall not be green?"),
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
    ],
)
def test_valid_points_have_no_error(words: str) -> None:
    assert not one_point(words) & ERRORS


@pytest.mark.parametrize("words", ["Is the third switch labelled 'no'?", "Does the No. 3 pump feed the boiler?"])
def test_words_of_a_label_are_no_negation(words: str) -> None:
    assert "negated" not in one_point(words)


def test_prompts_covering_all_or_none_of_points_are_reported() -> None:
    points = [
        {"question": "Is the red triangle left of the blue circle?", "score": 0.5},
        {"question": "Does a dashed arrow join the yellow square?", "score": 0.5},
    ]
    whole = "Draw a red triangle left of a blue circle and a dashed arrow that joins the yellow square."
    assert "whole-description" in kinds(whole, points)
    assert "not-in-prompt" in kinds(
        "Draw a cell.", [{"question": "Is the mitochondrion beside the ribosome under the Golgi body?", "score": 1.0}]
    )


def test_released_points_have_no_errors_and_known_warnings() -> None:
    found = Counter(
        one.kind for row in rows() for one in lint_question(row["prompt"], row["scoring_points"])
    )  # fmt: skip
    print(dict(found))
    assert not set(found) & ERRORS
    assert found == {
        "compound": 815, "not-in-prompt": 8, "general": 119, "negated": 92, "whole-description": 15,
        "basic-weight": 5,
    }  # fmt: skip


def test_planted_faults_are_found_on_held_out_half() -> None:
    everyone = rows()
    random.Random(3).shuffle(everyone)
    for half, forms, name in ((everyone[::2], TUNED, "tuned on"), (everyone[1::2], HELD_OUT, "held out")):
        hits, there = Counter[str](), Counter[str]()
        for kind, words in planted(half, forms, 7):
            there[kind] += 1
            hits[kind] += (why_compound(words) if kind == "compound" else why_general(words)) is not None
        for kind, many in there.items():
            print(f"{name}: {kind}: recall {hits[kind]}/{many} = {hits[kind] / many:.3f}")
            assert hits[kind] / many >= 0.8


HERE = Path(__file__).parent
RULES = read_trace_rules(HERE.parents[1] / "src/limner/exams/mmmg/recipe")


@lru_cache
def cases() -> dict[str, tuple[str, str, list[str], list[list[str]]]]:
    """Question -> a trace that people wrote, its final prompt, the graph's names and links."""
    exam = {one.id: one.rubric for one in exams.read(exams.resolve("sample/mmmg")).questions}
    found = {}
    for row in map(json.loads, (HERE / "traces.jsonl").read_text("utf-8").splitlines()):
        rubric = exam[row["id"]]
        links, _ = check_graph([(n, "x") for n in rubric.elements], [(d, "x") for d in rubric.dependencies], "d")
        told = [[link.relation, *link.ends] for link, _ in links]
        found[row["id"]] = row["trace"], row["final_prompt"], list(rubric.elements), told
    return found


@pytest.mark.parametrize("id", sorted(cases()))
def test_valid_traces_are_accepted(id: str) -> None:
    trace, final, names, links = cases()[id]
    assert read_trace(f"{trace}\n\n{SEPARATOR}\n\n{final}", names, links, RULES) == (trace, final)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda trace: trace.replace(" caterpillar", " creature"), "entity: 'caterpillar' is not named"),
        (
            lambda trace: trace.replace("does nothing but eat: it needs the leaf as food", "is near the leaf"),
            "relation: the trace does not say Requires(caterpillar, leaf) in words",
        ),
        (lambda trace: f"- {trace}", "prose: the trace has a list"),
        (lambda trace: f"# Plan\n{trace}", "prose: the trace has a list, a heading"),
        (lambda trace: f"{trace} Requires(caterpillar, leaf).", "prose: the trace has the graph's notation"),
        (lambda trace: f"{trace}\n{SEPARATOR}\n", "separator: "),
        (lambda trace: "An egg.", "short: the trace has 2 words"),
    ],
)
def test_traces_with_missing_parts_are_reported(change: Any, message: str) -> None:
    trace, final, names, links = cases()["preschool_Biology_1"]
    with pytest.raises(Unreadable) as found:
        read_trace(f"{change(trace)}\n\n{SEPARATOR}\n\n{final}", names, links, RULES)
    assert message in str(found.value)


def test_missing_separator_and_final_prompt_are_reported() -> None:
    trace, _, names, links = cases()["preschool_Biology_1"]
    for reply in (trace, f"{trace}\n{SEPARATOR}\n"):
        with pytest.raises(Unreadable, match="description"):
            read_trace(reply, names, links, RULES)


def test_examples_of_the_recipe_pass_its_own_lint() -> None:
    text = (Path(str(exams.kind("genexam").recipe)) / "prompts" / "examples.md").read_text("utf-8")
    examples = [json.loads(" ".join(words.split())) for words in re.findall(r"`(\{.*?\})`", text, re.DOTALL)]
    assert len(examples) == 3
    for example in examples:
        assert lint_question(example["prompt"], example["scoring_points"]) == []


def test_difficulties_have_anchors() -> None:
    recipe = open_recipe("exam")
    (classify,) = (place.settings for place in recipe.places if place.name == "classify")
    assert isinstance(classify, AskSettings)
    for word in classify.reply["difficulty"].among:
        assert f"`{word}` " in recipe.prompts().text("classify")
