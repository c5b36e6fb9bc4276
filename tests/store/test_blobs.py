"""Images by content: written whole or not at all, kept once, found again, refused when they are none."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest

from limner.core.errors import DamagedImage, LostImage, StoreError
from limner.core.faults import Fault
from limner.core.images import MAX_BYTES, SUFFIXES, BadImage
from limner.store import Blobs
from limner.store.blobs import PLACE_BYTES
from tests.support import picture


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.slow)])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    places = {"folder": str(tmp_path / "blobs"), "memory": f"memory://{tmp_path.name}/blobs"}
    yield Blobs(places.get(request.param) or f"{request.getfixturevalue('bucket')}/{tmp_path.name}")
    fsspec.filesystem("memory").store.clear()


def files(blobs: Blobs) -> list[str]:
    return [name for name, _ in blobs.names()]


def test_images_are_read_back_by_hash(blobs: Blobs) -> None:
    names = set()
    for kind, suffix in SUFFIXES.items():
        data = picture(7, kind)
        sha256, info = blobs.put(data)
        assert sha256 == hashlib.sha256(data).hexdigest()
        assert (info.format, info.width, info.height, info.suffix) == (kind, 8, 8, suffix)
        assert blobs.get(sha256) == data
        names.add(f"{sha256[:2]}/{sha256}.{suffix}")
    assert set(files(blobs)) == names


def test_invalid_image_is_rejected(blobs: Blobs) -> None:
    for data in (b"", b"no image", b"<svg xmlns='http://www.w3.org/2000/svg'/>", picture(1)[:20]):
        with pytest.raises(BadImage):
            blobs.put(data)
    assert files(blobs) == []


def test_image_not_matching_its_hash_is_reported_damaged(blobs: Blobs) -> None:
    sha256, _ = blobs.put(picture(1))
    for harm in (b"", picture(1)[:-3], picture(2), b"something else"):
        blobs._files.write(f"{sha256[:2]}/{sha256}.png", harm)
        with pytest.raises(DamagedImage, match=rf"image {sha256} is damaged: .*limner verify --repair"):
            blobs.get(sha256)
        # Storing it again mends it.
        assert blobs.put(picture(1))[0] == sha256
        assert blobs.get(sha256) == picture(1)


def test_many_images_are_read_in_order_with_missing_ones_marked(blobs: Blobs) -> None:
    names = [blobs.put(picture(n))[0] for n in range(20)]
    wanted = [*names[:7], "abc123", *names[7:]]
    found = list(blobs.each(wanted))
    assert [sha256 for sha256, _ in found] == wanted
    assert isinstance(found[7][1], LostImage)
    assert [data for _, data in found if not isinstance(data, LostImage)] == [picture(n) for n in range(20)]


def test_file_can_be_quarantined_or_removed(blobs: Blobs) -> None:
    blobs.check()
    for n in range(3):
        blobs.put(picture(n))
    first, second, third = files(blobs)
    blobs.set_aside(first)
    blobs.remove(second)
    assert files(blobs) == [third]
    assert blobs._files.read(f"orphans/{first.rpartition('/')[2]}")


def test_concurrent_writes_of_one_image_store_one_file(blobs: Blobs) -> None:
    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(lambda _: blobs.put(picture(1))[0], range(64)))
    assert len(names) == len(files(blobs)) == 1


def test_existing_image_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(str(tmp_path))
    blobs.put(picture(1))
    monkeypatch.setattr("secrets.token_hex", lambda *_, **__: pytest.fail("written again"))
    blobs.put(picture(1))


def test_file_is_renamed_only_when_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there before the rename is a temporary file in the same folder, with all bytes on disk."""
    seen: list[tuple[bytes, Path, list[str]]] = []
    synced: list[int] = []
    replace, fsync = os.replace, os.fsync

    def watch(source: str, target: Path) -> None:
        assert synced
        seen.append((Path(source).read_bytes(), Path(source).parent, [f.name for f in target.parent.iterdir()]))
        replace(source, target)

    def note(handle: int) -> None:
        synced.append(handle)
        fsync(handle)

    monkeypatch.setattr("os.replace", watch)
    monkeypatch.setattr("os.fsync", note)
    sha256, _ = Blobs(str(tmp_path)).put(picture(1))
    ((data, parent, names),) = seen
    assert (data, parent) == (picture(1), tmp_path / sha256[:2])
    assert len(names) == 1
    assert names[0].startswith(".part-")


def test_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(
        StoreError, match=r"No space left.*its disk is full: free some space, then run the same command again"
    ):
        Blobs(str(tmp_path)).put(picture(1))
    assert files(Blobs(str(tmp_path))) == []


def test_blob_behind_link_pipe_or_endless_file_is_not_read(tmp_path: Path) -> None:
    """A link to an endless device would fill the memory, and a pipe would wait for ever."""
    blobs = Blobs(str(tmp_path / "blobs"))
    sha256, _ = blobs.put(picture(1))
    place = tmp_path / "blobs" / sha256[:2] / f"{sha256}.png"
    aside = place.rename(tmp_path / "aside.png")

    def endless() -> None:
        place.touch()
        os.truncate(place, 2**40)

    harms: list[Callable[[], None]] = [
        lambda: place.symlink_to("/dev/zero"),
        lambda: place.symlink_to(aside),
        lambda: os.mkfifo(place),
        endless,
    ]
    for make in harms:
        make()
        with pytest.raises(LostImage):
            blobs.get(sha256)
        place.unlink()
    place.parent.rmdir()
    place.parent.symlink_to(tmp_path)
    aside.rename(tmp_path / place.name)
    with pytest.raises(LostImage):
        blobs.get(sha256)


def test_deleted_folder_stops_reading_and_writing(tmp_path: Path) -> None:
    blobs = Blobs(str(tmp_path / "blobs"))
    sha256, _ = blobs.put(picture(1))
    shutil.rmtree(tmp_path / "blobs")
    for use in (lambda: blobs.get(sha256), lambda: blobs.put(picture(2))):
        with pytest.raises(StoreError, match="was deleted or moved while in use; put it back"):
            use()


def test_calls_in_flight_keep_room_for_their_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(str(tmp_path / "blobs"))
    monkeypatch.setattr(blobs._files, "free_bytes", lambda: MAX_BYTES + PLACE_BYTES)
    refused = pytest.raises(Fault, match="has 80 MiB free, and 96 MiB are needed; free some space")
    with blobs.place(), blobs.place(), refused, blobs.place():
        pass
    with blobs.place():
        pass


def test_call_needs_room_for_the_largest_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With less, a run would pay for the same large image at each start, and could never store it."""
    blobs = Blobs(str(tmp_path / "blobs"))
    monkeypatch.setattr(blobs._files, "free_bytes", lambda: MAX_BYTES - 1)
    with pytest.raises(Fault, match="64 MiB are needed"), blobs.place():
        pass


def test_folder_that_cannot_be_written_is_reported_before_anything_is_paid_for() -> None:
    with pytest.raises(StoreError, match="/proc/limner"):
        Blobs("/proc/limner").check()
