"""Probes: an image is measured once per backend, and what goes wrong is stored with its name."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from limner.calls import Calls, Fault
from limner.core.errors import UsageError
from limner.core.evidence import TextLine, is_paper_backend
from limner.core.images import encode_png, font
from limner.evidence.probe import BackendChoice, Finding, LocalProbe, OcrProbe, Subjects
from limner.store import Store
from limner.store.records import Measurement
from limner.store.schema import attempts, calls
from limner.workers import Recipe

Run = Callable[[Callable[[Calls], Awaitable[Any]]], Any]


@pytest.fixture
def run(store: Store) -> Run:
    def go(work: Callable[[Calls], Awaitable[Any]]) -> Any:
        async def inside() -> Any:
            async with Calls(store) as journal:
                return await work(journal)

        return asyncio.run(inside())

    return go


def faulty(note: Path, seconds: float = 60.0) -> LocalProbe:
    recipe = Recipe("faulty", "tests.workers.faulty:obedient", json.dumps({"note": str(note)}), workers=1)
    return LocalProbe("regions", "faulty/1 rev=2", recipe, seconds)


def journal(store: Store) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(sa.select(calls).order_by(calls.c.created)))


def page(*words: str) -> bytes:
    image = Image.new("RGB", (360, 60 + 60 * len(words)), "white")
    for number, word in enumerate(words):
        ImageDraw.Draw(image).text((30, 30 + 60 * number), word, "black", font(30))
    return encode_png(image)


def test_image_is_measured_once_per_store(run: Run, store: Store, tmp_path: Path) -> None:
    probe = faulty(tmp_path / "note")

    async def thrice(calls: Calls) -> list[Finding]:
        return list(await asyncio.gather(*(probe.measure(b"pid", calls) for _ in range(3))))

    first, again = run(thrice), run(thrice)
    assert len({finding.value for finding in [*first, *again]}) == 1
    assert {(finding.backend, finding.call) for finding in [*first, *again]} == {("faulty/1 rev=2", first[0].call)}
    (row,) = journal(store)
    sha256 = hashlib.sha256(b"pid").hexdigest()
    assert (row.kind, row.target, row.request["body"]) == ("probe", "regions/faulty/1 rev=2", {"image": sha256})


@pytest.mark.parametrize(("word", "kind"), [("exit", "probe"), ("raise", "probe"), ("bad image", "image")])
def test_fault_is_stored_with_image_and_backend(run: Run, store: Store, tmp_path: Path, word: str, kind: str) -> None:
    probe = faulty(tmp_path / "note")
    with pytest.raises(Fault) as caught:
        run(lambda calls: probe.measure(word.encode(), calls))
    sha256 = hashlib.sha256(word.encode()).hexdigest()
    assert (caught.value.kind, caught.value.detail.startswith(f"image {sha256[:12]}: ")) == (kind, True)
    assert "faulty" in caught.value.detail or kind == "image"
    (row,) = journal(store)
    assert (row.status, row.fault, row.detail) == ("failed", kind, caught.value.detail)
    assert run(lambda calls: probe.measure(b"next", calls)).value == {"word": "next"}


@pytest.mark.slow
def test_hang_is_fault_retried_by_next_run(run: Run, store: Store, tmp_path: Path) -> None:
    probe = faulty(tmp_path / "note", seconds=0.3)
    for tries in (1, 2):
        with pytest.raises(Fault, match=r"no result within 0\.3 s"):
            run(lambda calls: probe.measure(b"hang", calls))
        with store.reading() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(attempts)) == tries


@pytest.mark.slow
def test_ocr_probe_reads_text(run: Run) -> None:
    probe = OcrProbe()
    found = run(lambda calls: probe.measure(page("Nucleus", "Vacuole"), calls))
    assert [line.text for line in found.lines] == ["Nucleus", "Vacuole"]
    assert all(isinstance(line, TextLine) for line in found.lines)
    assert found.backend == probe.name
    assert probe.name.startswith("rapidocr/")


@pytest.mark.slow
def test_stored_ocr_format_is_unchanged(run: Run, store: Store) -> None:
    """The journal's name for what is read has not changed."""
    data = page("Nucleus")
    found = run(lambda calls: OcrProbe().measure(data, calls))
    with store.reading() as connection:
        (result,) = connection.execute(sa.select(attempts.c.result)).scalars()
    assert result == {"lines": found.value}


