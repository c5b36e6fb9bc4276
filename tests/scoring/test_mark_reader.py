"""Tests for marks without reasons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.core.marks import Mark
from limner.scoring import load_groups, standings
from limner.scoring.comparable import CUT, Cut, _cut, _shared
from limner.scoring.mark_reader import MarkReader
from limner.scoring.stats import resample
from limner.store import Store
from tests.tables import synthetic

MARKS = st.builds(Mark, st.sampled_from("abc"), st.integers(0, 2), st.text(max_size=5), st.sampled_from(["", "j"]))


@given(st.lists(MARKS, max_size=6))
def test_marks_say_the_same_without_their_reasons_and_are_shared(marks: list[Mark]) -> None:
    reader, bare = MarkReader(reasons=False), tuple(replace(mark, reason="") for mark in marks)
    found = reader.read([mark.to_json() for mark in marks])
    assert found == reader.read(marks) == bare
    assert all(one is other for one, other in zip(found, reader.read(marks), strict=True))
    assert reader.read(marks, reasons=True) == MarkReader().read([mark.to_json() for mark in marks]) == tuple(marks)


def test_json_that_leaves_out_what_is_usual_is_read() -> None:
    given = [{"criterion": "a", "value": 1, "reason": "seen"}, Mark("b", 0).to_json()]
    assert MarkReader(reasons=False).read(given) == (Mark("a", 1), Mark("b", 0))


def test_numbers_are_the_same_without_reasons(tmp_path: Path) -> None:
    protocol = exams.kind("genexam").protocol
    with Store(tmp_path / "store") as store:
        synthetic.fill(store, "genexam", painters=7, questions=12, images=False)
        whole, brief = load_groups(store, "genexam"), load_groups(store, "genexam", brief=True)
    assert {mark.reason for group in brief for entry in group.scored for mark in entry.marks} == {""}
    assert all(entry.marking and not entry.marking.marks for group in brief for entry in group.scored)
    told = [[row.to_json() for row in standings("genexam", each, protocol, "careful")] for each in (whole, brief)]
    assert told[0] == told[1]


@given(st.lists(st.frozensets(st.tuples(st.sampled_from("abcdefgh"), st.just("x"))), min_size=2, max_size=6))
def test_who_cuts_the_common_questions_is_who_leaves_the_others_most(sets: list[frozenset[tuple[str, str]]]) -> None:
    painters = [(f"p{n}", ids) for n, ids in enumerate(sets)]
    common = len(_shared(sets))
    smallest = [name for name, ids in sorted(painters, key=lambda pair: (len(pair[1]), pair[0]))]
    tries = [(name,) for name, _ in painters] + [tuple(smallest[:count]) for count in range(2, len(smallest))]
    best: Cut | None = None
    for names in tries:
        without = len(_shared(ids for name, ids in painters if name not in names))
        better = best is None or (len(names) == len(best.painters) and without > best.without)
        if common < (1 - CUT) * without and better:
            best = Cut(names, common, without)
    assert _cut(painters, common) == best


def test_products_in_parts_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    weights, columns = rng.integers(0, 5, (2000, 701)).astype(float), [rng.random(701) for _ in range(3)]
    found = resample._products(weights, columns)
    assert all(np.allclose(one, weights @ column, rtol=1e-13) for one, column in zip(found, columns, strict=True))
