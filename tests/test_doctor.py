"""The machine's check-up: each finding says what it saw and what to do."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from limner import doctor
from limner.doctor import REGISTRIES, Check, examine, is_network
from limner.store import Store
from limner.store.schema import VERSION
from tests.s3 import FailingBucket, told
from tests.store.openers import set_version

Part = namedtuple("Part", "mountpoint fstype")
Usage = namedtuple("Usage", "free")


@pytest.fixture
def no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_ocr", lambda: Check("OCR", "ok", "not looked at"))


def found(store: str | Path) -> dict[str, Check]:
    return {check.name: check for check in examine(str(store))}


@pytest.mark.usefixtures("no_ocr")
def test_healthy_machine_passes_all_checks(tmp_path: Path) -> None:
    checks = found(tmp_path / "store")
    assert list(checks) == [
        "python",
        "store",
        "file system",
        "disk",
        "OCR",
        "settings",
        "your services",
        "models",
        *REGISTRIES,
    ]
    assert checks["store"].detail.endswith("does not exist yet; the first run creates it")
    assert "genexam" in checks["exams"].detail
    assert "folder" in checks["painters"].detail
    assert all(checks[name].state == "ok" for name in REGISTRIES)
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
def test_text_recognition_works() -> None:
    check = doctor._ocr()
    assert (check.state, check.name) == ("ok", "OCR")
    assert "Limner reads" in check.detail or "Limnerreads" in check.detail


@pytest.mark.usefixtures("no_ocr")
def test_existing_store_is_reported_with_version(tmp_path: Path) -> None:
    Store(tmp_path / "store").close()
    assert found(tmp_path / "store")["store"].detail.endswith(f"opens; version {VERSION}; judge setups: 0")


@pytest.mark.usefixtures("no_ocr")
def test_store_of_another_version_is_bad(tmp_path: Path) -> None:
    set_version(str(tmp_path), str(VERSION + 1))
    check = found(tmp_path)["store"]
    assert check.state == "bad"
    assert f"has version {VERSION + 1}, and this Limner reads only version" in check.detail


@pytest.mark.usefixtures("no_ocr")
def test_broken_store_is_bad(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "limner.db").write_bytes(b"no database at all" * 100)
    check = found(tmp_path / "store")["store"]
    assert (check.state, "cannot be opened" in check.detail) == ("bad", True)


@pytest.mark.usefixtures("no_ocr")
@pytest.mark.parametrize(("kind", "state"), [("nfs4", "bad"), ("fuse.sshfs", "bad"), ("ext4", "ok")])
def test_network_file_system_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, state: str) -> None:
    parts = [Part("/", "ext4"), Part(str(tmp_path), kind), Part("/elsewhere", "nfs")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: parts)
    check = found(tmp_path / "store")["file system"]
    assert check.state == state
    assert f"{tmp_path} is on {kind}" in check.detail
    assert ("use a local disk or PostgreSQL" in check.detail) == (state == "bad")


@pytest.mark.parametrize(
    ("kind", "network"),
    [("nfs", True), ("cifs", True), ("fuse.s3fs", True), ("fuse.overlayfs", False), ("overlay", False), ("xfs", False)],
)
def test_network_file_systems_are_recognised(kind: str, network: bool) -> None:
    assert is_network(kind) == network


@pytest.mark.usefixtures("no_ocr")
@pytest.mark.parametrize(("free", "state"), [(2**29, "bad"), (2**31, "ok")])
def test_low_disk_space_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(free))
    check = found(tmp_path)["disk"]
    assert (check.state, check.detail) == (state, f"{free / 2**30:.1f} GiB free at {tmp_path}")


@pytest.mark.usefixtures("no_ocr")
def test_database_server_needs_no_file_system_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_store", lambda store: Check("store", "ok", ""))
    assert found("postgresql://localhost/x?blobs=y")["file system"].detail == "the store is a database server"


@pytest.mark.usefixtures("no_ocr")
def test_services_with_keys_are_named_and_keys_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    checks = found(tmp_path)
    assert checks["settings"].state == "ok"
    assert "openai" in checks["settings"].detail.split(";")[0]
    assert not any("sk-very-secret" in check.detail for check in checks.values())


@pytest.mark.usefixtures("no_ocr")
def test_exception_in_check_is_reported_as_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(folder: object) -> None:
        raise PermissionError("no way in")

    monkeypatch.setattr("shutil.disk_usage", broken)
    assert found(tmp_path)["disk"] == Check("disk", "bad", "PermissionError: no way in")


def test_inaccessible_bucket_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("obstore", reason="buckets come with limner[s3]")
    url = f"sqlite:///{tmp_path}/results.db?blobs=s3://some-bucket"
    with FailingBucket() as bucket, told(bucket.url):
        Store(url).close()
        assert doctor._store(url).state == "ok"
        bucket.plan = [403]
        check = next(check for check in examine(url) if check.name == "store")
    assert (check.state, "the keys in the environment lack permissions" in check.detail) == ("bad", True)
    assert doctor._folder(url) == tmp_path
