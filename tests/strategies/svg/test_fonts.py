"""Fonts: which characters they have, and which are chosen."""

from __future__ import annotations

import io
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from limner.core.images import FONT_PATH
from limner.strategies.svg import missing_glyphs, render, rendering
from limner.strategies.svg.rendering import BUNDLED, FACES, characters, choose
from tests.needs import need
from tests.strategies.svg.corpus import CORPUS, page

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
    monkeypatch.setattr(rendering, "_FOLDERS", ())
    monkeypatch.setenv("LIMNER_FONTS", str(tmp_path))
    rendering._find_fonts.cache_clear()
    return tmp_path


def ink(svg: str) -> int:
    pixels = np.asarray(Image.open(io.BytesIO(render(svg, 240))).convert("L"))
    return int((pixels < 128).sum())


def text(words: str, **attributes: str) -> str:
    given = {"x": "10", "y": "50", "font_size": "18"} | attributes
    names = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in given.items())
    return page(f"<text{names}>{words}</text>")


def test_all_fonts_of_collection_share_characters_of_first() -> None:
    path = next((path for path in rendering._other_fonts() if path.suffix == ".ttc"), None)
    need("cjk", path is not None, "no collection of fonts on this machine")
    faces = import_module("fontTools.ttLib").TTCollection(path).fonts
    assert all(set(face.getBestCmap()) == characters(path) for face in faces[:3])


@pytest.mark.parametrize("data", [b"", b"ttcf", b"ttcf" + b"\xff" * 40, b"\0\1\0\0" + b"\xff" * 60, b"text"])
def test_file_that_is_not_a_font_has_no_characters(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.ttf"
    path.write_bytes(data)
    assert characters(path) == set()
    assert characters(tmp_path / "none.ttf") == set()


@pytest.mark.usefixtures("bare")
def test_bundled_fonts_cover_mathematics() -> None:
    assert choose(MATHEMATICS + "Äöüßéñçø Клетка Ελλάδα ♀♂✓★") == (list(BUNDLED), set())
    assert missing_glyphs(text(MATHEMATICS)) == set()


@pytest.mark.usefixtures("bare")
def test_missing_characters_are_listed() -> None:
    assert missing_glyphs(text("a漢 b字<title>한</title>")) == {"漢", "字"}
    assert missing_glyphs(text("a\u200b\u00ad\ufe0f\u3000b")) == set()


def test_user_fonts_come_first(bare: Path) -> None:
    shutil.copy(FONT_PATH, bare / "own.ttf")
    rendering._find_fonts.cache_clear()
    assert rendering._other_fonts() == (bare / "own.ttf",)


def test_system_fonts_are_used_only_if_needed() -> None:
    far_eastern_font()
    assert choose("plain words ∑")[0] == list(BUNDLED)
    chosen, missing = choose("漢字 plain")
    assert len(chosen) == len(BUNDLED) + 1
    assert not missing


@pytest.mark.parametrize("name", [name for name in CORPUS if name.startswith("far-eastern/")])
def test_east_asian_letters_are_drawn(name: str) -> None:
    far_eastern_font()
    assert missing_glyphs(CORPUS[name]) == set()
    assert ink(CORPUS[name]) > 500


FACES_OF = {
    "": "Arimo-Regular", "Arial": "Arimo-Regular", "Some Font": "Arimo-Regular", "bold": "Arimo-Bold",
    "italic": "Arimo-Italic", "italic bold": "Arimo-BoldItalic", "Times": "Tinos-Regular", "serif": "Tinos-Regular",
    "serif bold": "Tinos-Bold", "serif italic": "Tinos-Italic", "Georgia italic bold": "Tinos-BoldItalic",
    "Consolas": "Cousine-Regular",
}  # fmt: skip


def drawn(words: str) -> bytes:
    """Return a picture written in a font named by its family, and by "italic" and "bold"."""
    family = " ".join(word for word in words.split() if word not in ("italic", "bold"))
    attributes = {"font_family": family} if family else {}
    weight, style = "bold" if "bold" in words else "normal", "italic" if "italic" in words else "normal"
    return render(text("Hamburg", font_weight=weight, font_style=style, **attributes), 200)


def test_each_face_is_used_and_looks_different() -> None:
    names = {face.stem: face.stem.replace("-", " ").replace("BoldItalic", "italic bold").lower() for face in FACES}
    looks = {stem: drawn(name.replace(" regular", "").capitalize()) for stem, name in names.items()}
    assert len(set(looks.values())) == len(FACES)
    assert {words: drawn(words) == looks[face] for words, face in FACES_OF.items()} == dict.fromkeys(FACES_OF, True)


def test_widths_match_arial() -> None:
    font = import_module("fontTools.ttLib").TTFont(FACES[0])
    widths = {letter: font["hmtx"][font.getBestCmap()[ord(letter)]][0] for letter in "aWi M"}
    # Arial's own, of 2048 to the em.
    assert widths == {"a": 1139, "W": 1933, "i": 455, " ": 569, "M": 1706}
