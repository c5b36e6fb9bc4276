"""English or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.languages import foreign
from tests.build.damage import ENGLISH, FOREIGN


@pytest.mark.parametrize("language", sorted(FOREIGN))
def test_other_languages_are_told(language: str) -> None:
    assert foreign(FOREIGN[language])


@pytest.mark.parametrize(
    "lines",
    [ENGLISH, ("细胞壁", "Cell"), ("한국어 글자", "x"), ("细胞 nucleus 细胞核 膜",)],
    ids=["en", "zh", "ko", "mixed"],
)
def test_scripts_are_told(lines: tuple[str, ...]) -> None:
    assert (foreign(lines) is None) == (lines is ENGLISH)


def test_formulas_names_and_greek_letters_are_english_enough() -> None:
    assert foreign(["α + β = γ", "ΔH = −92 kJ", "Ω", "ATP → ADP", "de Broglie", "La Niña"]) is None
    assert foreign([]) is None


@given(st.lists(st.text(max_size=30), max_size=8))
def test_nothing_breaks_it(lines: list[str]) -> None:
    assert foreign(lines) is None or isinstance(foreign(lines), str)
