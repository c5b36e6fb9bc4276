"""Values from a table: which drawing a row is about, and everything that can be wrong with a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import DataError
from limner.evidence.imported import BY_SLOT, DrawingFinder, ImportedValues, read_table
from limner.store import Store
from limner.store.records import Drawing, load_evidence
from tests.support import picture


def drawing(id: str, painter: str = "mine", seed: int = 0, image: str | None = None) -> Drawing:
    return Drawing(
        f"{painter}/{id}/{seed}", "aibench", id, "h", painter, "s", "direct", seed, "done", image=image or f"{id}{seed}"
    )


DRAWINGS = [drawing("a"), drawing("b"), drawing("c"), drawing("c", "other", image="another"), drawing("d", seed=1)]


def table(folder: Path, text: str | bytes, evidence: str = "aesthetics", name: str | None = None) -> ImportedValues:
    file = folder / "values.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_table(evidence, file, DRAWINGS, name)


def wrong(folder: Path, text: str | bytes, evidence: str = "aesthetics") -> str:
    with pytest.raises(DataError) as caught:
        table(folder, text, evidence)
    return str(caught.value).replace(f"{folder}/", "")


def test_rows_match_by_id_and_painter(tmp_path: Path) -> None:
    found = table(tmp_path, "id,painter,score\na,mine,51.5\nc,other,0\nc,mine,100\n")
    assert found.values == {"a0": 51.5, "another": 0.0, "c0": 100.0}
    assert found.backend.startswith("csv:values.csv#")
    assert table(tmp_path, "score,id\n7,a\n", name="unipercept").backend == "csv:unipercept"
    assert table(tmp_path, "\ufeff id , score \r\n a ,7\r\n\r\n").values == {"a0": 7.0}
    assert table(tmp_path, 'id,score,note\n"d",7,"several\nlines"\n').values == {"d1": 7.0}
    assert table(tmp_path, "id,seed,score\nd,1,7\n").values == {"d1": 7.0}


def test_rows_match_by_image(tmp_path: Path) -> None:
    import hashlib

    data = picture(3)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.png").write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    DRAWINGS.append(drawing("e", image=sha256))
    try:
        assert table(tmp_path, f"image,score\n{sha256.upper()},5\n").values == {sha256: 5.0}
        assert table(tmp_path, "image,score\nin/x.png,5\n").values == {sha256: 5.0}
        assert "leaves the folder" in wrong(tmp_path, "image,score\n../x.png,5\n")
        assert "leaves the folder" in wrong(tmp_path, "image,score\n/etc/passwd,5\n")
        (tmp_path / "in" / "link.png").symlink_to("/etc/passwd")
        assert "through a link" in wrong(tmp_path, "image,score\nin/link.png,5\n")
        assert "neither a sha256 nor a file" in wrong(tmp_path, "image,score\nin/y.png,5\n")
        assert "no drawing in the store with image" in wrong(tmp_path, f"image,score\n{'0' * 64},5\n")
    finally:
        DRAWINGS.pop()


def test_counts_must_be_whole_numbers(tmp_path: Path) -> None:
    found = table(tmp_path, "id,count\na,83\n", "regions")
    assert found.values == {"a0": 83}
    assert isinstance(found.values["a0"], int)
    assert "count: 8.5 is not a whole number" in wrong(tmp_path, "id,count\na,8.5\n", "regions")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this file has no row"),
        ("id,score,score\na,7,8\n", "has two columns 'score'"),
        ("id,painter\na,you\n", "values.csv:2: id a: no score; the columns are id,painter,score or image,score"),
        ("id,score\n", "this file has no row"),
        ("id,painter,score\na,you,7\n", "no drawing in the store with painter 'you'; choose from: mine, other"),
        ("id,score\nc,7\n", "values.csv:2: id c: 'c': 2 drawings fit; add the column painter"),
        ("id,score\na,seven\n", "score: 'seven' is not a number"),
        ("id,score\na,101\n", "score: 101 is not a number from 0 to 100"),
        ("id,score\na,7,8\n", "values.csv:2: has 3 cells for 2 columns"),
        ("id,score\na,7\na,8\n", "values.csv:3: id a: line 2 says 7 of the same image"),
        ('id,score\n"a,7\n', "values.csv:2: has 1 cells for 2 columns"),
        (b"id,score\n\xff,7\n", "values.csv:2: not UTF-8"),
    ],
)
def test_invalid_row_is_reported_with_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert message in wrong(tmp_path, text)


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    message = wrong(tmp_path, "id,score\nx,7\na,7\nb,seven\n")
    assert message.startswith("2 problems:")
    assert "values.csv:2: " in message
    assert "values.csv:4: " in message


def test_drawing_without_image_matches_by_id_unless_failed(tmp_path: Path) -> None:
    file = tmp_path / "values.csv"
    file.write_text("id,score\na,7\n")
    plain = replace(drawing("a"), image=None)
    assert read_table("aesthetics", file, [plain]).values == {plain.id: 7.0}
    with pytest.raises(DataError, match="no drawing in the store"):
        read_table("aesthetics", file, [replace(plain, status="failed")])


def test_image_shared_by_two_painters_is_one_subject(tmp_path: Path) -> None:
    file = tmp_path / "values.csv"
    file.write_text("id,score\na,7\n")
    same = [drawing("a", painter, image="same") for painter in ("one", "two")]
    assert read_table("aesthetics", file, same).values == {"same": 7.0}


def test_imported_values_are_stored_and_replaced(tmp_path: Path, store: Store) -> None:
    for score in (7, 8):
        table(tmp_path, f"id,score\na,{score}\n", name="mine").save(store).result()
    (found,) = load_evidence(store, ["a0"])
    assert (found.name, found.backend, found.value) == ("aesthetics", "csv:mine", 8.0)
    assert load_evidence(store, ["a0"], skip=["aesthetics"]) == []


@given(
    st.binary(max_size=200) | st.text('id,score\n"ab7.-x', max_size=80).map(lambda tail: f"id,score\n{tail}".encode())
)
def test_any_file_is_read_or_rejected(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """A table, or an error meant for its user."""
    file = tmp_path_factory.getbasetemp() / "any.csv"
    file.write_bytes(data)
    try:
        found = read_table("aesthetics", file, DRAWINGS)
    except DataError:
        return
    assert found.values
    assert all(0 <= value <= 100 for value in found.values.values())


SLOTS = [("a", {}, "direct", 0), ("a", {}, "rewrite", 0), ("a", {}, "rewrite", 2), ("b", {"size": 9}, "direct", 0)]
IN_SLOTS = [
    Drawing(str(n), "exam", "q", "h", painter, "s", strategy, seed, "done", options=options, image=str(n))
    for n, (painter, options, strategy, seed) in enumerate(SLOTS)
]


@pytest.fixture
def finder(tmp_path: Path) -> DrawingFinder:
    return DrawingFinder(IN_SLOTS, tmp_path, BY_SLOT)


@pytest.mark.parametrize(
    ("row", "ids"),
    [
        ({"painter": "a"}, "012"),
        ({"painter": "a", "strategy": "rewrite", "seed": 0}, "1"),
        ({"painter": "a + rewrite #2"}, "2"),
        ({"painter": "b?size=9"}, "3"),
        ({"painter": "a + rewrite #x"}, ""),
        ({"painter": "a", "seed": "", "strategy": None}, "012"),
    ],
)
def test_painter_matches_every_name_used_in_tables(finder: DrawingFinder, row: dict[str, object], ids: str) -> None:
    assert "".join(one.id for one in finder.fitting({"id": "q", **row})) == ids
    assert finder.fitting({"id": "other", **row}) == []
