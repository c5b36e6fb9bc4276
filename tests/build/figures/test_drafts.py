"""Drafts of atoms: evidence decides the split, which both prompts must give; no category is empty unless told."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from limner.build.figures.drafts import doubts, read_draft, split_faults
from limner.core.asks import Unreadable

PROMPT = "Draw a cell with its 'Nucleus' in the middle. The cell contains the nucleus."
DRAFT: dict[str, Any] = {
    "visual": [
        {"name": "cell", "count": 1, "location": "in the middle", "evidence": "Draw a cell"},
        {"name": "ribosomes", "count": "several", "location": "in the cell", "evidence": None},
    ],
    "text": [
        {"text": "Nucleus", "attached_to": "the dark sphere", "evidence": "its 'Nucleus'"},
        {"text": "Ribosome", "attached_to": "a dot", "evidence": None},
    ],
    "relation": [
        {"source": "cell", "target": "nucleus", "type": "contains", "direction": "forward",
         "evidence": "contains the nucleus"},
        {"source": "ribosomes", "target": "cell", "type": "lie in", "direction": "Forward", "evidence": None},
    ],
    "layout": {"panel_structure": "one panel", "panel_count": 1, "global_layout": "cell in the middle"},
}  # fmt: skip
LINES = [{"text": "Nucleus", "place": "center", "size": "usual", "panel_mark": False}]


def changed(path: str, value: Any) -> dict[str, Any]:
    draft = copy.deepcopy(DRAFT)
    inner: Any = draft
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in way:
        inner = inner[part]
    inner[last] = value
    return draft


def test_evidence_decides_the_split() -> None:
    found = read_draft(DRAFT, PROMPT, "single")
    assert [(one["id"], one["role"]) for one in found["visual"]] == [("v1", "instruction"), ("v2", "reasoning")]
    assert [row["atom"] for row in found["evidence"]] == ["v1", "t1", "r1"]
    assert found["empty"] == []


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("visual.0.evidence", "Draw a golden cell", "visual atom 1: the prompt does not say"),
        ("text.0.evidence", None, "the prompt asks for 'Nucleus'"),
        ("visual.1.evidence", "a cell", "no visual reasoning atom"),
        ("relation.0.direction", "sideways", "must be one of: forward, both, none"),
        ("layout.panel_count", 2, "panel_count"),
        ("layout.global_layout", "", "global_layout"),
        ("visual.0.count", 0, "from 1"),
        ("text", "none", "must be a list of objects"),
        ("visual.0.evidence", 7, "words of the prompt, or null"),
    ],
)
def test_drafts_that_are_refused(path: str, value: Any, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read_draft(changed(path, value), PROMPT, "single")


def test_an_atom_twice_is_refused() -> None:
    with pytest.raises(Unreadable, match="v3 stands there twice"):
        read_draft(changed("visual", [*DRAFT["visual"], DRAFT["visual"][0]]), PROMPT, "single")


def test_an_empty_category_is_told_with_its_reason() -> None:
    draft = changed("text", DRAFT["text"][:1])
    with pytest.raises(Unreadable, match="no text reasoning atom"):
        read_draft(draft, PROMPT, "single")
    draft["empty"] = {"text reasoning": "the prompt names all labels"}
    assert read_draft(draft, PROMPT, "single")["empty"] == ["text reasoning: the prompt names all labels"]


def test_doubts_go_to_reviewers() -> None:
    draft = read_draft(changed("relation.1.source", "chloroplasts"), PROMPT, "single")
    told = doubts(draft, PROMPT, [*LINES, {**LINES[0], "text": "Cytoplasm"}])
    assert "t2: OCR has not read 'Ribosome'" in told
    assert "no text atom has the line 'Cytoplasm'" in told
    assert "r2: its source 'chloroplasts' is no visual or text atom" in told
    assert not any(one.startswith("t1") for one in told)


def body(**fields: Any) -> dict[str, Any]:
    found = read_draft(DRAFT, PROMPT, "single")
    structured = "Objects: a cell in the middle.\nText: 'Nucleus'.\nRelations: the cell contains the nucleus."
    spans = {"v1": "a cell", "t1": "'Nucleus'", "r1": "contains the nucleus"}
    evidence = [row | {"structured": spans[row["atom"]]} for row in found["evidence"]]
    return {**found, "evidence": evidence, "free_prompt": PROMPT, "structured_prompt": structured,
            "panel_type": "single", **fields}  # fmt: skip


def test_both_prompts_must_give_the_same_split() -> None:
    assert split_faults(body()) == []
    whole = body()["evidence"]
    assert split_faults(body(evidence=whole[:2])) == [
        "r1: no evidence in the free prompt", "r1: no evidence in the structured prompt"
    ]  # fmt: skip
    assert "does not say" in split_faults(body(structured_prompt="Objects: a cell. Text: 'Nucleus'."))[0]
    more = [*whole, {"atom": "v2", "free": "a cell", "structured": ""}]
    assert split_faults(body(evidence=more)) == ["v2: a reasoning atom has no evidence"]
    asks = body()["structured_prompt"] + " Text: 'Ribosome'."
    assert split_faults(body(structured_prompt=asks)) == ["t2: the structured prompt asks for 'Ribosome'"]
    assert split_faults(body(panel_type="multi")) == ["panel_type is multi, but panel_count is 1"]
    assert split_faults(body(evidence=[*whole, {"atom": "x9", "free": "", "structured": ""}])) == [
        "evidence for x9, which is no atom"
    ]
