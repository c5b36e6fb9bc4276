"""Released data is downloaded from a fake hub: whole, broken, slow, short, wrong, or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError, LimnerError
from limner.exams import DataSource, kind
from limner.running import get_data
from limner.running.get_data import download, look_up, unpack
from tests.cli.invoke import limner
from tests.support import SmallExam

NAME = "GenExam_data.zip"


@dataclass
class Hub:
    """A fake of Hugging Face with one file.

    Attributes:
        content: The file.
        breaks: After so many bytes each of the next answers breaks off.
        pause_s: The pause in the middle of each answer.
        ranges: The ranges that were asked for.
    """

    content: bytes
    sha256: str = ""
    size: int = 0
    breaks: list[int] = field(default_factory=list)
    pause_s: float = 0.0
    ranges: list[str | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sha256, self.size = hashlib.sha256(self.content).hexdigest(), len(self.content)

    def listing(self) -> dict[str, Any]:
        large = {"sha256": self.sha256, "size": self.size}
        rows = [{"rfilename": "README.md", "size": 3}, {"rfilename": NAME, "size": self.size, "lfs": large}]
        rows.append({"rfilename": f"../{NAME}", "size": 3})
        return {"sha": "abc", "cardData": {"license": "mit"}, "siblings": rows}


def serve(hub: Hub) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            if self.path.startswith("/api/"):
                return self.answer(200, json.dumps(hub.listing()).encode())
            if self.path.startswith("/datasets/"):
                self.send_response(302)
                self.send_header("Location", "/cdn/file")
                self.end_headers()
                return None
            hub.ranges.append(self.headers.get("Range"))
            start = int(re.sub(r"\D", "", hub.ranges[-1] or "0"))
            self.answer(206 if start else 200, hub.content[start:], hub.breaks.pop(0) if hub.breaks else None)

        def answer(self, status: int, body: bytes, until: int | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            half = len(body) // 2
            if until is None and hub.pause_s:
                self.wfile.write(body[:half])
                time.sleep(hub.pause_s)
                body = body[half:]
            self.wfile.write(body[:until])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def hub(small_exam: SmallExam, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in small_exam.data.rglob("*"):
            archive.write(path, f"data/{path.relative_to(small_exam.data)}")
    hub = Hub(packed.getvalue())
    server = serve(hub)
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("LIMNER_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield hub
    server.shutdown()
    server.server_close()


def source() -> DataSource:
    source = kind("genexam").data_source
    assert source is not None
    return source


def test_licence_is_shown_and_accepted_and_data_is_then_the_default(hub: Hub, tmp_path: Path) -> None:
    shown = limner("exam", "get", "genexam", code=2)
    assert "licence mit; see https://huggingface.co/datasets/OpenGVLab/GenExam" in shown.out
    assert "--accept-licence" in shown.err
    assert not (tmp_path / "cache").exists()
    assert "limner exam get genexam" in limner("exam", "check", "genexam", code=2).err
    limner("exam", "get", "genexam", "--accept-licence")
    assert "genexam: 4 questions, all well-formed" in limner("exam", "check", "genexam").out
    assert hub.ranges == [None]
    limner("exam", "get", "genexam")  # It is there: nothing to accept or download.
    run = limner("run", "genexam", "--painter", "control/blank", "--judge", "ocr", "--dry-run", "--format=json")
    assert run.json()["questions"] == 4


def test_pictures_are_listed_whatever_the_case_of_their_names() -> None:
    """KRIS-Bench has both 1.jpg and 2.JPG."""
    names = ["physics/annotation.json", "physics/1.jpg", "physics/2.JPG", "README.md"]
    source = kind("krisbench").data_source
    assert source is not None
    listing = {"siblings": [{"rfilename": name} for name in names]}
    release = get_data._read_listing(listing, source, "http://hub")
    assert [file.name for file in release.files] == names[:3]


def test_broken_download_is_continued(hub: Hub, tmp_path: Path) -> None:
    hub.breaks = [1000, 700]
    download(look_up(source()), tmp_path / "target")
    assert hub.ranges == [None, "bytes=1000-", "bytes=1700-"]
    assert (tmp_path / "target" / "annotations" / "All_Subjects.jsonl").is_file()


def test_later_command_resumes_download(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limner.calls.downloads.TRIES", 1)
    hub.breaks = [1000]
    with pytest.raises(LimnerError, match="1000 bytes"):
        download(look_up(source()), tmp_path / "target")
    assert not (tmp_path / "target").exists()
    download(look_up(source()), tmp_path / "target")
    assert hub.ranges == [None, "bytes=1000-"]


def test_slow_download_arrives_and_stalled_one_is_retried(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.pause_s = 0.3
    seen: list[int] = []
    monkeypatch.setattr(get_data, "LOOK_S", 0.05)
    download(look_up(source()), tmp_path / "slow", lambda _name, arrived, _size: seen.append(arrived))
    assert any(0 < arrived < hub.size for arrived in seen)
    monkeypatch.setattr(get_data, "STALL_S", 0.1)
    monkeypatch.setattr("limner.calls.downloads.TRIES", 1)
    with pytest.raises(LimnerError, match="did not arrive"):
        download(look_up(source()), tmp_path / "stalled")


@pytest.mark.parametrize(("change", "message"), [({"sha256": "0" * 64}, "wrong hash"), ({"size": 9}, "instead of 9")])
def test_wrong_file_is_deleted(hub: Hub, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    for name, value in change.items():
        setattr(hub, name, value)
    with pytest.raises(DataError, match=f"{message}.*deleted"):
        download(look_up(source()), tmp_path / "target")
    assert not list(tmp_path.rglob(f"*{NAME}*"))
    assert not (tmp_path / "target").exists()


def test_unreachable_hub_is_reported_with_what_to_do_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("LIMNER_DATA", str(tmp_path))
    message = limner("exam", "get", "genexam", "--accept-licence", code=1).err
    assert "http://127.0.0.1:9/api/datasets/OpenGVLab/GenExam: ConnectError" in message
    assert "by hand, download it from https://huggingface.co/datasets/OpenGVLab/GenExam and put annotations/" in message
    assert str(tmp_path / "genexam") in message


def test_unreleased_data_is_said_to_be_so() -> None:
    assert "its authors have not released it yet" in limner("exam", "get", "fepbench", code=2).err


def test_archive_cannot_leave_its_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("a/fine.txt", "x")
        archive.writestr("../evil.txt", "x")
    with pytest.raises(DataError, match="leads out of the folder"):
        unpack(tmp_path / "bad.zip", tmp_path / "inner")
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(DataError, match="is damaged"):
        unpack(tmp_path / "torn.zip", tmp_path / "inner")
    assert not (tmp_path / "evil.txt").exists()
