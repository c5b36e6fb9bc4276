"""Boxes over pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.site.chunks import Chunks
from limner.site.overlays import boxes_in, write_boxes
from limner.store import Store
from limner.store.measurements import evidence_row
from limner.store.schema import evidence
from tests.site.hostile import probe
from tests.site.reading import parts

LINE = {"text": "Sun", "box": [[1, 2], [5, 2], [5, 4], [1, 4]], "confidence": 0.5}
anything = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["box", "lines", "boxes", "value", "text"]), inner)
    ),
)


@given(anything)
def test_whatever_a_probe_left_is_read_without_harm(value: Any) -> None:
    assert all(len(box[0]) == 8 for box in boxes_in(value))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"lines": [LINE]}, [[[1, 2, 5, 2, 5, 4, 1, 4], "Sun", 0.5]]),
        ([LINE], [[[1, 2, 5, 2, 5, 4, 1, 4], "Sun", 0.5]]),
        ({"value": {"count": 1, "lines": 0, "boxes": [[0, 0, 2, 3]]}}, [[[0, 0, 2, 0, 2, 3, 0, 3]]]),
        (17, []),
        ({"boxes": [["a", 0, 2, 3], [1, 2, 3], None]}, []),
    ],
)
def test_lines_and_regions_in_their_several_forms(value: Any, found: list[Any]) -> None:
    assert boxes_in(value) == found


def test_boxes_go_to_every_question_that_shows_the_picture_and_the_newest_stand(tmp_path: Path, store: Store) -> None:
    probe(store, "a" * 64, "ocr/old", {"lines": []})
    probe(store, "a" * 64, "ocr/new", {"lines": [LINE]})
    probe(store, "b" * 64, "ocr/new", {"lines": [LINE]})
    row = evidence_row("a" * 64, "regions", "sam", {"count": 1, "boxes": [[0, 0, 9, 9]]})
    store.write(lambda connection: store.upsert(connection, evidence, row))
    chunks = Chunks(tmp_path)
    assert write_boxes(store, {"a" * 64: [(chunks, "one"), (chunks, "two")]}) == 1
    chunks.flush()
    assert not (tmp_path / "boxes" / "b.js").exists()
    for key in ("one", "two"):
        ocr, regions = parts(tmp_path, f"boxes/{key}")
        assert (ocr["sort"], ocr["backend"], ocr["boxes"][0][1]) == ("ocr", "new", "Sun")
        assert (regions["sort"], regions["count"]) == ("regions", 1)
        assert [part["boxes"]["sort"] for part in parts(tmp_path, f"q/{key}")] == ["ocr", "regions"]
