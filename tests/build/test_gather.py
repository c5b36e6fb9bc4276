"""Pictures from folders, tables and lists of links."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import polars
import pytest

from limner.build.sources import SourcePicture, from_folder, from_table
from limner.core.errors import UsageError
from tests.support import picture


def test_parquet_without_polars_names_what_to_install(tmp_path: Path, no_polars: None) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(
        UsageError, match=r"a\.parquet: a Parquet file needs polars; .* pip install 'limner\[parquet\]'"
    ):
        list(from_table(tmp_path / "a.parquet"))
    (tmp_path / "a.csv").write_text("url,text\nhttps://book.example/1.png,Cell\n", "utf-8")
    assert [found.link for found in from_table(tmp_path / "a.csv")] == ["https://book.example/1.png"]


def test_folder_is_read_with_its_texts(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.png", "b.jpg", "deep/c.png"):
        (tmp_path / name).write_bytes(picture(1))
    (tmp_path / "a.txt").write_text("The page\nof a book.\n", "utf-8")
    (tmp_path / "b.json").write_text(json.dumps({"caption": "Cap", "license": "CC0-1.0", "author": "Ann"}), "utf-8")
    row = {"file_name": "deep/c.png", "text": "From metadata", "page": "https://book.example/3"}
    (tmp_path / "metadata.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    found = {one.origin.partition("/")[2]: one.about for one in from_folder(tmp_path)}
    assert found == {
        "a.png": {"text": "The page\nof a book."},
        "b.jpg": {"text": "Cap", "licence": "CC0-1.0", "credit": "Ann"},
        "deep/c.png": {"text": "From metadata", "page": "https://book.example/3"},
    }
    with pytest.raises(UsageError, match="no such folder"):
        list(from_folder(tmp_path / "none"))
    (tmp_path / "a.json").write_text("[1]", "utf-8")
    (tmp_path / "b.txt").write_bytes(b"caf\xe9")
    faults = {one.origin.partition("/")[2]: one.fault for one in from_folder(tmp_path)}
    assert "a.json: not a JSON object" in faults["a.png"]
    assert "b.txt:1: not UTF-8" in faults["b.jpg"]
    assert faults["deep/c.png"] == ""


def test_parquet_written_by_datasets_is_read(tmp_path: Path) -> None:
    file = tmp_path / "train.parquet"
    polars.DataFrame(
        {
            "image": [{"bytes": picture(n), "path": f"{n}.png"} for n in range(70)],
            "question": ["What is it?"] * 70,
            "answer": ["A cell"] * 70,
        }
    ).write_parquet(file)
    found = list(from_table(file))
    assert len(found) == 70
    assert (found[69].data, found[69].origin) == (picture(69), "train.parquet:69")
    assert found[0].about == {"text": "What is it?\nA cell"}


def test_folder_saved_by_datasets_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    (tmp_path / "x.png").write_bytes(picture(5))
    made = datasets.Dataset.from_dict({"image": [str(tmp_path / "x.png")], "caption": ["Five"]})
    made.cast_column("image", datasets.Image()).save_to_disk(str(tmp_path / "saved"))
    (found,) = from_table(tmp_path / "saved")
    assert (found.data, found.about) == (picture(5), {"text": "Five"})


def test_table_of_links_and_files_is_read(tmp_path: Path) -> None:
    (tmp_path / "here.png").write_bytes(picture(2))
    file = tmp_path / "crawl.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["url", "image", "page", "text", "licence", "keyword"])
        writer.writerow(["https://x.example/a.png", "", "https://x.example", "Two\nlines", "CC-BY-4.0", "cell"])
        writer.writerow(["", "here.png", "", "", "", ""])
    one, other = from_table(file)
    assert one == SourcePicture(
        "crawl.csv:2", link="https://x.example/a.png",
        about={"text": "Two\nlines", "licence": "CC-BY-4.0", "page": "https://x.example", "keyword": "cell"},
    )  # fmt: skip
    assert other.file == (tmp_path / "here.png").resolve()


@pytest.mark.parametrize("name", ["../out.png", "/etc/passwd"])
def test_picture_outside_folder_is_refused(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "list.jsonl").write_text(json.dumps({"image": name}) + "\n", "utf-8")
    (found,) = from_table(inside / "list.jsonl")
    assert "lies outside" in found.fault
    assert found.file is None


def test_unreadable_tables_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    (tmp_path / "a.parquet").write_text("x", "utf-8")
    for name, message in (("a.txt", "a table is"), ("a.parquet", "cannot be read")):
        with pytest.raises(UsageError, match=message):
            list(from_table(tmp_path / name))


def test_bad_record_is_reported_beside_good_ones(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"url,text\nhttps://x.example/a.png,caf\xe9\n,empty\nhttps://x.example/b.png,ok\n")
    first, second, third = from_table(tmp_path / "a.csv")
    assert (first.fault, second.fault.partition(":")[0], third.fault) == (
        "its text is not UTF-8", "the row has no picture", ""
    )  # fmt: skip
    lines = ['{"text": "x"}', '{"image": ""}', "{broken", '{"url": "https://x.example/b.png"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines), "utf-8")
    assert [bool(one.fault) for one in from_table(tmp_path / "a.jsonl")] == [True, True, True, False]


def test_bad_record_beside_a_picture_is_reported_beside_good_ones(tmp_path: Path) -> None:
    folder = tmp_path / "pics"
    folder.mkdir()
    for name in ("deep.png", "half.png", "good.png"):
        (folder / name).write_bytes(picture(1))
    (folder / "deep.json").write_text("[" * 100_000, "utf-8")
    (folder / "half.json").write_text('{"caption": "\\ud800"}', "utf-8")
    (folder / "metadata.jsonl").write_text('{broken\n{"file_name": "good.png", "text": "Good"}\n', "utf-8")
    (folder / os.fsdecode(b"caf\xe9.png")).write_bytes(picture(1))
    found = {one.origin: one for one in from_folder(folder)}
    assert found.pop("pics/metadata.jsonl:1").fault.startswith("not JSON")
    assert {origin: one.fault.rpartition(": ")[2] for origin, one in found.items()} == {
        "pics/caf\\xe9.png": "",
        "pics/deep.png": "nested more than 50 deep",
        "pics/good.png": "",
        "pics/half.png": "its text is not UTF-8",
    }
    assert found["pics/good.png"].about == {"text": "Good"}


def test_file_name_that_no_system_takes_is_reported_beside_good_ones(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture(1))
    (tmp_path / "a.jsonl").write_text('{"image": "a\\u0000.png"}\n{"image": "a.png"}\n', "utf-8")
    assert [one.fault for one in from_table(tmp_path / "a.jsonl")] == ["embedded null byte", ""]
