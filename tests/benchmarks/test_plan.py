"""The plan for a million drawings: its prices are Limner's own, its hours follow from what was simulated."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.assumed import assumed, plan_file, rows
from benchmarks.results import Result
from benchmarks.table import CannotRun

from benchmarks import at_a_million, first_to_break, plan, results, simulated
from limner.core.settings import load as load_settings

SERVICES = plan_file()["services"]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    return results.FILE


def simulated_as(**figures: float) -> Result:
    named = {f"{row['name']}: {what}": value for row in plan_file()["case"] for what, value in figures.items()}
    return Result(day="2026-11-16", figures=named)


def test_prices_are_those_of_the_list() -> None:
    services = SERVICES[0]
    draw, mark = plan.price(services["painter"], services["judge"])
    assert draw == load_settings().painters[services["painter"]].image_price
    facts = load_settings().models[services["judge"]]
    assert facts.input_price is not None
    assert facts.output_price is not None
    assert 0 < mark < (100_000 * facts.input_price + 100_000 * facts.output_price) / 1e6


def test_hours_follow_from_the_simulated_rate(stored: Path) -> None:
    results.save({"simulated": simulated_as(seconds=3600.0, marked=1000.0, rate=10.0, failed=0.0)}, stored)
    table = plan.rows()
    first = table.rows[0]
    hours = 1 + (1_000_000 - 1000) / 10 / 3600
    assert first[2] == pytest.approx(hours)
    draw, mark = plan.price(SERVICES[0]["painter"], SERVICES[0]["judge"])
    assert first[4:] == pytest.approx(
        (1e6 * draw, 1e6 * mark, hours * assumed("machine_dollars"),
         1e6 * (draw + mark) + hours * assumed("machine_dollars"))
    )  # fmt: skip
    batches = [row for row in table.rows if str(row[0]).startswith("In batches")]
    assert len(batches) == len(SERVICES)
    share, _ = plan.batch_terms(SERVICES[0]["painter"]) or (assumed("batch_share"), 0)
    assert batches[0][4] == pytest.approx(1e6 * draw * share)


def test_nothing_is_worked_out_from_nothing(stored: Path) -> None:
    for module in (simulated, plan, at_a_million, first_to_break):
        with pytest.raises(CannotRun, match="has not run yet; run: python -m benchmarks"):
            module.rows()


def test_a_million_is_a_million_times_one(stored: Path) -> None:
    names = ("draw", "keep", "mark", "prepare", "ocr", "regions", "score", "site")
    figures = {f"{name} ms": 3.6 for name in names}
    figures |= {"store rows": 7.0, "store bytes": 2000.0, "writes": 6.0, "blob bytes": 50_000.0, "score bytes": 1000.0}
    figures |= {f"{name} writes together ms": 0.5 for name in ("SQLite", "PostgreSQL")}
    results.save(
        {
            "stages": Result(day="2026-11-16", figures=figures),
            "simulated": simulated_as(seconds=1.0, marked=1.0, rate=2.5, failed=0.0),
        },
        stored,
    )
    found = {row[0]: row[3] for row in at_a_million.rows().rows}
    assert found["Rows of the database"] == pytest.approx(7)
    assert found["Size of the database"] == pytest.approx(2)
    assert found["Pictures"] == pytest.approx(50)
    assert found["OCR"] == pytest.approx(1 / assumed("cores"))
    narrow = first_to_break.rows().rows
    rates = [row[1] for row in narrow]
    assert rates == sorted(rates, key=lambda one: float(one or 0))
    assert first_to_break.places()["SQLite, all writes of all machines"] == pytest.approx(1.2e6)
    assert narrow[0][1] == pytest.approx(9000)


def test_every_assumption_has_its_reason() -> None:
    assert all(row[0] and row[2] for row in rows().rows)
    named = {word for row in plan_file()["case"] for word in row}
    known = {"name", "machines", "in_flight", "drawings", "database", "sharing", "told", "plan"}
    assert named <= known | {"painter_per_minute", "judge_per_minute"}
