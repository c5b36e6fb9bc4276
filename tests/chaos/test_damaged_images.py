"""Images that are no longer what their hash says: never marked, fetched again where free, never redrawn unasked."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from limner.store import Store
from tests.chaos.exam_run import ExamRun, damage
from tests.chaos.exam_run import make as make_run
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.painters.studio import JOBS, PRICE, Make
from tests.painters.studio import make as make
from tests.painters.studio import servers as servers
from tests.support import expected_scores, picture


@pytest.fixture
def world(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ExamRun:
    return make_run(tmp_path, chat, monkeypatch)


def scores(world: ExamRun) -> dict[str, dict[str, float]]:
    lines = limner("export", "genexam", "--store", "store").lines()
    names = ("strict", "relaxed", "semantic")
    return {line["id"]: {name: line["scores"][name] for name in names} for line in lines}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["flipped", "gone"])
def test_marking_restores_damaged_image_from_its_folder(world: ExamRun, how: str) -> None:
    world.draw()
    blob = world.blob()
    data = damage(blob, how)
    assert world.mark().json()["failed"] == 0
    assert blob.read_bytes() == data
    assert scores(world) == expected_scores(world.exam, world.chat, 1)


@pytest.mark.slow
def test_run_restores_damaged_image_from_its_folder(world: ExamRun) -> None:
    world.draw()
    blob = world.blob()
    data = damage(blob, "truncated")
    assert world.run().json()["failed"] == 0
    assert blob.read_bytes() == data
    assert scores(world) == expected_scores(world.exam, world.chat, 1)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["empty", "gone"])
def test_damaged_image_that_cannot_be_restored_is_named_fault(world: ExamRun, how: str) -> None:
    """The other three are marked; the folder now has a different image, which cannot replace the damaged one."""
    world.draw()
    first = world.drawings()[0]
    data = damage(world.blob(), how)
    world.exam.drawing(first.question_id).write_bytes(picture(999))
    result = world.mark(code=3)
    named = "missing" if how == "gone" else "damaged"
    assert (result.json()["failures"], world.asked()) == ({named: 1}, 3)
    (failed,) = (marking for marking in world.markings() if marking.status == "failed")
    assert (failed.drawing, failed.fault) == (first.id, named)
    assert str(first.image) in str(failed.detail)
    assert "limner verify" in str(failed.detail)
    assert world.drawings()[0].status == "done"
    # It comes back, and the next run marks it without being told to.
    (world.store / "blobs" / str(first.image)[:2] / f"{first.image}.png").write_bytes(data)
    assert world.mark().json()["failed"] == 0
    assert world.asked() == 4


@pytest.mark.slow
def test_ocr_examiner_and_evidence_refuse_damaged_images(world: ExamRun) -> None:
    world.draw()
    damage(world.blob(), "flipped")
    world.exam.drawings.rename(world.folder / "elsewhere")
    result = limner("mark", "genexam", "--judge", "ocr", "--store", "store", "--format=json", code=3)
    assert result.json()["failures"] == {"damaged": 1}
    result = limner("evidence", "genexam", "--ocr", "rapidocr", "--store", "store", "--format=json", code=3)
    assert result.json()["failures"] == {"damaged": 1}


@pytest.mark.slow
def test_damaged_reference_is_named_fault_and_restored_from_data(world: ExamRun) -> None:
    world.draw()
    reference = hashlib.sha256((world.exam.data / "images" / world.exam.rows[0]["image_path"]).read_bytes()).hexdigest()
    (blob,) = (world.store / "blobs").rglob(f"{reference}.*")
    data = damage(blob, "truncated")
    assert world.mark(code=3).json()["failures"] == {"damaged": 1}
    assert world.asked() == 3
    assert world.run().json()["failed"] == 0
    assert blob.read_bytes() == data


def test_damaged_image_is_neither_exported_nor_shown_on_site(world: ExamRun) -> None:
    world.run()
    image = world.drawings()[0].image
    bad = damage(world.blob(), "flipped")
    changed = world.blob().read_bytes()
    assert changed != bad
    result = limner("export", "genexam", "--store", "store", "--images", "out", code=1)
    assert f"image {image}" in result.err
    assert "damaged" in result.err
    limner("report", "--store", "store", "--output", "site")
    assert not any(path.read_bytes() == changed for path in Path("site").rglob("*") if path.is_file())


def blob_of(store: Store, image: bytes) -> Path:
    (path,) = Path(store.blobs.root).rglob(f"{hashlib.sha256(image).hexdigest()}.*")
    return path


@pytest.mark.parametrize("name", JOBS)
def test_damaged_image_is_fetched_again_from_stored_job(make: Make, store: Store, name: str) -> None:
    studio = make(name)
    first = studio.paint()
    for how in ("truncated", "flipped", "empty", "gone"):
        blob = blob_of(store, first.image)
        damage(blob, how)
        assert studio.paint().image == first.image == blob.read_bytes()
    assert (studio.paid(), studio.tries()) == ([1], [(None, PRICE)])


@pytest.mark.parametrize("name", JOBS)
def test_expired_job_is_resubmitted_only_with_retry_failed(make: Make, store: Store, name: str) -> None:
    studio = make(name)
    first = studio.paint()
    damage(blob_of(store, first.image), "truncated")
    studio.server.reset()  # The service has forgotten the job.
    for _ in range(2):
        assert (studio.fail().kind, studio.paid()) == ("damaged", [])
    # Asked for, it is drawn and paid again.
    assert studio.paint(retry_failed=True).image == first.image
    assert studio.tries() == [(None, PRICE), (None, PRICE)]
    assert studio.paint().image == first.image
    assert studio.paid() == [1]


def test_damaged_image_is_fetched_again_by_stored_link(make: Make, store: Store) -> None:
    studio = make("openai", "Qwen/Qwen-Image", options={"response_format": "url"}, seeds=True)
    first = studio.paint()
    damage(blob_of(store, first.image), "truncated")
    assert studio.paint().image == first.image == blob_of(store, first.image).read_bytes()
    assert len(studio.sent()) == 1


def test_image_from_reply_is_redrawn_only_with_retry_failed(make: Make, store: Store) -> None:
    studio = make("openai")
    first = studio.paint()
    damage(blob_of(store, first.image), "truncated")
    fault = studio.fail()
    assert (fault.kind, len(studio.sent())) == ("damaged", 1)
    assert "--retry-failed" in fault.detail
    for _ in range(2):
        studio.paint(retry_failed=True)
        assert len(studio.sent()) == 2
