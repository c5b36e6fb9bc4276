"""What a build writes: an exam that is read at once, with provenance, datasheet, card, metadata and canary."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from limner import exams
from limner.build import export as exporting
from limner.build.engine import Builder, Spending, change_build, with_models
from limner.build.export import ExportResult, export
from limner.build.records import load_build
from limner.core import settings
from limner.core.errors import UsageError
from limner.store import Store
from tests.build.llm import routes
from tests.build.material import built, pictures
from tests.build.scripted import scripted, write_provider

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    place = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch, scripted(*routes()) as llm, Store(place / "store") as store:
        patch.chdir(place)
        write_provider(place, llm)
        folder = pictures(place / "pics", 6)
        told = {"license": "all rights reserved", "page": "https://book.example/5", "author": "Ann"}
        (folder / "p002.json").write_text(json.dumps(told), "utf-8")
        yield built(store, folder)


@pytest.fixture(scope="module")
def made(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExportResult]:
    folder = tmp_path_factory.mktemp("out") / "school"
    return folder, export(build, folder, version="2.1.0", url="https://data.example/school")


def test_export_is_readable_as_exam(made: tuple[Path, ExportResult]) -> None:
    folder, result = made
    exam = exams.read(exams.resolve(str(folder / "exam.toml")))
    assert (exam.name, exam.kind, len(exam.questions)) == ("school", "genexam", 6)
    assert (result.questions, result.pictures, result.withheld) == (6, 5, 1)
    assert {question.tags["subject"] for question in exam.questions} <= {"Biology", "Music"}
    assert len(exam.subsets["mini"]) == 2
    (absent,) = (question for question in exam.questions if question.reference and question.reference.path is None)
    rows = {row["id"]: row for row in csv.DictReader((folder / "provenance.csv").open(encoding="utf-8"))}
    assert rows.keys() == {question.id for question in exam.questions}
    (lost,) = csv.DictReader((folder / "recover.csv").open(encoding="utf-8"))
    assert lost == rows[absent.id]
    assert (lost["licence"], lost["page"], lost["credit"], lost["origin"]) == (
        "all rights reserved", "https://book.example/5", "Ann", "pics/p002.png"
    )  # fmt: skip


def test_canary_is_in_data_and_pictures(made: tuple[Path, ExportResult]) -> None:
    folder, result = made
    found = sorted((folder / "data" / "images").rglob("*.png"))
    assert len(found) == 5
    for file in found:
        with Image.open(file) as image:
            image.load()
            assert image.info["canary"] == result.canary
    for name in ("CANARY.txt", "README.md", "DATASHEET.md", "metadata.jsonl"):
        assert result.canary in (folder / name).read_text("utf-8"), name


def test_datasheet_has_counts(made: tuple[Path, ExportResult]) -> None:
    text = (made[0] / "DATASHEET.md").read_text("utf-8")
    for words in ("| questions | 6 |", "| images | 6 | 6 | 40,000 |", "| all rights reserved | 1 |", "### difficulty",
                  "**6 items were not reviewed.**", "- [ ] every item was reviewed", "annotator: fake/llm",
                  "| points of a question | 3-3, mean 3.00 |"):  # fmt: skip
        assert words in text, words


def test_croissant_lists_questions_and_images(made: tuple[Path, ExportResult]) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    found = mlcroissant.Dataset(str(made[0] / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    assert found.metadata.url == "https://data.example/school"
    records = list(found.records("questions"))
    assert len(records) == 6
    assert {record["questions/canary"] for record in records} == {made[1].canary.encode()}
    assert {record["questions/tags"]["questions/tags/subject"] for record in records} <= {b"Biology", b"Music"}
    images = list(found.records("images"))
    assert {image["images/file_name"] for image in images} == {
        name for record in records if isinstance(name := record["questions/file_name"], bytes)
    }
    assert all(isinstance(image["images/content"], Image.Image) for image in images)
    assert len(images) == 5


def test_datasets_loads_images_and_objects(made: tuple[Path, ExportResult], tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    for n, given in enumerate(({"path": "imagefolder", "data_dir": str(made[0])}, {"path": str(made[0])})):
        rows = datasets.load_dataset(**given, split="train", cache_dir=str(tmp_path / str(n)))
        assert isinstance(rows.features["image"], datasets.Image)
        assert len(rows) == 6
        assert sum(isinstance(row["image"], Image.Image) for row in rows) == 5
        assert all(row["tags"]["subject"] in ("Biology", "Music") for row in rows)
        assert all(point["score"] for row in rows for point in row["rubric"]["scoring_points"])
        assert sum("mini" in row["subsets"] for row in rows) == 2


def test_exam_whose_pictures_are_all_withheld_loads(
    build: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr("limner.build.export.OPEN_LICENCES", ())
    result = export(build, tmp_path / "closed")
    assert (result.pictures, result.withheld) == (0, 6)
    rows = datasets.load_dataset(str(tmp_path / "closed"), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(rows) == 6
    assert "image" not in rows.features


def test_numbers_beside_texts_become_texts_and_booleans_stay() -> None:
    rubrics = [{"count": 2, "there": True, "weight": 0.5}, {"count": "several", "there": False, "weight": 1}]
    texts = {path for path, (_, kind) in exporting._leaves(rubrics).items() if kind == "sc:Text"}
    assert [exporting._as_text(rubric, texts) for rubric in rubrics] == [
        {"count": "2", "there": True, "weight": 0.5}, {"count": "several", "there": False, "weight": 1}
    ]  # fmt: skip


def test_licences_can_be_allowed_and_folder_must_be_empty(build: Builder, tmp_path: Path) -> None:
    result = export(build, tmp_path / "all", pass_on=["All rights reserved"])
    assert (result.pictures, result.withheld, (tmp_path / "all" / "recover.csv").exists()) == (6, 0, False)
    with pytest.raises(UsageError, match="not an empty folder"):
        export(build, tmp_path / "all")


def test_export_without_items_writes_no_files(build: Builder, tmp_path: Path) -> None:
    changed = change_build(build.store, load_build(build.store, "school"), settings=["review.reviewers=3"], keep=False)
    waiting = with_models(changed, settings.load(Path("limner.toml")))
    waiting.run(Spending())
    with pytest.raises(UsageError, match="has passed its last step"):
        export(waiting, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_search_words_are_off_the_path_of_questions(build: Builder) -> None:
    """Turning them on asks for search words only, and reviews and classes stay what they were."""
    build.run(Spending())
    before = build.look()[1]
    assert "keywords" not in [place.name for place in build.recipe.places]
    changed = change_build(build.store, load_build(build.store, "school"), settings=["keywords.off=false"], keep=False)
    with scripted(*routes()) as llm:
        write_provider(Path(), llm)
        with_words = with_models(changed, settings.load())
        with_words.run(Spending())
        assert {mark for mark, _ in llm.heard} == {"write search words"}
        counts, items = with_words.look()
    assert {id: item for id, item in items.items() if item.sort == "image"} == {
        id: item for id, item in before.items() if item.sort == "image"
    }
    assert next(count for count in counts if count.place == "keywords").kept > 10
