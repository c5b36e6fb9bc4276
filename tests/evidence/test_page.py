"""The page on evidence says what the program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core.evidence import is_paper_backend
from limner.core.images import MAX_BYTES, MAX_PIXELS, SUFFIXES
from limner.core.settings import Measures
from limner.evidence.backends import AESTHETICS_S, REGIONS_S
from limner.evidence.ocr import SPARSE
from limner.evidence.probe import OCR_S
from limner.evidence.regions.boxes import RELEASE, MaskSettings
from limner.workers.pool import IDLE_S

PAGE = " ".join((Path(__file__).resolve().parents[2] / "docs" / "evidence.md").read_text("utf-8").split())


@pytest.mark.parametrize(
    "words",
    [
        f"ocr_timeout_s = {OCR_S:.0f}",
        f"regions_timeout_s = {REGIONS_S:.0f}",
        f"aesthetics_timeout_s = {AESTHETICS_S:.0f}",
        f"(mode {SPARSE})",
        {300.0: "none for five minutes"}[IDLE_S],
        f"{MAX_BYTES // 2**20} MiB, {MAX_PIXELS // 10**6} million pixels",
        f'ocr = "{Measures().ocr}"',
        f'regions = "{Measures().regions}"',
    ],
)
def test_numbers_in_docs_match_program(words: str) -> None:
    assert words in PAGE


def test_settings_and_probes_have_same_limits() -> None:
    usual = Measures()
    assert (usual.ocr_timeout_s, usual.regions_timeout_s) == (OCR_S, REGIONS_S)
    assert usual.aesthetics_timeout_s == AESTHETICS_S
    assert [name for name in SUFFIXES if name.casefold() not in PAGE.casefold()] == []


def test_paper_counter_is_recognised_by_name() -> None:
    name = "sam2.1-large/0123456789ab/{}/float32 lines=rapidocr/3.10.0#01234567"
    assert is_paper_backend("regions", name.format(RELEASE))
    assert not is_paper_backend("regions", name.format(MaskSettings(points=16)))
