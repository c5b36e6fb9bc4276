"""The step that takes pictures in: files, broken ones, the same twice, links."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from limner.build.engine import Spending
from limner.build.open import change_build, new_build
from limner.build.records import load_build, load_rows
from limner.core.errors import UsageError
from limner.store import Store
from tests.build.nobody import Nobody
from tests.fakes.wire_server import Answer, Asked, WireServer, wire_server
from tests.support import picture

PLAIN = ("keywords.per_topic=0", 'taxonomy.subjects=["Music"]')


def run(store: Store, *settings: str) -> None:
    there = [one for one in ("b",) if one in _names(store)]
    builder = (
        change_build(store, load_build(store, "b"), settings=settings)
        if there
        else new_build(store, "b", "exam", settings=[*PLAIN, *settings])
    )
    builder.models = {"annotator": Nobody()}  # type: ignore[dict-item]
    builder.run(Spending(), "images")


def _names(store: Store) -> list[str]:
    from limner.build.records import load_builds

    return [build.name for build in load_builds(store)]


def test_files_broken_files_and_copies(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "pics"
    folder.mkdir()
    (folder / "a.png").write_bytes(picture(1))
    (folder / "b.png").write_bytes(picture(1))
    (folder / "c.png").write_bytes(b"no picture")
    (folder / "a.txt").write_text("Its page", "utf-8")
    run(store, f'images.folders=["{folder}"]', "images.licence=CC0-1.0")
    rows = load_rows(store, "b", "images")
    sha256 = hashlib.sha256(picture(1)).hexdigest()
    kept = rows.pop(sha256[:16])
    assert kept.body == {
        "image": sha256, "source_text": "Its page", "licence": "CC0-1.0", "source": {"origin": "pics/a.png"}
    }  # fmt: skip
    assert sorted((row.reason or "").partition(":")[0] for row in rows.values()) == ["exact duplicate", "not a picture"]
    assert store.blobs.get(sha256) == picture(1)


def test_links_are_fetched_once(store: Store, tmp_path: Path) -> None:
    def answer(service: WireServer, asked: Asked) -> Answer:
        return (200, picture(7)) if asked.path == "/a.png" else (404, {})

    with wire_server(answer) as service:
        lines = f"url,licence\n{service.root}/a.png,CC0-1.0\n{service.root}/gone.png,\n"
        (tmp_path / "crawl.csv").write_text(lines, "utf-8")
        run(store, f'images.crawl=["{tmp_path / "crawl.csv"}"]')
        run(store)
        paths = [one.path for one in service.asked]
    assert paths.count("/a.png") == 1
    rows = load_rows(store, "b", "images")
    (kept,) = (row for row in rows.values() if row.status == "done")
    assert kept.body is not None
    assert kept.body["source"] == {"origin": "crawl.csv:2", "url": f"{service.root}/a.png"}
    (lost,) = (row for row in rows.values() if row.status == "dropped")
    assert (lost.reason or "").startswith("not found: crawl.csv:3: ")


def test_without_a_source_it_says_how_to_name_one(store: Store) -> None:
    with pytest.raises(UsageError, match=r"step images: say where pictures come from: --set 'images.folders"):
        run(store)
