"""Hostile files are refused or come out harmless, in bounded time and memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limner.strategies.svg import BadSvg, clean, render
from limner.strategies.svg.document import LIMITS
from tests.strategies.svg import harmless
from tests.strategies.svg.hostile import FORBIDDEN, HEAVY, HOSTILE, Case

SECONDS = 5.0
ROOT = Path(__file__).resolve().parents[3]


def processor_time() -> float:
    """Of this process and of those it has waited for: a busy machine does not count."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def seconds(work: Callable[[], object]) -> float:
    """What it takes at least: a process that another test has left may be waited for in between, but not each time."""
    found = SECONDS
    for _ in range(3):
        if found >= SECONDS:
            before = processor_time()
            work()
            found = processor_time() - before
    return found


def cases(of: dict[str, Case], *marks: pytest.MarkDecorator) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=name, marks=marks) for name, case in of.items()])


@cases(HOSTILE)
def test_hostile_svg_is_refused_or_harmless(case: Case) -> None:
    data = case.make()

    def examined() -> None:
        if case.refused:
            with pytest.raises(BadSvg, match=case.refused) as refusal:
                clean(data)
            assert len(str(refusal.value)) < 200
        else:
            done = clean(data)
            harmless.check(done)
            plain = done.lower().replace('xmlns="http://www.w3.org/2000/svg"', "")
            assert not [word for word in FORBIDDEN if word in plain]
            assert render(data).startswith(b"\x89PNG")

    assert seconds(examined) < SECONDS


@cases(HEAVY, pytest.mark.slow)
def test_slow_rendering_is_stopped(case: Case) -> None:
    data = case.make()
    harmless.check(clean(data))

    def drawn() -> None:
        with pytest.raises(BadSvg, match=str(case.refused)):
            render(data)

    assert seconds(drawn) < SECONDS


ALONE = """
import resource
from limner.strategies.svg import BadSvg, render
from tests.strategies.svg.hostile import HEAVY
try:
    render(HEAVY["giant tile"].make())
except BadSvg:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def test_memory_stays_within_the_limit() -> None:
    # In a process of its own: the largest of all children would be another test's.
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=ROOT, capture_output=True, check=True, text=True)
    assert 2**20 < int(done.stdout) <= LIMITS.memory
