"""From replies to marks to scores: the contract is strict, readings agree, scores keep their bounds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given

from limner.core.asks import Ask, Picture, Reply, Text, Unreadable
from limner.core.exam import Question
from limner.core.marks import Mark, fill
from limner.core.protocol import READINGS, Reading, Row
from limner.exams.fepbench import FEPBENCH
from limner.exams.fepbench.data import MODALITIES, Atoms
from limner.exams.fepbench.protocol import (
    LAYOUT,
    PARTS,
    UNEXPECTED,
    VERIFICATION,
    normalize_text,
    read_unexpected,
    read_verification,
)
from limner.judges import make_variant
from tests.exams.fepbench.atom_sets import (
    FORMS,
    PROTOCOL,
    SAMPLE,
    Flags,
    Form,
    question,
    read,
    replies,
    unexpected,
    verdicts,
    verification,
)

ASKED = question()
ATOMS = ASKED.rubric
each_reading = pytest.mark.parametrize("reading", READINGS)


def values(marks: list[Mark]) -> dict[str, int | None]:
    return {mark.criterion: mark.value for mark in marks}


def test_criteria_cover_atoms_layout_and_precision() -> None:
    found = PROTOCOL.criteria(ASKED)
    expected = [f"{m}/{atom.id}/{part}" for m in MODALITIES for atom in ATOMS.of(m) for part in PARTS[m]]
    expected += [f"layout/{part}" for part in LAYOUT] + [f"unexpected/{m}" for m in MODALITIES]
    assert [criterion.id for criterion in found] == expected
    assert {criterion.top for criterion in found} == {1}
    texts = {criterion.id: criterion.text for criterion in found}
    assert texts["text/t1/attached"] == "Text belongs to the dark sphere: Nucleus"
    assert texts["visual/v2/count"] == "Number shown is several: ribosomes"
    assert texts["relation/r1/satisfied"] == "Relation shown: cell — contains — nucleus"


def test_braces_in_atom_text_are_not_expanded() -> None:
    atoms = json.loads(json.dumps(SAMPLE["atoms"]))
    atoms["text"][0]["text"] = "{id} {0} {{text}}"
    (first, *_) = [c for c in PROTOCOL.criteria(question(atoms)) if c.id == "text/t1/exact"]
    assert first.text.endswith("{id} {0} {{text}}")
    assert first.labels == ("{id} {0} {{text}}",)


def test_text_examiner_receives_text_of_atoms() -> None:
    found = {criterion.id: criterion for criterion in PROTOCOL.criteria(ASKED)}
    for part in ("exact", "readable"):
        criterion = found[f"text/t1/{part}"]
        assert (criterion.labels, criterion.exact, criterion.kind) == (("Nucleus",), True, part)
        assert criterion.kind in PROTOCOL.label_kinds
    assert found["text/t1/attached"].kind not in PROTOCOL.label_kinds
    assert not any(c.labels for c in found.values() if not c.id.startswith("text/"))


def test_duplicate_text_atoms_are_not_decided_by_ocr() -> None:
    atoms = json.loads(json.dumps(SAMPLE["atoms"]))
    atoms["text"].append({**atoms["text"][0], "id": "t3", "text": "NUCLEUS "})
    kinds = {c.id: c.kind for c in PROTOCOL.criteria(question(atoms))}
    assert kinds["text/t1/exact"] not in PROTOCOL.label_kinds
    assert kinds["text/t3/readable"] not in PROTOCOL.label_kinds
    assert kinds["text/t2/exact"] in PROTOCOL.label_kinds


@each_reading
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_replies_in_many_forms_are_read(reading: Reading, form: Form) -> None:
    body, extra = verification(ATOMS, {"t1": (1, 0, 1)}), unexpected(("text", "Sun", "top"))
    found = values(PROTOCOL.marks(ASKED, [Reply("verify", form(body)), Reply("unexpected", form(extra))], reading))
    assert [found[f"text/t1/{part}"] for part in PARTS["text"]] == [1, 0, 1]
    assert [found[f"unexpected/{m}"] for m in MODALITIES] == [1, 0, 1]
    assert found["unexpected/text/1"] == 1


def test_marks_carry_reasons_and_items() -> None:
    found = {mark.criterion: mark for mark in read(ASKED, {}, [("relation", "Sun heats cell", "top")])}
    assert found["text/t1/readable"].reason == "seen"
    assert found["layout/panel_count"].reason == "seen"
    assert found["unexpected/relation/1"].reason == "Sun heats cell (top)"
    assert len(found) == len(PROTOCOL.criteria(ASKED)) + 1


def entry(**fields: Any) -> dict[str, Any]:
    return {"id": "t1", "reason": "", "exact": 1, "readable": 1, "attached": 1} | fields


T2 = entry(id="t2")
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no list": ({"text": {}}, '"text" must be a list'),
    "an atom missing": ({"text": [T2]}, "text atoms without an answer: t1"),
    "an atom twice": ({"text": [entry(), T2, entry()]}, "text atom t1 is answered twice"),
    "an atom of our own": ({"text": [entry(), T2, entry(id="t9")]}, "there is no text atom 't9'"),
    "no id": ({"text": [{"exact": 1}]}, 'entry 1 of "text" has no "id"'),
    "a flag missing": ({"text": [{"id": "t1", "exact": 1, "readable": 1}, T2]}, 'atom t1: "attached" must be 0 or 1'),
    "a flag between": ({"text": [entry(exact=0.5), T2]}, 'text atom t1: "exact" must be 0 or 1, not 0.5'),
    "no layout": ({"layout": None}, '"layout" must be an object'),
    "a layout flag missing": ({"layout": {"panel_count": 1}}, 'layout: "panel_structure" must be 0 or 1'),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_invalid_verification_is_unread(change: dict[str, Any], message: str) -> None:
    body = verification(ATOMS) | change
    with pytest.raises(Unreadable) as caught:
        read_verification(ATOMS, json.dumps(body))
    assert message in str(caught.value)
    marks = PROTOCOL.marks(ASKED, replies(body, unexpected()), "careful")
    assert {mark.verdict for mark in marks} == {"unread"}
    assert message in marks[0].reason
    assert set(PROTOCOL.scores(ASKED, marks, {}).values()) == {None}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, '"unexpected" must be a list'),
        ({"unexpected": ["Sun"]}, "item 1 must be an object"),
        ({"unexpected": [{"modality": "layout", "item": "a", "place": "b"}]}, '"modality" must be one of visual, text'),
        ({"unexpected": [{"modality": "text", "item": "a"}]}, 'item 1 needs an "item" and a "place"'),
    ],
)
def test_invalid_list_of_unexpected_items_is_unread(body: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_unexpected(json.dumps(body))
    assert message in str(caught.value)
    marks = PROTOCOL.marks(ASKED, replies(verification(ATOMS), body), "careful")
    assert {mark.criterion for mark in marks if mark.verdict == "unread"} == {f"unexpected/{m}" for m in MODALITIES}
    scores = PROTOCOL.scores(ASKED, marks, {})
    assert (scores["if"], scores["re"], scores["sp"], scores["sp_text"]) == (1.0, 1.0, None, None)


def test_schemas_are_strict() -> None:
    def check(schema: dict[str, Any]) -> None:
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            for inner in schema["properties"].values():
                check(inner)
        elif schema["type"] == "array":
            check(schema["items"])

    check(VERIFICATION)
    check(UNEXPECTED)


@given(verdict=verdicts())
def test_scores_lie_between_0_and_1_and_match_plain_counting(verdict: Any) -> None:
    asked, flags, items, layout = verdict
    found = PROTOCOL.scores(asked, read(asked, flags, items, layout), {})
    assert list(found) == [score.name for score in PROTOCOL.scored]
    assert all(value is None or 0 <= value <= 1 for value in found.values())
    assert all(value is not None for name, value in found.items() if not name.startswith("sp"))
    for modality in MODALITIES:
        gates = sum(flags[atom.id][0] for atom in asked.rubric.of(modality))
        extra = len({(normalize_text(what), place) for kind, what, place in items if kind == modality})
        expected = gates / (gates + extra) if gates + extra else None
        assert found[f"sp_{modality}"] == (None if expected is None else pytest.approx(expected))
        for role, name in (("instruction", "if"), ("reasoning", "re")):
            matches = [
                flags[a.id][0] * (flags[a.id][1] + flags[a.id][2]) / 2
                for a in asked.rubric.of(modality)
                if a.role == role
            ]
            assert found[f"{name}_{modality}"] == pytest.approx(sum(matches) / len(matches))


def test_precision_has_no_bounds() -> None:
    """Nobody knows how much unexpected content a judge that abstains would have found."""
    assert [score.name for score in PROTOCOL.scored if not score.monotone] == [
        "sp",
        "sp_visual",
        "sp_text",
        "sp_relation",
    ]
    worst = PROTOCOL.scores(ASKED, fill([], PROTOCOL.criteria(ASKED), False), {})
    assert worst["sp"] is None


@pytest.mark.parametrize(("option", "taken"), [("both", 2), ("free", 1), ("structured", 1)])
def test_regime_option_selects_questions(option: str, taken: int) -> None:
    both = [question(regime="free"), question(regime="structured")]
    chosen = [q for q in both if PROTOCOL.takes(q, {"regime": option})]
    assert len(chosen) == taken
    assert option == "both" or chosen[0].tags["regime"] == option
    assert PROTOCOL.draw_options == {"regime": ("both", "free", "structured")}
    assert PROTOCOL.selecting == {"regime"}


def row(
    asked: Question[Atoms], flags: dict[str, Flags] | None = None, items: list[tuple[str, str, str]] | None = None
) -> Row:
    marks = read(asked, flags, items or [])
    return Row(asked, tuple(marks), PROTOCOL.scores(asked, marks, {}))


BLANK: dict[str, Flags] = {a.id: (0, 0, 0) for m in MODALITIES for a in ATOMS.of(m)}


def test_undefined_precision_is_counted_and_omitted() -> None:
    textless = BLANK | {"v1": (1, 1, 1), "r1": (1, 1, 1)}
    rows = [row(question(id="A")), row(question(id="B"), textless), row(question(id="C"), BLANK)]
    rows += [row(question(id=id, regime="structured")) for id in "ABC"]
    assert PROTOCOL.analyses(rows)["undefined_sp"] == {"visual": 1, "text": 2, "relation": 1}
    assert PROTOCOL.remarks(rows) == [
        "sp: some of 6 drawings have no such content (visual 1, text 2, relation 1); "
        "those parts are left out of the mean"
    ]
    summary = PROTOCOL.summary(rows)
    assert summary["sp_text"] == summary["sp"] == 1.0
    assert PROTOCOL.remarks(rows[:1] + rows[3:4]) == []


DRAWING = "1" * 64
LINES = {"ocr": {"value": [{"text": "Nucleus"}, {"text": "Rib0some"}], "backend": "some"}}
each_variant = pytest.mark.parametrize("variant", ["paper", "ocr"])


def asks(
    variant: str = "paper", evidence: dict[str, Any] | None = None, asked: Question[Any] | None = None
) -> list[Ask]:
    given = LINES if evidence is None and variant == "ocr" else evidence or {}
    return FEPBENCH.protocol.asks(asked or question(), DRAWING, given, make_variant(FEPBENCH, variant, {}))


def words(ask: Ask) -> str:
    first = ask.shown[0]
    assert isinstance(first, Text)
    assert "{{" not in first.text
    return first.text


def sections(ask: Ask) -> dict[str, str]:
    """The request's text by its headings, each in one line."""
    parts = re.split(r"^##+ (.+)$", "## Opening\n" + words(ask), flags=re.M)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


