"""Tesseract: its table of words becomes lines; the program itself reads, where it is installed."""

from __future__ import annotations

import asyncio
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from limner.calls import Calls, Fault
from limner.core import settings
from limner.core.errors import UsageError
from limner.core.images import Preparer, encode_png, font
from limner.evidence import ocr
from limner.evidence.backends import open_probe
from limner.evidence.ocr import MIN_CONFIDENCE, OcrWord, join_words, parse_tesseract
from limner.store import Store
from tests.needs import need

HEAD = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"


def row(text: str, line: int, left: int, width: int, *, top: int = 100, height: int = 20, sure: float = 90) -> str:
    return f"5\t1\t{line}\t1\t1\t1\t{left}\t{top}\t{width}\t{height}\t{sure}\t{text}\n"


def test_words_are_joined_into_lines_in_reading_order() -> None:
    table = HEAD + "1\t1\t0\t0\t0\t0\t0\t0\t640\t400\t-1\t\n"
    table += row("wall", 2, 160, 40, sure=70) + row("Cell", 2, 110, 40) + row('"Top"', 1, 300, 60, top=20)
    first, second = parse_tesseract(table)
    assert (first.text, second.text) == ('"Top"', "Cell wall")
    assert second.bounds == (110, 100, 200, 120)
    assert second.box == ((110, 100), (200, 100), (200, 120), (110, 120))
    assert second.confidence == pytest.approx(0.8)


def test_distant_labels_are_separate_lines() -> None:
    found = parse_tesseract(HEAD + row("Nucleus", 1, 10, 80) + row("Ribosome", 1, 400, 90))
    assert [line.text for line in found] == ["Nucleus", "Ribosome"]


@pytest.mark.parametrize("text", [" ", "", "   "])
def test_empty_and_uncertain_words_are_omitted(text: str) -> None:
    assert (
        parse_tesseract(HEAD + row(text, 1, 10, 80) + row("blur", 2, 10, 80, sure=30) + row("none", 3, 10, 80, sure=-1))
        == []
    )
    assert parse_tesseract(HEAD) == parse_tesseract("") == []


@pytest.mark.parametrize("table", [HEAD + "5\t1\t1\n", HEAD.replace("conf", "cold") + row("x", 1, 1, 1)])
def test_invalid_table_is_an_error(table: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        parse_tesseract(table.replace("5\t1\t1\n", "5\t1\t1\t1\t1\t1\tx\t1\t1\t1\t90\tword\n"))


WORDS = st.lists(
    st.builds(
        OcrWord,
        text=st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zs"]), min_size=1, max_size=8),
        row=st.tuples(st.sampled_from(["1", "2"])),
        left=st.floats(0, 500),
        top=st.floats(0, 500),
        right=st.floats(501, 1000),
        bottom=st.floats(501, 600),
        confidence=st.floats(0, 1),
    ),
    max_size=8,
)


@given(WORDS)
def test_joining_neither_loses_nor_adds_words(words: list[OcrWord]) -> None:
    found = join_words(words)
    assert sorted(word for line in found for word in line.text.split()) == sorted(
        part for word in words for part in word.text.split()
    )
    for line in found:
        assert 0 <= line.confidence <= 1
        assert line.bounds[0] in {word.left for word in words}


@pytest.fixture
def installed() -> None:
    need("tesseract", shutil.which("tesseract") is not None, "the program tesseract is not installed")


def page() -> bytes:
    image = Image.new("RGB", (640, 200), "white")
    pen = ImageDraw.Draw(image)
    pen.text((40, 30), "Cell wall", "black", font(28))
    pen.text((400, 30), "Nucleus", "black", font(28))
    pen.text((40, 130), "Vacuole", "black", font(28))
    return encode_png(image)


def read(data: bytes, store: Store, word: str = "tesseract") -> list[str]:
    probe = open_probe("ocr", word, settings.load(), Preparer(store.blobs.get))
    probe.check()

    async def run() -> list[str]:
        async with Calls(store) as calls:
            return [line.text for line in (await probe.measure(data, calls)).lines]

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_page_is_read(store: Store) -> None:
    assert read(page(), store) == ["Cell wall", "Nucleus", "Vacuole"]
    assert read(encode_png(Image.new("RGB", (4, 4))), store) == []
    assert read(encode_png(Image.new("RGB", (200, 100), "white")), store) == []
    with pytest.raises(Fault, match="not an image"):
        read(b"no image", store)


@pytest.mark.usefixtures("installed")
def test_name_includes_deciding_settings() -> None:
    name = ocr.name("eng")
    assert name.startswith("tesseract/")
    assert all(part in name for part in (" lang=eng ", " data=", f" psm={ocr.SPARSE} ", f" score={MIN_CONFIDENCE} "))


@pytest.mark.usefixtures("installed")
def test_missing_language_is_usage_error(store: Store) -> None:
    with pytest.raises(UsageError, match=r"has no language 'tlh'.+tesseract-ocr-tlh"):
        read(page(), store, "tesseract:eng+tlh")


def test_missing_program_is_usage_error(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    ocr._installed_languages.cache_clear()
    monkeypatch.setattr(ocr, "PROGRAM", "no-such-tesseract")
    with pytest.raises(UsageError, match=r"is not installed; install it .+ or use --ocr rapidocr"):
        read(page(), store)
    ocr._installed_languages.cache_clear()
