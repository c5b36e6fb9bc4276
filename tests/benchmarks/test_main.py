"""``python -m benchmarks``: which are run, what is kept of them, and what becomes of one that cannot run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.table import CannotRun, Table

from benchmarks import __main__ as program
from benchmarks import listing, page, results

LIST = """
[[benchmark]]
name = "cheap"
title = "A cheap one"
  [[benchmark.aim]]
  figure = "ms"
  words = "Its milliseconds"
  at_most = 2

[[benchmark]]
name = "heavy"
title = "A heavy one"
by_name = true
"""
PAGE = "# Speed\n<!-- aims -->\n<!-- end -->\n<!-- benchmarks -->\n<!-- end -->\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "list.toml").write_text(LIST)
    (tmp_path / "README.md").write_text(PAGE)
    monkeypatch.setattr(listing, "FILE", tmp_path / "list.toml")
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    monkeypatch.setattr(page, "FILE", tmp_path / "README.md")
    monkeypatch.setattr(program, "busy_share", lambda: 0.0)
    return tmp_path


def answers(monkeypatch: pytest.MonkeyPatch, tables: dict[str, Table | str]) -> list[str]:
    asked: list[str] = []

    def instead(name: str, quick: bool) -> Table | str:
        asked.append(name)
        return tables[name]

    monkeypatch.setattr(program, "run_apart", instead)
    return asked


def test_cheap_benchmarks_run_by_default_and_heavy_ones_by_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(("way", "ms"), (("a", 1.5),), {"ms": 1.5})
    asked = answers(monkeypatch, {"cheap": table, "heavy": table})
    assert program.main([]) == 0
    assert asked == ["cheap"]
    text = (place / "README.md").read_text()
    assert "| Its milliseconds | at most 2 | 1.50 | yes |" in text
    assert "Not measured yet." in text
    assert program.main(["heavy"]) == 0
    assert asked == ["cheap", "heavy"]
    assert "Not measured yet" not in (place / "README.md").read_text()
    kept = results.load(results.FILE)
    assert kept["cheap"].rows == (("a", 1.5),)
    assert kept["cheap"].machine.endswith("quiet")


def test_benchmark_that_cannot_run_keeps_its_rows(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, {"cheap": Table(("way", "ms"), (("a", 1.5),), {"ms": 1.5})})
    program.main([])
    before = results.load(results.FILE)["cheap"]
    answers(monkeypatch, {"cheap": "no GPU here"})
    assert program.main([]) == 3
    after = results.load(results.FILE)["cheap"]
    assert (after.rows, after.day, after.skipped) == (before.rows, before.day, "no GPU here")
    text = (place / "README.md").read_text()
    assert "Not done again since: no GPU here." in text
    assert "| a | 1.50 |" in text


def test_quick_runs_store_no_results(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, {"cheap": Table(("way",), (("a",),))})
    assert program.main(["--quick"]) == 0
    assert (place / "README.md").read_text() == PAGE
    assert not results.FILE.exists()


@pytest.mark.slow
def test_pages_can_be_written_without_running(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answers(monkeypatch, {})
    results.save({"cheap": results.measured(Table(("way",), (("kept",),)), 0.9)}, results.FILE)
    assert program.main(["--write"]) == 0
    assert asked == []
    text = (place / "README.md").read_text()
    assert "| kept |" in text
    assert "not quiet: 90% of it busy with other work" in text


def test_unknown_benchmark_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["none"])
    assert ended.value.code == 2
    assert "no benchmark none; there are: cheap, heavy" in capsys.readouterr().err


def test_result_of_benchmark_is_returned_from_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("benchmarks.pretended")

    def rows(quick: bool = False) -> Table:
        raise CannotRun("no GPU here")

    module.rows = rows  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "benchmarks.pretended", module)
    program.run_here("pretended", True, tmp_path / "found.json")
    assert (tmp_path / "found.json").read_text() == '{"skipped": "no GPU here"}'
    table = program.run_apart("graph_distance", quick=True)
    assert isinstance(table, Table)
    assert table.columns == ("way", "ms a graph", "times exact")
    assert table.rows[0][0] == "exact"


def test_aim_without_bound_and_repeated_name_are_refused(place: Path) -> None:
    (place / "list.toml").write_text(LIST.replace("at_most = 2", ""))
    with pytest.raises(ValueError, match="need at_least or at_most"):
        listing.benchmarks()
    (place / "list.toml").write_text(LIST + LIST)
    with pytest.raises(ValueError, match="has cheap, heavy twice"):
        listing.benchmarks()
