"""How many drawings an hour each narrow place of a run lets through: ``python -m benchmarks.first_to_break``."""

from __future__ import annotations

from benchmarks.assumed import assumed, plan_file
from benchmarks.results import figures_of
from benchmarks.table import Cell, Table, told

HOUR_MS, HOUR_MINUTES = 3.6e6, 60.0


def places(quick: bool = False) -> dict[str, float]:
    """Drawings an hour, drawn and marked once, that each place lets through if all others are wide enough."""
    stages, simulated = figures_of("stages", quick), figures_of("simulated", quick)
    cores, cases = assumed("cores"), plan_file()["case"]
    found = {
        "The event loop of one machine": HOUR_MS / (stages["draw ms"] + stages["keep ms"] + stages["mark ms"]),
        f"{cores:g} cores that prepare both pictures": cores * HOUR_MS / (2 * stages["prepare ms"]),
        f"{cores:g} cores that read text (OCR)": cores * HOUR_MS / stages["ocr ms"],
    }
    for name in ("SQLite", "PostgreSQL"):
        found[f"{name}, all writes of all machines"] = HOUR_MS / (
            stages["writes"] * stages[f"{name} writes together ms"]
        )
    for limit in sorted({row["painter_per_minute"] for row in cases if "painter_per_minute" in row}):
        found[f"A service that draws {limit:g} pictures a minute"] = limit * HOUR_MINUTES
    free = next(row for row in cases if row["machines"] == 1 and "painter_per_minute" not in row)
    found[f"{free['in_flight']} calls in flight, at the assumed times (simulated)"] = (
        simulated[f"{free['name']}: rate"] * HOUR_MS / 1000
    )
    return found


def rows(quick: bool = False) -> Table:
    """The narrowest place first."""
    count = int(plan_file()["drawings"])
    ordered = sorted(places(quick).items(), key=lambda one: one[1])
    made: tuple[tuple[Cell, ...], ...] = tuple((name, rate, count / rate) for name, rate in ordered)
    return Table(("narrow place", "drawings an hour", "hours for a million"), made, {}, "The first row breaks first.")


if __name__ == "__main__":
    print(told(rows()))
