"""Everything wrong with rows is noted by file, line and id, and told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core.errors import DataError
from limner.core.problems import LONGEST, SHOWN, Problems, parse_row, short
from limner.core.schema import FrozenModel, Id

FILE = Path("a.jsonl")


class Part(FrozenModel):
    """Something in a row."""

    points: int


class Line(FrozenModel):
    """A row."""

    id: Id
    parts: tuple[Part, ...] = ()


def test_nothing_wrong_is_nothing_told() -> None:
    problems = Problems()
    assert parse_row(Line, {"id": "x"}, problems, FILE, 1) == Line(id="x")
    problems.settle()


def test_one_problem_is_told_as_itself() -> None:
    problems = Problems()
    problems.add("is odd", FILE, 3, "x")
    with pytest.raises(DataError) as caught:
        problems.settle()
    assert caught.value is problems.found[0]
    assert str(caught.value) == "a.jsonl:3: id x: is odd"


def test_of_many_problems_the_first_are_shown() -> None:
    problems = Problems()
    for line in range(1, SHOWN + 4):
        problems.add("is odd", FILE, line)
    with pytest.raises(DataError) as caught:
        problems.settle()
    first, *shown, last = str(caught.value).splitlines()
    assert (first, len(shown), last.strip()) == (f"{SHOWN + 3} problems:", SHOWN, "… and 3 more")


def test_what_stands_in_a_list_goes_by_its_own_id() -> None:
    problems = Problems()
    row = {"id": "x", "parts": [{"id": "first", "points": "no"}, {"points": "no"}]}
    assert parse_row(Line, row, problems, FILE, 7) is None
    assert [str(problem).partition(": Input")[0] for problem in problems.found] == [
        "a.jsonl:7: id x: parts.first.points",
        "a.jsonl:7: id x: parts.1.points",
    ]


def test_a_message_bears_only_so_much() -> None:
    assert short("x" * LONGEST) == "x" * LONGEST
    assert short("x" * 5000) == "x" * LONGEST + "… (5,000 characters)"
