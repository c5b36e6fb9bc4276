"""Of several backends one counts, and always the same one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.evidence.probe import BackendChoice, Subjects
from limner.store.records import Measurement

PAPER, OURS, OTHER = "sam2.1-large/0123456789ab/release/float32 lines=x", "classical/1 rev=1", "sam2-tiny-onnx/a/b"
DRAWINGS: list[Subjects] = [(f"image {n}", f"id {n}") for n in range(4)]


def measured(backend: str, *numbers: int, at: float = 0.0, by: str = "image") -> list[Measurement]:
    return [Measurement(f"{by} {n}", "regions", backend, n, at) for n in numbers]


def taken(
    *found: list[Measurement], drawings: list[Subjects] = DRAWINGS, wanted: str | None = None
) -> list[str | None]:
    """Which backend counts, drawing by drawing."""
    rows = [one for some in found for one in some]
    choice = BackendChoice(rows, DRAWINGS, None if wanted is None else {"regions": wanted})
    return [row.get("regions", {}).get("backend") for row in choice.of(drawings)]


def test_one_backend() -> None:
    assert taken(measured(OURS, 0, 1)) == [OURS, OURS, None, None]
    (first, *_) = BackendChoice(measured(OURS, 0), DRAWINGS).of(DRAWINGS)
    assert first == {"regions": {"value": 0, "backend": OURS}}
    assert taken() == [None] * 4


def test_what_covers_most_counts_and_nothing_is_mixed_in() -> None:
    assert taken(measured(OURS, 0, 1, 2, at=1), measured(PAPER, 3, 0, at=2)) == [OURS, OURS, OURS, None]


def test_of_equals_the_papers_counts() -> None:
    assert taken(measured(OURS, *range(4), at=9), measured(PAPER, *range(4), at=1)) == [PAPER] * 4
    assert taken(measured(OURS, 0, at=9), measured("imported", 0, at=1, by="id"))[0] == "imported"


def test_of_other_equals_the_newest_counts() -> None:
    assert taken(measured(OURS, 0, at=2), measured(OTHER, 0, at=1))[0] == OURS
    assert taken(measured(OURS, 0, at=1), measured(OTHER, 0, at=2))[0] == OTHER


def test_rows_of_one_table_get_the_same_backend_where_they_can() -> None:
    """The paper's has one painter's drawings only: for that painter too, what all painters have is taken."""
    found = measured(OURS, 0, 1, 2, 3), measured(PAPER, 0, 1)
    assert taken(*found, drawings=DRAWINGS[:2]) == [OURS] * 2
    assert taken(*found, measured(PAPER, 2, 3), drawings=DRAWINGS[:2]) == [PAPER] * 2


def test_another_one_by_name() -> None:
    found = measured(OURS, *range(4)), measured(PAPER, 0)
    for word in ("sam2.1-large", PAPER, PAPER.partition(" ")[0]):
        assert taken(*found, wanted=word) == [PAPER, None, None, None]
    with pytest.raises(
        UsageError, match="regions=sam2: these drawings have no such value; measured by: classical, sam"
    ):
        taken(*found, wanted="sam2")


def test_a_drawings_own_value_goes_before_its_images() -> None:
    rows = [*measured("imported", 0, by="id"), *measured("imported", 0, 1)]
    found = BackendChoice([rows[0], *rows[1:]], DRAWINGS).of(DRAWINGS)
    assert [row.get("regions", {}).get("value") for row in found] == [0, 1, None, None]


@given(
    st.lists(
        st.tuples(st.sampled_from([PAPER, OURS, OTHER]), st.integers(0, 3), st.integers(0, 3)),
        unique_by=lambda one: one[:2],
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_does_not_matter(cells: list[tuple[str, int, int]], chance: random.Random) -> None:
    rows = [Measurement(f"image {n}", "regions", backend, n, float(at)) for backend, n, at in cells]
    mixed = list(rows)
    chance.shuffle(mixed)
    first, second = (BackendChoice(some, DRAWINGS).of(DRAWINGS) for some in (rows, mixed))
    assert first == second
    names = {row["regions"]["backend"] for row in first if row}
    assert len(names) <= 1
    assert bool(names) == bool(rows)
