"""The samples of the declared exams: their pictures and keys are those that the program draws and writes."""

from __future__ import annotations

import csv
import io
import json

import pytest
from PIL import Image, ImageChops
from tools.samples.declared import EDITS, WHOLE, key_lines, pictures, start

from limner.exams import EXAMS, SHIPPED, kind, read, resolve
from limner.exams.key import key_folder
from limner.exams.paper import rows
from limner.judges.ocr.demands import claim_of
from tests.cli.invoke import limner

DECLARED = [name for name in EXAMS.own() if name not in SHIPPED]
LABELS = {
    "sepals": "Sepal",
    "magma chamber": "Magma chamber",
    "ash cloud": "Ash cloud",
    "arrows of evaporation": "Evaporation",
    "Moon": "Moon",
    "arrow 'Dispatch'": "Dispatch",
    "arrow 'Exit'": "Exit",
    "load": "12 kN",
    "double arrow": "Surplus",
    "axis of symmetry": "x = 1",
}
"""Missing part -> its label, which gives the answer away; the other parts have none."""
each_exam = pytest.mark.parametrize("name", DECLARED)


def test_all_declared_exams_are_drawn() -> None:
    assert sorted((*WHOLE, *EDITS)) == sorted(DECLARED)


@pytest.mark.slow
@each_exam
def test_redrawing_gives_same_pixels(name: str) -> None:
    folder = kind(name).sample
    assert folder is not None
    drawn = dict(pictures(name))
    assert {folder / path for path in drawn} == set(folder.rglob("*.png"))
    for path, data in drawn.items():
        with Image.open(io.BytesIO(data)) as new, Image.open(folder / path) as old:
            # Releases of Pillow may shade the rim of a letter or choose a palette differently.
            difference = ImageChops.difference(new.convert("RGB"), old.convert("RGB")).convert("L")
            assert sum(difference.histogram()[48:]) <= 0.001 * new.width * new.height, path


@each_exam
def test_key_is_the_written_one(name: str) -> None:
    folder = key_folder(kind(name))
    assert folder is not None
    shipped = [json.loads(line) for line in (folder / "key.jsonl").read_text("utf-8").splitlines()]
    assert shipped == json.loads(json.dumps(list(key_lines(name))))


@each_exam
def test_editing_starts_from_a_picture_that_is_not_the_result(name: str) -> None:
    for question in read(resolve(f"sample/{name}")).questions:
        assert question.reference is not None
        assert len(question.inputs) == (name in EDITS)
        assert question.reference.sha256 not in {picture.sha256 for picture in question.inputs}


@pytest.mark.parametrize("name", EDITS)
def test_editing_starts_without_label_of_missing_part(name: str) -> None:
    for _, drawing, part in EDITS[name].values():
        label = LABELS.get(part)
        assert sorted([*start(drawing, part).words, *([label] if label else [])]) == sorted(drawing().words)


@pytest.mark.parametrize("name", EDITS)
def test_controls_have_their_known_scores(name: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    painters = [word for control in ("reference", "unchanged", "blank") for word in ("--painter", f"control/{control}")]
    limner("run", f"sample/{name}", *painters, "--judge", "key")
    main = kind(name).protocol.scored[0].name
    found = limner("scores", f"sample/{name}", "--format", "json").json()
    values = {each["painter"].removeprefix("control/"): each["scores"][main]["value"] for each in found}
    assert (values["reference"], values["blank"]) == (100, 0)
    assert 0 <= values["unchanged"] < 100


@pytest.mark.parametrize(
    ("name", "id", "criterion"), [("corebench", "C-TR-001", "points/1"), ("grade", "biology_1", "points/2")]
)
def test_ocr_examiner_decides_questions_about_words(name: str, id: str, criterion: str) -> None:
    protocol = kind(name).protocol
    question = read(resolve(f"sample/{name}")).find(id)
    assert question is not None
    (asked,) = (each for each in protocol.criteria(question) if each.id == criterion)
    assert asked.kind in protocol.label_kinds
    assert claim_of(asked) is not None


def test_tag_called_dimension_is_broken_down_by_its_values(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exams have dimensions of their own, which a breakdown by this word shows otherwise."""
    monkeypatch.chdir(str(tmp_path))
    for exam in ("corebench", "krisbench"):
        limner("run", f"sample/{exam}", "--painter", "control/reference", "--judge", "key")
        (found,) = limner("scores", f"sample/{exam}", "--by", "dimension", "--format", "json").json()
        wanted = {question.tags["dimension"] for question in read(resolve(f"sample/{exam}")).questions}
        assert found["by"]["dimension"].keys() == wanted
        assert "by dimension" in limner("scores", f"sample/{exam}", "--by", "dimension").out


@each_exam
def test_table_shows_published_figures_and_sample(name: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    limner("run", f"sample/{name}", "--painter", "control/reference", "--judge", "key")
    lines = limner("table", f"{name}:leaderboard", "--format", "csv").out.splitlines()
    sources = [line["source"] for line in csv.DictReader(lines)]
    newest = rows(name)[0]["table"]
    assert sources.count("published") == len({row["model"] for row in rows(name) if row["table"] == newest})
    assert sources[-1] == "store"
