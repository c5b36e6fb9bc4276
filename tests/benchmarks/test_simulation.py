"""The real runner in virtual time: it takes as long as it must, pays nothing twice and keeps what it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.simulated import expected_s
from benchmarks.simulation import Case, Costs, Outcome, ServiceSettings, simulate

from limner.calls.claims import LEASE_S

PAINTER, JUDGE = ServiceSettings(10.0), ServiceSettings(5.0)
CASE = Case("a case", 8, PAINTER, JUDGE, in_flight=4)


def test_a_run_takes_as_many_rounds_as_its_calls_in_flight_allow() -> None:
    found = simulate(CASE)
    assert found.seconds == pytest.approx(2 * (10 + 5))
    assert (found.marked, found.failed, found.calls, found.refused) == (8, 0, 16, 0)
    assert found.finished == pytest.approx([15] * 4 + [30] * 4)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    spread = replace(CASE, painter=replace(PAINTER, spread=0.5), judge=replace(JUDGE, spread=0.5), machines=2)
    first = simulate(spread)
    assert simulate(spread) == first
    assert simulate(replace(spread, seed=1)).seconds != first.seconds


def test_machines_with_parts_of_their_own_are_as_many_times_as_fast() -> None:
    assert simulate(replace(CASE, machines=2)).seconds == pytest.approx(15)


@pytest.mark.slow
def test_machines_with_the_same_questions_pay_nothing_twice_however_long_a_call_takes() -> None:
    long = replace(CASE, drawings=1, machines=2, painter=ServiceSettings(2.5 * LEASE_S), sharing="one order")
    found = simulate(long)
    assert (found.calls, found.marked, found.failed) == (2, 1, 0)
    assert found.seconds >= 2.5 * LEASE_S + 5


@pytest.mark.slow
def test_a_limit_that_is_told_is_kept_and_one_that_is_not_brings_refusals() -> None:
    limited = replace(CASE, drawings=12, in_flight=12, painter=replace(PAINTER, per_minute=6))
    told = simulate(limited)
    assert (told.refused, told.marked) == (0, 12)
    assert told.seconds >= 60 + 15
    untold = simulate(replace(limited, painter=replace(limited.painter, told=False)))
    assert untold.refused > 0
    assert untold.marked + untold.failed == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("costs", "place", "each"),
    [
        (Costs(mark_loop_s=40), "event loops", 40),
        (Costs(prepare_s=80), "cores", 40),
        (Costs(write_s=10), "database", 60),
    ],
)
def test_the_narrowest_place_decides(costs: Costs, place: str, each: float) -> None:
    found = simulate(replace(CASE, costs=costs))
    assert max(found.busy, key=found.busy.__getitem__) == place
    assert found.busy[place] == pytest.approx(1, abs=0.15)
    assert found.seconds >= CASE.drawings * each


def test_a_shared_purse_is_kept() -> None:
    found = simulate(replace(CASE, machines=2, bound=0.5, purse=8.0))
    assert (found.marked, found.failed) == (8, 0)


def test_a_longer_run_is_worked_out_from_a_shorter_one() -> None:
    # Eight in the first ten seconds, then one a second.
    found = Outcome(30.0, 21, 0, 42, 0, 0, tuple(float(n) for n in range(10, 31)), {})
    assert found.rate == pytest.approx(1)
    assert expected_s(found, 121) == pytest.approx(130)