@pytest.mark.slow
def test_ocr_engine_is_not_loaded_in_main_process() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from limner.evidence.probe import OcrProbe; print(OcrProbe().name);"
        "assert not {'rapidocr', 'onnxruntime', 'cv2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("evidence", "backend", "paper"),
    [
        ("regions", "imported", True),
        ("regions", "sam2.1-large/0123456789ab/release/float32 lines=rapidocr/3#aa", True),
        ("regions", "sam2.1-large/0123456789ab/release/float32 compiled lines=rapidocr/3#aa", True),
        ("regions", "sam2.1-large/0123456789ab/release/bfloat16 lines=rapidocr/3#aa", False),
        ("regions", "sam2.1-large/0123456789ab/release/bfloat16 compiled lines=rapidocr/3#aa", False),
        ("regions", "sam2.1-large/0123456789ab/points=8/bfloat16 lines=rapidocr/3#aa", False),
        ("regions", "sam2.1-tiny/0123456789ab/release/float32 lines=x", False),
        ("regions", "classical/close=7", False),
        ("aesthetics", "imported", True),
        ("aesthetics", "unipercept/1.0.3 iaa model=x", True),
        ("aesthetics", "csv:unipercept", True),
        ("aesthetics", "model:openai/unipercept prompt=1", False),
        ("aesthetics", "csv:ratings.csv#0123", False),
        ("ocr", "rapidocr/3", False),
    ],
)
def test_paper_backends_are_recognised(evidence: str, backend: str, paper: bool) -> None:
    assert is_paper_backend(evidence, backend) is paper


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


def test_single_backend_is_used() -> None:
    assert taken(measured(OURS, 0, 1)) == [OURS, OURS, None, None]
    (first, *_) = BackendChoice(measured(OURS, 0), DRAWINGS).of(DRAWINGS)
    assert first == {"regions": {"value": 0, "backend": OURS}}
    assert taken() == [None] * 4


def test_backend_with_widest_coverage_is_used_unmixed() -> None:
    assert taken(measured(OURS, 0, 1, 2, at=1), measured(PAPER, 3, 0, at=2)) == [OURS, OURS, OURS, None]


def test_paper_backend_wins_ties() -> None:
    assert taken(measured(OURS, *range(4), at=9), measured(PAPER, *range(4), at=1)) == [PAPER] * 4
    assert taken(measured(OURS, 0, at=9), measured("imported", 0, at=1, by="id"))[0] == "imported"


def test_newest_backend_wins_other_ties() -> None:
    assert taken(measured(OURS, 0, at=2), measured(OTHER, 0, at=1))[0] == OURS
    assert taken(measured(OURS, 0, at=1), measured(OTHER, 0, at=2))[0] == OTHER


def test_rows_of_one_table_share_backend_when_possible() -> None:
    """The paper's has one painter's drawings only: for that painter too, what all painters have is taken."""
    found = measured(OURS, 0, 1, 2, 3), measured(PAPER, 0, 1)
    assert taken(*found, drawings=DRAWINGS[:2]) == [OURS] * 2
    assert taken(*found, measured(PAPER, 2, 3), drawings=DRAWINGS[:2]) == [PAPER] * 2


def test_backend_can_be_selected_by_name() -> None:
    found = measured(OURS, *range(4)), measured(PAPER, 0)
    for word in ("sam2.1-large", PAPER, PAPER.partition(" ")[0]):
        assert taken(*found, wanted=word) == [PAPER, None, None, None]
    with pytest.raises(
        UsageError, match="regions=sam2: these drawings have no such value; measured by: classical, sam"
    ):
        taken(*found, wanted="sam2")


def test_value_of_drawing_takes_precedence_over_value_of_image() -> None:
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
def test_backend_choice_is_independent_of_row_order(cells: list[tuple[str, int, int]], chance: random.Random) -> None:
    rows = [Measurement(f"image {n}", "regions", backend, n, float(at)) for backend, n, at in cells]
    mixed = list(rows)
    chance.shuffle(mixed)
    first, second = (BackendChoice(some, DRAWINGS).of(DRAWINGS) for some in (rows, mixed))
    assert first == second
    names = {row["regions"]["backend"] for row in first if row}
    assert len(names) <= 1
    assert bool(names) == bool(rows)
