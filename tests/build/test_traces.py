"""Traces are prose that names every entity and every relation, before one separator; all else is told to the model."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.build.traces import read_trace, read_trace_rules, trace_faults
from limner.core.asks import Unreadable
from limner.exams.mmmg.draft import check_graph
from limner.painters.diffusers.text_encoding import SEPARATOR

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
def test_good_traces_pass(id: str) -> None:
    trace, final, names, links = cases()[id]
    assert read_trace(f"{trace}\n\n{SEPARATOR}\n\n{final}", names, links, RULES) == (trace, final)


@pytest.mark.parametrize(
    ("change", "said"),
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
def test_what_is_missing_is_told(change: Any, said: str) -> None:
    trace, final, names, links = cases()["preschool_Biology_1"]
    with pytest.raises(Unreadable) as found:
        read_trace(f"{change(trace)}\n\n{SEPARATOR}\n\n{final}", names, links, RULES)
    assert said in str(found.value)


def test_no_separator_and_no_final_prompt_are_told() -> None:
    trace, _, names, links = cases()["preschool_Biology_1"]
    for reply in (trace, f"{trace}\n{SEPARATOR}\n"):
        with pytest.raises(Unreadable, match="description"):
            read_trace(reply, names, links, RULES)


@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_any_text_can_be_linted(text: str, names: list[str]) -> None:
    links = [["Causes", one, other] for one in names for other in names]
    assert isinstance(trace_faults(text, text, names, links, RULES), list)
