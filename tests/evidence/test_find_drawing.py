"""Which drawing a row is about: a painter by its name, label or row in a table; the column that fits nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.evidence.find_drawing import BY_SLOT, DrawingFinder
from limner.store.records import Drawing

SLOTS = [("a", {}, "direct", 0), ("a", {}, "rewrite", 0), ("a", {}, "rewrite", 2), ("b", {"size": 9}, "direct", 0)]
DRAWINGS = [
    Drawing(str(n), "exam", "q", "h", painter, "s", strategy, seed, "done", options=options, image=str(n))
    for n, (painter, options, strategy, seed) in enumerate(SLOTS)
]


@pytest.fixture
def finder(tmp_path: Path) -> DrawingFinder:
    return DrawingFinder(DRAWINGS, tmp_path, BY_SLOT)


@pytest.mark.parametrize(
    ("row", "ids"),
    [
        ({"painter": "a"}, "012"),
        ({"painter": "a", "strategy": "rewrite", "seed": 0}, "1"),
        ({"painter": "a + rewrite"}, "12"),
        ({"painter": "a + rewrite #2"}, "2"),
        ({"painter": "a #0", "strategy": "direct"}, "0"),
        ({"painter": "b"}, "3"),
        ({"painter": "b?size=9"}, "3"),
        ({"painter": "a + rewrite #x"}, ""),
        ({"painter": "c"}, ""),
        ({"painter": "a", "seed": "", "strategy": None}, "012"),
    ],
)
def test_a_painter_by_every_name_that_tables_give_it(finder: DrawingFinder, row: dict[str, object], ids: str) -> None:
    assert "".join(one.id for one in finder.fitting({"id": "q", **row})) == ids
    assert finder.fitting({"id": "other", **row}) == []


def test_the_column_that_fits_nothing_is_named(finder: DrawingFinder) -> None:
    for row, said in (
        ({"id": "x", "painter": "a"}, "with id 'x'"),
        ({"id": "q", "painter": "c"}, r"with painter 'c'; there is: a, b, b\?size=9"),
        ({"id": "q", "painter": "b", "seed": "7"}, "with seed '7'"),
        ({"painter": "b"}, "an id or an image is wanted"),
        ({"id": "q", "painter": "a"}, "'q': 3 drawings fit; add the column strategy"),
    ):
        with pytest.raises(ValueError, match=said):
            finder.find(row)
    assert finder.find({"id": "q", "painter": "a", "strategy": "direct"}).id == "0"
    assert DrawingFinder([], Path(), BY_SLOT).fitting({"id": "q"}) == []
