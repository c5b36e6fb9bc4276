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
        ({"painter": "a + rewrite #2"}, "2"),
        ({"painter": "b?size=9"}, "3"),
        ({"painter": "a + rewrite #x"}, ""),
        ({"painter": "a", "seed": "", "strategy": None}, "012"),
    ],
)
def test_a_painter_by_every_name_that_tables_give_it(finder: DrawingFinder, row: dict[str, object], ids: str) -> None:
    assert "".join(one.id for one in finder.fitting({"id": "q", **row})) == ids
    assert finder.fitting({"id": "other", **row}) == []
