"""The same runs in virtual time and by the real clock: ``python -m benchmarks.simulation_check``."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.simulation import Case, ServiceSettings, run_really, simulate
from benchmarks.table import Cell, Table, told

PAINTER, JUDGE = ServiceSettings(0.6, 0.4), ServiceSettings(0.3, 0.4)
CASES = (
    Case("One machine, 16 calls at a time", 120, PAINTER, JUDGE, in_flight=16),
    Case("Two machines, 8 calls at a time, questions in parts", 120, PAINTER, JUDGE, machines=2, in_flight=8),
    Case("One machine, 1,200 pictures a minute allowed and told", 120, replace(PAINTER, per_minute=1200), JUDGE),
    Case("One machine, a purse that all calls are paid from", 80, PAINTER, JUDGE, in_flight=16, bound=0.1, purse=1.2),
)


def rows(quick: bool = False) -> Table:
    """Each case both ways."""
    made: list[tuple[Cell, ...]] = []
    worst = 0.0
    for given in CASES[:1] if quick else CASES:
        case = replace(given, drawings=8) if quick else given
        if case.purse is not None:
            # Enough for all, but not for all at once.
            case = replace(case, purse=2 * case.drawings * case.bound + 10 * case.bound)
        virtual, real = simulate(case), run_really(case)
        off = virtual.seconds / real.seconds - 1
        worst = max(worst, abs(off))
        made.append((case.name, case.drawings, virtual.seconds, real.seconds, f"{off:+.1%}"))
    heads = ("case", "drawings", "simulated seconds", "real seconds", "simulated against real")
    note = "The simulated machine takes no time for its own work here; the real one does."
    return Table(heads, tuple(made), {"worst difference": worst}, note)


if __name__ == "__main__":
    print(told(rows()))
