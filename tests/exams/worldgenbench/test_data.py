"""The reader: every layout of the data, and everything that can be wrong with it, by file, line and id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError
from limner.exams.worldgenbench.data import CONTINENTS, DISCIPLINES, read
from tests.support import picture

ITEM = {"item": "A bell is shown.", "explanation": "It calls to prayer."}


def humanities(**more: Any) -> dict[str, Any]:
    return {"prompt": "A temple at dawn.", "country": "Nepal", "continent": "Asia", "checklist": [ITEM], **more}


def nature(**more: Any) -> dict[str, Any]:
    return {"prompt": "A titration curve.", "discipline": "Chemistry", "checklist": [ITEM, ITEM], **more}


def lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def listed(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", "utf-8")
    return path


def wrong(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read(path)
    return str(caught.value)


def test_folder_with_file_per_domain_is_read(tmp_path: Path) -> None:
    lines(tmp_path / "humanities.jsonl", humanities(id="a"), humanities(id="b", continent="AF"))
    listed(tmp_path / "nature.json", nature(id="c"), nature(id="d", discipline="BIO&MED"))
    exam = read(tmp_path, "mine")
    assert (exam.name, exam.kind, exam.notes) == ("mine", "worldgenbench", ())
    assert [(q.id, dict(q.tags), len(q.rubric.checklist)) for q in exam.questions] == [
        ("a", {"domain": "humanities", "continent": "AS", "country": "Nepal"}, 1),
        ("b", {"domain": "humanities", "continent": "AF", "country": "Nepal"}, 1),
        ("c", {"domain": "nature", "discipline": "CHEM"}, 2),
        ("d", {"domain": "nature", "discipline": "BIO&MED"}, 2),
    ]


@pytest.mark.parametrize("name", ["all.json", "all.jsonl"])
@pytest.mark.parametrize("write", [lines, listed])
def test_single_file_is_read_in_either_form_under_any_name(tmp_path: Path, name: str, write: Any) -> None:
    path = write(tmp_path / name, humanities(), nature())
    for place in (path, tmp_path):
        exam = read(place)
        assert [q.id for q in exam.questions] == ["all_1", "all_2"]
        assert [q.tags["domain"] for q in exam.questions] == ["humanities", "nature"]


def test_file_and_folder_names_supply_missing_tags(tmp_path: Path) -> None:
    bare = {"prompt": "Something.", "checklist": [ITEM]}
    listed(tmp_path / "Nature" / "Earth_Sciences.json", bare)
    lines(tmp_path / "humanities" / "north america" / "cuba.jsonl", {**bare, "country": "Cuba"})
    listed(tmp_path / "Physics.json", bare, {**bare, "discipline": "XDIS"})
    assert {q.id: dict(q.tags) for q in read(tmp_path).questions} == {
        "Nature/Earth_Sciences_1": {"domain": "nature", "discipline": "EASC"},
        "humanities/north america/cuba_1": {"domain": "humanities", "continent": "NA", "country": "Cuba"},
        "Physics_1": {"domain": "nature", "discipline": "PHYS"},
        "Physics_2": {"domain": "nature", "discipline": "XDIS"},
    }


@pytest.mark.parametrize(("short", "name"), [*CONTINENTS.items(), *DISCIPLINES.items()])
def test_names_and_abbreviations_are_accepted(tmp_path: Path, short: str, name: str) -> None:
    field = "continent" if short in CONTINENTS else "discipline"
    base = {"prompt": "Something.", "checklist": [ITEM]}
    spelt = [short, name, name.upper(), name.replace("&", "and"), name.replace(" ", "_"), name.replace("-", " ")]
    path = lines(tmp_path / "all.jsonl", *({**base, field: spelling} for spelling in spelt))
    assert {q.tags[field] for q in read(path).questions} == {short}


def test_references_are_optional(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture(1))
    rows = [nature(id="a", image_path="a.png"), nature(id="b", image_path="b.png"), nature(id="c", image_path=None)]
    exam = read(lines(tmp_path / "nature.jsonl", *rows))
    found = {q.id: q.reference for q in exam.questions}
    assert found["a"] is not None
    assert found["a"].sha256
    assert found["b"] is not None
    assert found["b"].sha256 is None
    assert found["c"] is None
    assert exam.notes == ("1 of 2 reference images are absent: controls skip those questions",)


def test_country_without_continent_is_noted(tmp_path: Path) -> None:
    exam = read(lines(tmp_path / "humanities.jsonl", humanities(continent=None), humanities()))
    assert exam.notes == ("1 of 2 prompts have no continent: --by continent lists them as (none)",)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (nature(prompt="\x1b[31m"), "prompt: it contains the control character U+001B"),
        (nature(checklist=[]), "checklist: it has no item"),
        (nature(checklist=[{"item": "", "explanation": "x"}]), "checklist.0.item: "),
        (nature(checklist=[ITEM, {"item": "x"}]), "checklist.1.explanation: Field required"),
        (nature(discipline="Alchemy"), "discipline: 'Alchemy' is not one of: Astronomy, Biology & Medicine"),
        (humanities(continent="Atlantis"), "continent: 'Atlantis' is not one of: Africa, Antarctica"),
        (humanities(domain="magic"), "domain: 'magic' is not one of: Humanities, Nature"),
        (nature(domain="humanities"), "a prompt of the domain humanities has a country or continent"),
        (humanities(domain="nature"), "a prompt of the domain nature has a discipline"),
        (nature(country="Peru"), "a prompt of the domain nature has a discipline, and no country"),
        ({"prompt": "x", "checklist": [ITEM]}, "domain: Field required"),
        (nature(image_path="../../secret.png"), "leaves the folder"),
    ],
)
@pytest.mark.parametrize("write", [lines, listed])
def test_invalid_row_is_reported_with_line(tmp_path: Path, write: Any, row: Any, message: str) -> None:
    path = write(tmp_path / "all.json", nature(id="good"), row)
    number = 2 if write is lines else 3
    error = wrong(path)
    assert error.startswith(f"{path}:{number}: ")
    assert message in error


def test_missing_or_unreadable_data_is_rejected(tmp_path: Path) -> None:
    assert "no prompt found" in wrong(tmp_path)
    assert "no prompt found" in wrong(listed(tmp_path / "all.json"))
    assert "cannot be read" in wrong(tmp_path / "nowhere.json")
    (tmp_path / "all.json").write_bytes(b"[\n\xff]")
    assert "all.json:2: not UTF-8" in wrong(tmp_path)
    (tmp_path / "all.json").write_text('[\n{"prompt": ]', "utf-8")
    assert "all.json:2: not JSON" in wrong(tmp_path)
    (tmp_path / "all.json").write_text("[" * 100_000, "utf-8")
    assert "not JSON" in wrong(tmp_path)
