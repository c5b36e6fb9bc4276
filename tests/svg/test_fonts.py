"""Fonts: which characters they have, and which are chosen."""

from __future__ import annotations

import io
import shutil
import struct
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from limner.core.fonts import PATH
from limner.svg import BadSvg, fonts, missing_glyphs, render
from limner.svg.fonts import BUNDLED, FACES, characters, choose
from tests.needs import need
from tests.svg.corpus.page import page
from tests.svg.corpus.words import FAR_EASTERN, text

MATHEMATICS = "∑∫√≤≥≠≈±×÷∞∂∇∈∉⊂∪∩∀∃→⇒↔αβγδεζηθλμπρσφωΓΔΘΛΣΦΨΩ²³₀₁₂ⁿ°ℝℕ′″⟨⟩∥⊥∠"


def far_eastern_font() -> None:
    need(
        "cjk",
        not choose("漢字かな한국")[1],
        "no font with Chinese, Japanese and Korean letters: install fonts-noto-cjk",
    )


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without fonts; the folder is where one's own may lie."""
    monkeypatch.setattr(fonts, "_FOLDERS", ())
    monkeypatch.setenv("LIMNER_FONTS", str(tmp_path))
    fonts._find.cache_clear()
    return tmp_path


def ink(svg: str) -> int:
    pixels = np.asarray(Image.open(io.BytesIO(render(svg, 240))).convert("L"))
    return int((pixels < 128).sum())


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.name)
def test_characters_are_those_that_fonttools_finds(path: Path) -> None:
    font = import_module("fontTools.ttLib").TTFont(path)
    assert characters(path) == set(font.getBestCmap())


@pytest.mark.slow
def test_characters_of_the_machines_fonts() -> None:
    library = import_module("fontTools.ttLib")
    looked_at = 0
    for path in fonts._others()[:6]:
        faces = library.TTCollection(path).fonts if path.suffix == ".ttc" else [library.TTFont(path)]
        assert characters(path) == set().union(*(face.getBestCmap() or {} for face in faces)), path.name
        looked_at += 1
    need("cjk", looked_at > 0, "no fonts on this machine")


@pytest.mark.parametrize("data", [b"", b"ttcf", b"ttcf" + b"\xff" * 40, b"\0\1\0\0" + b"\xff" * 60, b"text"])
def test_what_is_no_font_has_no_characters(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.ttf"
    path.write_bytes(data)
    assert characters(path) == set()
    assert characters(tmp_path / "none.ttf") == set()


def test_a_character_map_that_lies(tmp_path: Path) -> None:
    table = struct.pack(">HHHHI", 0, 1, 3, 10, 12) + struct.pack(">HHIIIIII", 12, 0, 28, 0, 1, 0, 0xFFFFFFFF, 0)
    head = b"\0\1\0\0" + struct.pack(">HHHH", 1, 0, 0, 0) + b"cmap" + struct.pack(">III", 0, 28, len(table))
    path = tmp_path / "a.ttf"
    path.write_bytes(head + table)
    assert characters(path) == set(range(1, 0x110000))


@pytest.mark.usefixtures("bare")
def test_bundled_fonts_do_for_mathematics() -> None:
    assert choose(MATHEMATICS + "Äöüßéñçø Клетка Ελλάδα ♀♂✓★") == (list(BUNDLED), set())
    assert missing_glyphs(page(text(MATHEMATICS))) == set()


@pytest.mark.usefixtures("bare")
def test_missing_characters_are_named() -> None:
    assert missing_glyphs(page(text("a漢 b字", y="20") + "<title>한</title>")) == {"漢", "字"}
    assert missing_glyphs(page(text("a\u200b\u00ad\ufe0f\u3000b"))) == set()


def test_ones_own_fonts_come_first(bare: Path) -> None:
    shutil.copy(PATH, bare / "own.ttf")
    fonts._find.cache_clear()
    assert fonts._others() == (bare / "own.ttf",)


def test_missing_characters_of_a_bad_file() -> None:
    with pytest.raises(BadSvg):
        missing_glyphs("<svg>")


def test_fonts_of_the_machine_come_only_where_needed() -> None:
    far_eastern_font()
    assert choose("plain words ∑")[0] == list(BUNDLED)
    chosen, missing = choose("漢字 plain")
    assert len(chosen) == len(BUNDLED) + 1
    assert not missing


@pytest.mark.parametrize("name", FAR_EASTERN)
def test_far_eastern_letters_are_drawn(name: str) -> None:
    far_eastern_font()
    assert missing_glyphs(FAR_EASTERN[name]) == set()
    assert ink(FAR_EASTERN[name]) > 500


@pytest.mark.parametrize(
    ("said", "face"),
    [
        ({}, "Arimo-Regular"),
        ({"font_family": "Arial"}, "Arimo-Regular"),
        ({"font_family": "Some Font"}, "Arimo-Regular"),
        ({"font_family": "Times"}, "Tinos-Regular"),
        ({"font_family": "serif"}, "Tinos-Regular"),
        ({"font_family": "Consolas"}, "Cousine-Regular"),
        ({"font_weight": "bold"}, "Arimo-Bold"),
        ({"font_style": "italic"}, "Arimo-Italic"),
        ({"font_style": "italic", "font_weight": "700"}, "Arimo-BoldItalic"),
        ({"font_family": "serif", "font_weight": "bold"}, "Tinos-Bold"),
        ({"font_family": "serif", "font_style": "italic"}, "Tinos-Italic"),
        ({"font_family": "Georgia", "font_style": "italic", "font_weight": "bold"}, "Tinos-BoldItalic"),
    ],
)
def test_each_face_is_used(said: dict[str, str], face: str) -> None:
    family, _, style = face.partition("-")
    named = {
        "font_family": family,
        "font_weight": "bold" if "Bold" in style else "normal",
        "font_style": "italic" if "Italic" in style else "normal",
    }
    assert render(page(text("Hamburg", **said)), 200) == render(page(text("Hamburg", **named)), 200)


@pytest.mark.slow
def test_faces_look_different() -> None:
    looks = set()
    for face in FACES:
        family, _, style = face.stem.partition("-")
        weight, slant = "bold" if "Bold" in style else "normal", "italic" if "Italic" in style else "normal"
        words = text("Hamburg", font_family=family, font_weight=weight, font_style=slant)
        looks.add(render(page(words), 200))
    assert len(looks) == len(FACES)


def test_widths_are_those_of_arial() -> None:
    font = import_module("fontTools.ttLib").TTFont(FACES[0])
    widths = {letter: font["hmtx"][font.getBestCmap()[ord(letter)]][0] for letter in "aWi M"}
    # Arial's own, of 2048 to the em.
    assert widths == {"a": 1139, "W": 1933, "i": 455, " ": 569, "M": 1706}
