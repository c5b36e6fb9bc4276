"""A folder of finished images: which file stands for which question, and which files do not."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams, run
from limner.calls import Calls, Fault
from limner.core.errors import UsageError
from limner.core.exam import Selection
from limner.core.images import MAX_BYTES
from limner.painters import FolderPainter, Painting, PaintRequest
from limner.painters.folder import match_names
from limner.store import Store
from limner.store.records import load_drawings
from tests.support import picture


def fill(folder: Path, *names: str) -> FolderPainter:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(number))
    return FolderPainter("mine", "folder/x", folder)


@pytest.mark.parametrize("name", ["Q_1.png", "Q_1.webp", "Q_1.JpG", "q_1.png"])
def test_file_of_question_is_found(tmp_path: Path, name: str) -> None:
    assert fill(tmp_path, "other.png", name).find("Q_1") == tmp_path / name


@pytest.mark.parametrize("id", ["deep/er/Q_1", "ä-図"])
def test_unusual_ids_are_found(tmp_path: Path, id: str) -> None:
    assert fill(tmp_path, f"{id}.png").find(id) == tmp_path / f"{id}.png"


def test_file_in_subfolder_belongs_to_another_question(tmp_path: Path) -> None:
    with pytest.raises(Fault, match=r"Q_1: no file Q_1\{\.png,\.jpg,\.jpeg,\.webp\} in ") as caught:
        fill(tmp_path, "sub/Q_1.png").find("Q_1")
    assert caught.value.kind == "missing"


@pytest.mark.parametrize("names", [("Q_1.jpg", "Q_1.png"), ("Q_1.PNG", "Q_1.png"), ("q_1.jpg", "q_1.png")])
def test_several_files_for_one_question_are_reported(tmp_path: Path, names: tuple[str, ...]) -> None:
    painter = fill(tmp_path, *names)
    with pytest.raises(Fault, match=rf"Q_1: several files fit: {names[0]}, {names[1]}; keep one of them") as caught:
        painter.find("Q_1")
    assert caught.value.kind == "missing"
    assert painter.collisions() == [list(names)]


def test_names_differing_only_in_case(tmp_path: Path) -> None:
    """Each file is found by its exact id, another spelling is not guessed, and the collision is reported."""
    painter = fill(tmp_path, "Q_a.png", "Q_A.png", "other.png")
    assert painter.find("Q_a") == tmp_path / "Q_a.png"
    assert painter.find("Q_A") == tmp_path / "Q_A.png"
    with pytest.raises(Fault, match="several files fit"):
        painter.find("q_a")
    assert painter.collisions() == [["Q_A.png", "Q_a.png"]]


@pytest.mark.parametrize("name", ["notes.txt", ".png", "Q_1.svg"])
def test_files_without_image_suffix_are_ignored(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"folder/x: no image \(\.png, \.jpg, \.jpeg, \.webp\) in "):
        fill(tmp_path, name)


def test_similar_folder_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "drawings").mkdir()
    with pytest.raises(UsageError, match=r"no such folder: .*drawngs; did you mean drawings\?$"):
        FolderPainter("mine", "folder/x", tmp_path / "drawngs")


def test_misnamed_files_are_found(tmp_path: Path) -> None:
    painter = fill(tmp_path, "Q_1.png", "q-2.jpg", "sub/Q_3.webp", "other.png", "q_9.png")
    known = ["Q_1", "Q_2", "Q_3", "Q_4", "Q_9"]
    assert [id for id in known if painter.lacks(id)] == ["Q_2", "Q_3", "Q_4"]
    assert painter.misnamed(known, known) == [("q-2.jpg", "Q_2.jpg"), ("sub/Q_3.webp", "Q_3.webp")]
    assert painter.misnamed(["Q_1", "Q_2"], known) == [("q-2.jpg", "Q_2.jpg")]
    # The image of another question is not misnamed.
    assert painter.misnamed(["Q-1"], ["Q-1", "Q_1"]) == []


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out.png"
    outside.write_bytes(picture(1))
    painter = fill(folder, "a.png")
    (folder / "b.png").symlink_to(outside)
    (folder / "c.png").symlink_to(folder / "a.png")
    painter = FolderPainter("mine", "folder/x", folder)
    with pytest.raises(Fault, match=r"b\.png leads out of the folder through a link"):
        painter.find("b")
    assert painter.find("c") == folder / "c.png"


def test_linked_folder_is_not_followed(tmp_path: Path) -> None:
    fill(tmp_path / "out", "b.png")
    fill(tmp_path / "in", "a.png")
    (tmp_path / "in" / "sub").symlink_to(tmp_path / "out")
    with pytest.raises(Fault, match="no file"):
        FolderPainter("mine", "folder/x", tmp_path / "in").find("sub/b")


@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling"])
def test_non_regular_file_is_reported_missing(tmp_path: Path, kind: str) -> None:
    """A pipe in particular would be waited for without end."""
    path = tmp_path / "Q_1.png"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "gone.png")
    with pytest.raises(Fault, match="Q_1") as caught:
        fill(tmp_path, "other.png").find("Q_1")
    assert caught.value.kind == "missing"


def paint(painter: FolderPainter, store: Store, id: str) -> Painting:
    return asyncio.run(painter.paint(PaintRequest(id, "Draw."), Calls(store)))


def test_painting_reads_file(tmp_path: Path, store: Store) -> None:
    found = paint(fill(tmp_path / "in", "sub/Q_1.png"), store, "sub/Q_1")
    assert (found.image, found.cost, found.notes) == (picture(0), 0.0, {"file": "sub/Q_1.png"})


def test_oversized_file_is_not_read(tmp_path: Path, store: Store) -> None:
    painter = fill(tmp_path / "in", "Q_1.png")
    with (tmp_path / "in" / "Q_1.png").open("ab") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(Fault, match="bytes; the limit is") as caught:
        paint(painter, store, "Q_1")
    assert caught.value.kind == "image"


NAMES = st.lists(st.text(alphabet="abAB_-1/ 20é", max_size=8), max_size=12)


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("Biology_12", "biology-12"),
        ("Biology_12", "Biology/Biology_12"),
        ("Biology_12", "gpt-image_Biology_12_v2"),
        ("Biology_12", "Bioloy_12"),
        ("Straße", "strasse"),
    ],
)
def test_intended_names_are_matched(id: str, name: str) -> None:
    assert match_names([id], [name]) == {name: id}


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("Biology_1", "Biology_11"),
        ("Biology_1", "Music_1"),
        ("", "_"),
    ],
)
def test_unintended_names_are_not_matched(id: str, name: str) -> None:
    assert match_names([id], [name]) == {}


def test_ambiguous_names_are_not_matched() -> None:
    assert match_names(["Q_1"], ["q-1", "q.1"]) == {}
    assert match_names(["Q_1", "q-1"], ["q 1"]) == {}
    # The plainer one goes first, and what it takes stands in nobody's way.
    assert match_names(["Q_1", "Q_1b"], ["q-1", "q-1-b"]) == {"q-1": "Q_1", "q-1-b": "Q_1b"}


@given(NAMES, NAMES)
def test_no_id_is_matched_twice(ids: list[str], names: list[str]) -> None:
    found = match_names(ids, names)
    assert set(found) <= set(names)
    assert set(found.values()) <= set(ids)
    assert len(set(found.values())) == len(found)


@given(st.lists(st.integers(0, 999), unique=True, max_size=20), st.sampled_from(["q{}", "x/Q_{}", "Q-{:04}", "Qq_{}"]))
def test_folder_with_consistent_naming_rule_is_fully_matched(numbers: list[int], rule: str) -> None:
    found = match_names([f"Q_{n}" for n in numbers], [rule.format(n) for n in numbers])
    if rule != "Qq_{}":
        assert found == {rule.format(n): f"Q_{n}" for n in numbers}
    else:  # Too short to tell a slip from another word.
        assert found == {}


def test_files_in_folders_of_levels_are_found(tmp_path: Path) -> None:
    places = ("preschool/preschool_Biology_1", "PhD/PhD_Math_2", "PhD/two", "Math/two", "own", "PhD/own", "draft/late")
    fill(tmp_path, *(f"{place}.png" for place in places))
    tags = {name: {"PhD", "Math"} for name in ("PhD_Math_2", "two", "own", "late")}
    tags["preschool_Biology_1"] = {"preschool", "Biology"}
    painter = FolderPainter("mine", f"folder/{tmp_path}", tmp_path, tags)
    assert painter.find("preschool_Biology_1") == tmp_path / "preschool" / "preschool_Biology_1.png"
    assert painter.find("own") == tmp_path / "own.png"
    assert [id for id in [*tags, "PhD_Math_3"] if painter.lacks(id)] == ["late", "PhD_Math_3"]
    with pytest.raises(Fault, match="two: several files fit"):
        painter.find("two")


def test_painter_knows_the_levels_of_its_exam(tmp_path: Path, store: Store) -> None:
    exam = exams.read(exams.resolve("sample/mmmg"))
    question = exam.questions[0]
    fill(tmp_path, f"{question.tags['level']}/{question.id}.png")
    run("sample/mmmg", painters=[f"mine=folder/{tmp_path}"], store=store, selection=Selection(limit=1))
    (drawing,) = load_drawings(store, "sample/mmmg")
    assert drawing.status == "done"
