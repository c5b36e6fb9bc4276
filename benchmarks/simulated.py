"""The cases of ``plan.toml`` in virtual time: ``python -m benchmarks.simulated``. See `benchmarks.simulation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchmarks.assumed import assumed, plan_file
from benchmarks.results import figures_of
from benchmarks.simulation import Case, Costs, Outcome, ServiceSettings, simulate
from benchmarks.table import CannotRun, Cell, Table, told

LONGER = 3
"""The first case is also simulated with so many times the drawings, to see whether the model of its length holds."""


def cases(stages: Mapping[str, float]) -> list[Case]:
    """The cases as they are simulated, with what was measured of each stage."""
    found = []
    for row in plan_file()["case"]:
        database = row.get("database", "SQLite")
        painter, judge = (
            ServiceSettings(assumed(f"{who}_s"), assumed("spread"), row.get(f"{who}_per_minute"), row.get("told", True))
            for who in ("painter", "judge")
        )
        try:
            alone, together = stages[f"{database} write ms"], stages[f"{database} writes together ms"]
        except KeyError as error:
            raise CannotRun(f"no writes to {database} are measured yet; run: python -m benchmarks stages") from error
        costs = Costs(
            draw_loop_s=(stages["draw ms"] + stages["keep ms"]) / 1000,
            mark_loop_s=stages["mark ms"] / 1000,
            prepare_s=2 * stages["prepare ms"] / 1000,
            write_s=together / 1000,
            commit_s=alone / 1000,
        )
        given: dict[str, Any] = {name: row[name] for name in ("machines", "in_flight", "sharing") if name in row}
        case = Case(row["name"], row["drawings"], painter, judge, **given, cores=int(assumed("cores")), costs=costs)
        found.append(case)
    return found


def expected_s(outcome: Outcome, drawings: int) -> float:
    """How long a run of another length would take: as long to begin and to end, and as quick in between."""
    return outcome.seconds + (drawings - outcome.marked) / outcome.rate


def narrowest(outcome: Outcome) -> str:
    """What was busiest, and for which share of the time; how many calls are in flight, where nothing was busy."""
    name, share = max(outcome.busy.items(), key=lambda one: one[1])
    return f"{name} ({share:.0%} busy)" if share >= 0.5 else f"calls in flight ({name} {share:.0%} busy)"


def rows(quick: bool = False) -> Table:
    """All cases; figures have by case what the plan is worked out from."""
    stages = figures_of("stages", quick)
    chosen = [replace(one, drawings=20, in_flight=8) for one in cases(stages)[:3]] if quick else cases(stages)
    made: list[tuple[Cell, ...]] = []
    figures = {}
    for n, case in enumerate(chosen):
        found = simulate(case)
        if n == 0:
            longer = simulate(replace(case, drawings=LONGER * case.drawings))
            figures["model off by"] = abs(expected_s(found, LONGER * case.drawings) / longer.seconds - 1)
        share = found.marked / case.drawings
        made.append(
            (
                case.name, case.drawings, found.seconds / 60, found.rate * 3600, f"{share:.1%}", found.failed,
                found.refused, found.writes / case.drawings, narrowest(found),
            )
        )  # fmt: skip
        figures |= {f"{case.name}: {what}": value for what, value in _figures(found).items()}
    heads = (
        "case", "drawings", "minutes", "drawings an hour", "marked", "failed", "refused calls", "writes a drawing",
        "narrowest place",
    )  # fmt: skip
    note = (
        "Drawings an hour: in the middle half of the run. A run of another length is taken to begin and end as slowly "
        f"and to be as quick in between; for {LONGER} times the drawings of the first case that was off by "
        f"{figures['model off by']:.1%}."
    )
    return Table(heads, tuple(made), figures, note)


def _figures(found: Outcome) -> dict[str, float]:
    return {"seconds": found.seconds, "marked": float(found.marked), "rate": found.rate, "failed": float(found.failed)}


if __name__ == "__main__":
    print(told(rows()))
