"""The tables of the page of speed are those that benchmarks wrote, and say when and where."""

from __future__ import annotations

import re

import pytest
from benchmarks.listing import Aim, Benchmark, benchmarks
from benchmarks.page import FILE as PAGE
from benchmarks.page import aims, render, section
from benchmarks.results import FILE, Result, load, machine
from benchmarks.table import Table, markdown, shown

ROWS = Result(("way", "ms"), (("quick", 1.234),), {"ms": 1.234}, "Once.", "2026-11-16", "2 cores, Python 3; quiet")
ONE = Benchmark("one", "One thing", "What it is.", aims=(Aim("ms", "Its milliseconds", at_most=2),))


def test_page_shows_stored_results() -> None:
    """Where this fails, run ``python -m benchmarks --write``."""
    words = PAGE.read_text("utf-8")
    assert render(words, benchmarks(), load(FILE)) == words


def test_every_benchmark_and_every_figure_of_aims_exists() -> None:
    known, stored = benchmarks(), load(FILE)
    assert stored.keys() <= {one.name for one in known}
    for one in known:
        source = (FILE.parent / f"{one.name}.py").read_text("utf-8")
        assert re.search(r"\ndef rows\(quick: bool = False(, [^\n]*)?\) -> Table:\n", source), one.name
        missing = [aim.figure for aim in one.aims if aim.figure not in stored.get(one.name, Result()).figures]
        assert not missing or one.name not in stored or stored[one.name].day is None, (one.name, missing)


def test_machine_description_does_not_identify_machine() -> None:
    words = r"\d+ cores? \(\w+\), \w+, Python [\w.+]+; (quiet|not quiet: \d+% of it busy with other work)"
    assert re.fullmatch(words, machine(0.0))
    for name, one in load(FILE).items():
        assert one.day is None or re.fullmatch(words, one.machine), name
    text = FILE.read_text("utf-8") if FILE.exists() else ""
    text += PAGE.read_text("utf-8")
    assert not re.search(r"(?<!\w)/(tmp|home|root|work)/", text)


def test_section_has_table_date_and_machine() -> None:
    text = section(ONE, ROWS)
    assert "| quick | 1.23 |" in text
    assert "*Measured* on 2026-11-16: 2 cores, Python 3; quiet." in text


def test_skipped_benchmark_keeps_its_rows_and_gives_reason() -> None:
    from benchmarks.results import skipped

    text = section(ONE, skipped(ROWS, "no GPU here"))
    assert "| quick | 1.23 |" in text
    assert "Measured* on 2026-11-16" in text
    assert "Not done again since: no GPU here." in text
    assert "Not measured yet: no GPU here." in section(ONE, skipped(None, "no GPU here"))


def test_aims_are_shown_beside_measurements() -> None:
    worse = Result(figures={"ms": 2.5})
    assert "| Its milliseconds | at most 2 | 1.23 | yes |" in aims([ONE], {"one": ROWS})
    assert "| Its milliseconds | at most 2 | 2.50 | **no** |" in aims([ONE], {"one": worse})
    assert "| Its milliseconds | at most 2 | not measured yet |  |" in aims([ONE], {})


def test_sections_replace_previous_content() -> None:
    words = "a\n<!-- aims -->\n<!-- end -->\n<!-- benchmarks -->\nold\n<!-- end -->\nz\n"
    page = render(words, [ONE], {"one": ROWS})
    assert section(ONE, ROWS) in page
    assert "old" not in page
    assert render(page, [ONE], {"one": ROWS}) == page
    with pytest.raises(ValueError, match="0 places for aims"):
        render("nothing here", [ONE], {})


def test_numbers_are_shown_with_three_digits() -> None:
    assert [shown(one) for one in (0.001234, 0.1234, 1.234, 12.34, 1234.5, 12345, 0.0, None, "a|b")] == [
        "0.00123", "0.123", "1.23", "12.3", "1,234", "12,345", "0", "", "a\\|b",
    ]  # fmt: skip
    assert markdown(("a", "b"), (("x", 1),)).splitlines()[1] == "| --- | --: |"
    with pytest.raises(ValueError, match="1 cells under 2 heads"):
        Table(("a", "b"), ((1,),))
