"""What the judge is told: every fact of the protocol in its place, in both asks and both variants."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from limner.core.asks import Ask, Picture, Text
from limner.core.exam import Question
from limner.exams.fepbench import FEPBENCH
from limner.exams.fepbench.data import MODALITIES
from limner.exams.fepbench.replies import LAYOUT, PARTS, UNEXPECTED, VERIFICATION
from limner.judges import make_variant
from tests.exams.fepbench.atom_sets import SAMPLE, question

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
def test_two_asks_with_the_drawing_alone(variant: str) -> None:
    verify, unexpected = asks(variant)
    assert (verify.name, unexpected.name) == ("verify", "unexpected")
    for ask in (verify, unexpected):
        # No reference, and the drawing as it is.
        assert ask.shown[1:] == (Picture(DRAWING),)
    assert (verify.contract.schema, unexpected.contract.schema) == (VERIFICATION, UNEXPECTED)
    criteria = FEPBENCH.protocol.criteria(question())
    assert [*verify.criteria, *unexpected.criteria] == criteria
    assert {criterion.kind for criterion in unexpected.criteria} == {"unexpected"}


def test_only_the_precision_verifier_sees_the_prompt() -> None:
    verify, unexpected = map(words, asks())
    assert "Draw it." in unexpected
    assert "Draw it." not in verify


def test_atoms_are_shown_without_their_roles() -> None:
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


def test_the_shape_shown_is_the_shape_wanted() -> None:
    verify, unexpected = (sections(ask)["Reply"] for ask in asks())
    shown = json.loads(verify[verify.index("{") :])
    assert set(shown) == {*MODALITIES, "layout"}
    for modality in MODALITIES:
        assert [name for name in shown[modality][0] if name not in ("id", "reason")] == list(PARTS[modality])
    assert [name for name in shown["layout"] if name != "reason"] == list(LAYOUT)
    (item,) = json.loads(unexpected[unexpected.index("{") :])["unexpected"]
    assert list(item) == ["modality", "item", "place"]


def test_lines_of_text_are_shown_where_the_variant_says_so() -> None:
    for ask in asks("ocr"):
        told = sections(ask)["The drawing"]
        assert "- Nucleus - Rib0some" in told
        assert "trust your own eyes" in told
    assert "(none)" in sections(asks("ocr", {"ocr": {"value": [], "backend": "some"}})[0])["The drawing"]
    assert not any("recogniser" in words(ask) for ask in asks("paper"))
