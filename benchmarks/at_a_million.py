"""What a million drawings leave behind and ask for, from what one takes: ``python -m benchmarks.at_a_million``."""

from __future__ import annotations

from benchmarks.assumed import assumed, plan_file
from benchmarks.results import figures_of
from benchmarks.table import CannotRun, Cell, Table, told
from limner.core.settings import load as load_settings

GB, HOUR_MS = 1e9, 3.6e6


def rows(quick: bool = False) -> Table:
    """Each thing that grows: what was measured of one, and what a million are."""
    stages = figures_of("stages", quick)
    count = int(plan_file()["drawings"])
    cores = assumed("cores")
    blobs = count * stages["blob bytes"] / GB
    made: list[tuple[Cell, ...]] = [
        _grown("Rows of the database", stages["store rows"], "a drawing", count, 1e6, "million rows"),
        _grown("Size of the database", stages["store bytes"] / 1024, "KiB a drawing", count, GB / 1024, "GB"),
        _grown("Writes", stages["writes"], "a drawing", count, 1e6, "million writes"),
        _grown("Pictures", stages["blob bytes"] / 1024, "KiB a diagram as PNG", count, GB / 1024, "GB, as many files"),
        ("Pictures in an object store", assumed("storage_dollars"), "dollars a GB and month (assumed)",
         blobs * assumed("storage_dollars"), "dollars a month"),
        _grown("Memory of scores", stages["score bytes"] / 1024, "KiB a marking", count, GB / 1024, "GB, all at once"),
    ]  # fmt: skip
    work = {"Drawing": "draw ms", "Preparing, both pictures": "prepare ms", "Marking": "mark ms"}
    work |= {"OCR": "ocr ms", "Regions (`classical`)": "regions ms", "Scores": "score ms", "Site": "site ms"}
    for name, key in work.items():
        each = stages[key] * (2 if key == "prepare ms" else 1)
        made.append(_grown(name, each, "CPU ms each", count, HOUR_MS * cores, f"hours of {cores:g} cores"))
    made += [_set_aside(one["judge"]) for one in plan_file()["services"]]
    heads = ("what", "of one", "unit", "of a million", "unit")
    return Table(heads, tuple(made), {}, "What is measured is of one; a million is that times a million.")


def _grown(name: str, each: float, unit: str, count: int, by: float, whole: str) -> tuple[Cell, ...]:
    return name, each, unit, each * count / by, whole


def _set_aside(judge: str) -> tuple[Cell, ...]:
    """What a budget must have room for before anything is spent."""
    facts = load_settings().models[judge]
    if facts.max_output_tokens is None or facts.output_price is None:
        raise CannotRun(f"{judge} has no longest reply or no price")
    bound = facts.max_output_tokens * facts.output_price / 1e6
    most = max(row["machines"] * row["in_flight"] for row in plan_file()["case"])
    return f"Set aside by `--budget` for replies of `{judge}`", bound, "dollars a call", bound * most, (
        f"dollars with {most:,} calls in flight"
    )  # fmt: skip


if __name__ == "__main__":
    print(told(rows()))
