"""The example notebooks run as they stand, and what they show is still of the same kind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tools.notebooks import executed, notebooks, plain

TAG = re.compile(r"<(table|img|th|strong|figure|svg)\b")
BOOKS = notebooks()


def shape(book: Any) -> list[list[tuple[str, dict[str, list[str]]]]]:
    """Of every cell its outputs: their sort, and of each form which elements of a page it has."""

    def forms(output: Any) -> dict[str, list[str]]:
        return {form: TAG.findall(str(body)) for form, body in output.get("data", {}).items()}

    return [[(output.output_type, forms(output)) for output in cell.get("outputs", ())] for cell in book.cells]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_notebooks_have_small_outputs(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert sum(bool(cell.outputs) for cell in code) >= 4, "executed"
    assert not [one for cell in code for one in cell.outputs if one.output_type in ("error", "stream")]
    forms = {form for cell in code for one in cell.outputs for form in one.get("data", {})}
    assert "text/html" in forms
    assert path.stat().st_size < 900_000
    assert "/home/" not in json.dumps(book)
    assert "/tmp/" not in json.dumps(book)


@pytest.mark.slow
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_executed_notebooks_show_same_kinds_of_output(path: Path, tmp_path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    book = plain(executed(path, tmp_path))
    assert shape(book) == shape(kept)
    numbers = [re.findall(r"\d+/\d+ done", json.dumps(one.cells)) for one in (kept, book)]
    assert numbers[0] == numbers[1] != []
