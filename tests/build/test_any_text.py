"""Whatever text a model, a paper or a reviewer writes: it is linted, read or refused, and nothing else happens."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from limner.build.wording import why_not_english
from limner.exams.aibench.recipe.latex_sources import FlatPaper
from limner.exams.aibench.recipe.latex_text import expand_macros
from limner.exams.fepbench.recipe.atoms import rewordings
from limner.exams.genexam.recipe import points as point_rules
from limner.exams.mmmg.draft import UnreadDependency, read_dependency
from limner.exams.worldgenbench.recipe import checklists

WORDS = st.text(max_size=80)


@given(WORDS, st.lists(st.tuples(WORDS, st.floats(-1, 2)), max_size=25))
def test_any_question_can_be_linted(prompt: str, points: list[tuple[str, float]]) -> None:
    rows = [{"question": words, "score": score} for words, score in points]
    assert all(
        fault.kind in point_rules.ERRORS | point_rules.WARNINGS for fault in point_rules.lint_question(prompt, rows)
    )


@given(WORDS, st.lists(st.tuples(WORDS, WORDS), max_size=25))
def test_any_checklist_can_be_linted(prompt: str, entries: list[tuple[str, str]]) -> None:
    rows = [{"item": item, "explanation": why} for item, why in entries]
    faults = checklists.lint_checklist(prompt, rows)
    assert all(fault.kind in checklists.ERRORS | checklists.WARNINGS for fault in faults)


@given(WORDS, WORDS)
def test_any_prompts_can_be_compared(free: str, structured: str) -> None:
    kinds = {str(change).partition(":")[0] for change in rewordings(free, structured)}
    assert kinds <= {"added", "dropped", "changed"}
    assert rewordings(free, free) == []


@given(st.lists(WORDS, max_size=8))
def test_language_check_accepts_any_text(lines: list[str]) -> None:
    assert why_not_english(lines) is None or isinstance(why_not_english(lines), str)


@given(WORDS)
def test_any_relation_is_parsed_or_refused(text: str) -> None:
    with suppress(UnreadDependency):
        assert read_dependency(text, ["soma", "axon", "cell body"])


@given(st.text(alphabet="ab{}[]#12\\ \n", max_size=60), st.text(alphabet="ab{}\\ ", max_size=40))
def test_expansion_of_broken_macros_returns_text(preamble: str, body: str) -> None:
    defined = preamble + "\\newcommand{\\a}[1]{<#1>}\\def\\b{B}"
    assert isinstance(expand_macros(FlatPaper(defined, body, "main.tex"))[0], str)
