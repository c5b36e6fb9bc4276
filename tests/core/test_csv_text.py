"""CSV: formulas are marked as text, and what is read back is what was written."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from limner.core.data_rows import FORMULA, plain_cell, write_csv


@pytest.mark.parametrize("sign", FORMULA)
def test_formula_is_marked_as_text(sign: str) -> None:
    formula = f'{sign}HYPERLINK("http://x", 1)'
    text = write_csv([formula, "n"], [{formula: formula, "n": "-1.5"}])
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    ((name, value), (_, number)) = row.items()
    assert (name, value, number) == (f"'{formula}", f"'{formula}", "-1.5")
    assert plain_cell(value) == formula


def test_all_csv_is_written_by_one_function() -> None:
    source = Path(__file__).parents[2] / "src" / "limner"
    writers = [
        path.name for path in source.rglob("*.py") if "csv.writer" in (text := path.read_text()) or "DictWriter" in text
    ]
    assert writers == ["data_rows.py"]