@each_variant
def test_two_asks_show_only_drawing(variant: str) -> None:
    verify, unexpected = asks(variant)
    assert (verify.name, unexpected.name) == ("verify", "unexpected")
    for ask in (verify, unexpected):
        # No reference, and the drawing as it is.
        assert ask.shown[1:] == (Picture(DRAWING),)
    assert (verify.contract.schema, unexpected.contract.schema) == (VERIFICATION, UNEXPECTED)
    criteria = FEPBENCH.protocol.criteria(question())
    assert [*verify.criteria, *unexpected.criteria] == criteria
    assert {criterion.kind for criterion in unexpected.criteria} == {"unexpected"}


def test_only_precision_verifier_sees_prompt() -> None:
    verify, unexpected = map(words, asks())
    assert "Draw it." in unexpected
    assert "Draw it." not in verify


def test_atoms_are_shown_without_roles() -> None:
    verify, unexpected = map(words, asks())
    for modality in MODALITIES:
        for atom in SAMPLE["atoms"][modality]:
            shown = json.dumps({key: value for key, value in atom.items() if key != "role"})
            assert shown in verify
            assert shown in unexpected
    for text in (verify, unexpected):
        assert "instruction atom" not in text
        assert "reasoning" not in text
    layout = json.dumps(SAMPLE["atoms"]["layout"])
    assert layout in verify
    assert layout not in unexpected


def test_example_reply_matches_expected_schema() -> None:
    verify, unexpected = (sections(ask)["Reply"] for ask in asks())
    shown = json.loads(verify[verify.index("{") :])
    assert set(shown) == {*MODALITIES, "layout"}
    for modality in MODALITIES:
        assert [name for name in shown[modality][0] if name not in ("id", "reason")] == list(PARTS[modality])
    assert [name for name in shown["layout"] if name != "reason"] == list(LAYOUT)
    (item,) = json.loads(unexpected[unexpected.index("{") :])["unexpected"]
    assert list(item) == ["modality", "item", "place"]


def test_text_lines_are_shown_only_in_ocr_variant() -> None:
    for ask in asks("ocr"):
        section = sections(ask)["The drawing"]
        assert "- Nucleus - Rib0some" in section
        assert "trust your own eyes" in section
    assert "(none)" in sections(asks("ocr", {"ocr": {"value": [], "backend": "some"}})[0])["The drawing"]
    assert not any("recogniser" in words(ask) for ask in asks("paper"))
