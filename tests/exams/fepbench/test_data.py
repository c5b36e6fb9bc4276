"""The reader of atom sets: right data is read whole, wrong data is named by file, line, sample and atom."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError
from limner.exams.fepbench import FEPBENCH
from limner.exams.fepbench.data import MODALITIES, SCHEMA, Atoms, Sample, read, schema
from tests.exams.fepbench.atom_sets import SAMPLE, changed
from tests.support import picture


def write(folder: Path, *lines: dict[str, Any] | str | bytes) -> Path:
    """A data folder whose samples file has these lines; returns the file."""
    file = folder / "samples.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [line if isinstance(line, bytes) else _text(line).encode() for line in lines]
    file.write_bytes(b"".join(part + b"\n" for part in parts))
    return file


def _text(line: dict[str, Any] | str) -> str:
    return line if isinstance(line, str) else json.dumps(line)


def test_sample_becomes_two_questions(tmp_path: Path) -> None:
    write(tmp_path, SAMPLE, "", changed(id="deep/S2"))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "S1.png").write_bytes(picture(1))
    exam = read(tmp_path, "mine")
    assert (exam.name, exam.kind, exam.subsets) == ("mine", "fepbench", {})
    assert [q.id for q in exam.questions] == ["S1/free", "S1/structured", "deep/S2/free", "deep/S2/structured"]
    free, structured = exam.questions[:2]
    assert (free.prompt, structured.prompt) == (SAMPLE["prompts"]["free"], SAMPLE["prompts"]["structured"])
    assert dict(structured.tags) == {
        "sample": "S1", "regime": "structured", "domain": "Biology & Medicine", "panel_type": "single",
        "aspect": "landscape", "regime_domain": "structured / Biology & Medicine",
    }  # fmt: skip
    assert free.rubric == structured.rubric == Atoms.model_validate(SAMPLE["atoms"])
    assert free.hash != structured.hash
    assert free.reference is not None
    assert free.reference.path == tmp_path / "images" / "S1.png"


def test_references_may_be_absent(tmp_path: Path) -> None:
    write(tmp_path, SAMPLE, changed(id="S2", image_path=...), changed(id="S3", image_path=None))
    exam = read(tmp_path)
    assert exam.notes == ("3 of 3 references are absent: judges do not need them, controls skip them",)
    assert [q.reference is None for q in exam.questions] == [False, False, True, True, True, True]


def test_atom_count_excludes_layout() -> None:
    assert Atoms.model_validate(SAMPLE["atoms"]).count == 6


@pytest.mark.parametrize("modality", MODALITIES)
@pytest.mark.parametrize(("place", "role"), [(0, "instruction"), (1, "reasoning")])
def test_every_modality_needs_atom_of_each_role(tmp_path: Path, modality: str, place: int, role: str) -> None:
    file = write(tmp_path, changed(f"atoms.{modality}.{place}"))
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert str(caught.value) == (
        f"{file}:1: id S1: atoms: the {modality} atoms include no {role} atom; the scores need at least one"
    )


WRONG: dict[str, tuple[dict[str, Any] | str | bytes, str]] = {
    "id too long": (changed(id="x" * 181), "id: .*at most 180 characters"),
    "no domain": (changed(id="S2", domain=...), "id S2: domain: Field required"),
    "unknown panel type": (changed(id="S2", panel_type="double"), "id S2: panel_type: .*'single' or 'multi'"),
    "one prompt only": (changed("prompts.structured", id="S2"), "id S2: prompts.structured: Field required"),
    "unknown field": (changed(id="S2", licence="free"), "id S2: licence: Extra inputs are not permitted"),
    "no atoms": (changed(id="S2", atoms=...), "id S2: atoms: Field required"),
    "panels of no number": (changed("atoms.layout.panel_count", 0, id="S2"), "atoms.layout.panel_count: "),
    "panels against the type": (
        changed("atoms.layout.panel_count", 3, id="S2"),
        "id S2: panel_type is single, but atoms.layout.panel_count is 3",
    ),
    "unknown role": (changed("atoms.text.1.role", "hidden", id="S2"), "id S2: atoms.text.t2.role: "),
    "atom without an id": (changed("atoms.text.1.id", id="S2"), "id S2: atoms.text.1.id: Field required"),
    "atom id with a slash": (changed("atoms.text.1.id", "a/b", id="S2"), "id S2: atoms.text.a/b.id: "),
    "atom id twice": (changed("atoms.text.1.id", "v1", id="S2"), "id S2: atoms: more than one atom is called v1"),
    "text without its place": (changed("atoms.text.0.attached_to", id="S2"), "id S2: atoms.text.t1.attached_to: Field"),
    "thing of no number": (changed("atoms.visual.0.count", 0, id="S2"), "id S2: atoms.visual.v1.count"),
    "relation from nothing": (changed("atoms.relation.0.source", id="S2"), "id S2: atoms.relation.r1.source: Field"),
    "unknown direction": (
        changed("atoms.relation.0.direction", "up", id="S2"),
        "atoms.relation.r1.direction: .*'both'",
    ),
    "field of another atom": (changed("atoms.text.0.count", 2, id="S2"), "id S2: atoms.text.t1.count: Extra inputs"),
    "escape sequence in a text": (
        changed("atoms.text.0.text", "\x1b[31m", id="S2"),
        "t1.text: it contains the control character",
    ),
    "image that is none": (changed(id="S2", image_path="text.png"), "text.png: not an image"),
}


@pytest.mark.parametrize(("line", "message"), WRONG.values(), ids=WRONG)
def test_invalid_sample_is_reported_with_line(tmp_path: Path, line: dict[str, Any] | str | bytes, message: str) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "text.png").write_text("no image")
    file = write(tmp_path, SAMPLE, line)
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert re.search(message, str(caught.value)), str(caught.value)
    assert f"{file}:2: " in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_schema_file_matches_models() -> None:
    """Where this fails, write the file anew: ``SCHEMA.write_text(schema())``."""
    assert SCHEMA.read_text("utf-8") == schema()


def test_schema_and_model_agree_on_sample() -> None:
    assert FEPBENCH.sample is not None
    for line in (FEPBENCH.sample / "samples.jsonl").read_text("utf-8").splitlines():
        body = json.loads(line)
        assert Sample.model_validate(body).model_dump(mode="json") == body
