from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner.core.errors import UsageError
from limner.store import Store
from limner.tables.question import write_steps
from limner.tables.steps import CARD, GAP, PER_ROW, Card, cards, sheet
from tests.support import picture


def test_cards_tell_the_steps_in_order(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        one, _ = store.blobs.put(picture(1))
        steps: list[dict[str, Any]] = [
            {"step": "rewrite", "text": "A cell."},
            {"step": "candidate", "seed": 0, "image": one},
            {"step": "candidate", "seed": 1, "fault": "refusal", "text": "no"},
        ]
        found = cards("Draw a cell.", steps, one, store.blobs)
    assert [card.title for card in found] == [
        "what was asked", "rewrite", "candidate (seed 0)", "candidate (seed 1) · refusal", "the drawing",
    ]  # fmt: skip
    assert [card.kept for card in found] == [False, False, True, False, True]
    assert found[0].text == "Draw a cell."


def test_the_sheet_has_room_for_every_card() -> None:
    many = [Card(str(n), "word " * 200, Image.new("RGB", (280, 200), "red")) for n in range(PER_ROW + 1)]
    made = sheet(many)
    assert made.width == GAP + PER_ROW * (CARD + GAP)
    reds = made.getcolors(maxcolors=10**6)
    assert reds is not None
    assert next(count for count, colour in reds if colour == (255, 0, 0)) == (PER_ROW + 1) * 280 * 200


def test_words_longer_than_a_card_do_not_run_over_its_edge() -> None:
    made = sheet([Card("x", "Donaudampfschifffahrt" * 20)])
    assert made.getpixel((made.width - 2, 60)) == made.getpixel((made.width - 2, 2))
