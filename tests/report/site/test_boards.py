"""The site's numbers are those of `limner scores`, `compare` and `agree`: in their order, without whoever cuts, and who
can be told from whom."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest

from limner import api
from limner.scoring import compare
from limner.store import Store
from tests.report.site.conftest import Site
from tests.report.site.test_uneven import LABELS, exam_of


def listed(
    exam: dict[str, Any], board: dict[str, Any], score: str, view: str = "common"
) -> list[tuple[str, int | None]]:
    """Names and places in the order the page shows when it is sorted by a score."""
    rows = [(row["views"]["common"] or row["views"]["all"], exam["painters"][row["p"]]["row"]) for row in board["rows"]]
    return [(name, numbers["order"][score][1]) for numbers, name in sorted(rows, key=lambda r: r[0]["order"][score][0])]


@pytest.mark.parametrize("score", ["strict", "relaxed", "semantic"])
def test_rows_are_sorted_as_in_scores_command(odd: Site, site: Site, score: str) -> None:
    for made, judge in ((odd, LABELS[0]), (site, "fake/judge")):
        exam = exam_of(made.folder)
        way = next(way for way in exam["ways"] if way["name"] == judge)
        with Store(made.store, create=False) as store:
            rows = api.scores("genexam", store=store, judges=[judge], sort=score)
        assert listed(exam, way, score) == [(row.name, row.place) for row in rows]


def test_numbers_without_low_coverage_painter_match_scores_command(odd: Site) -> None:
    exam = exam_of(odd.folder)
    way = exam["ways"][0]
    names = [painter["row"] for painter in exam["painters"]]
    assert [names[p] for p in way["cut"]["painters"]] == ["lab/cutter"]
    assert (way["cut"]["questions"], way["cut"]["without"]) == (4, 12)
    (fewer,) = way["without"]
    assert [names[p] for p in fewer["left_out"]] == ["lab/cutter"]
    assert fewer["cut"] is None
    with Store(odd.store, create=False) as store:
        rows = api.scores("genexam", store=store, judges=[LABELS[0]], without=["lab/cutter"])
        (found,) = compare.painters("genexam", store=store, judges=[LABELS[0]], without=["lab/cutter"], score="strict")
    assert [(names[row["p"]], row["place"]) for row in fewer["rows"]] == [(row.name, row.place) for row in rows]
    for shown, row in zip(fewer["rows"], rows, strict=True):
        for view, numbers in (("common", row.common), ("all", row.all)):
            if numbers is None:
                assert shown["views"][view] is None
                continue
            assert shown["views"][view]["n"] == numbers.n
            known = {name: each for name, each in numbers.scores.items() if each.value is not None}
            assert shown["views"][view]["scores"].keys() == known.keys()
            for name, each in known.items():
                assert shown["views"][view]["scores"][name][:3] == pytest.approx([each.value, each.low, each.high])
    ranks = {place.name: [place.rank.low, place.rank.high] for place in found.places if place.rank}
    assert ranks.keys() >= {"lab/better", "lab/even"}
    told = [[names[p] for p in run] for run in fewer["untold"]]
    apart = {frozenset((pair.first, pair.second)) for pair in found.pairs if pair.winner}
    assert told, "some cannot be told apart"
    for run in told:
        assert not any(frozenset(pair) in apart for pair in combinations(run, 2))


def test_lines_join_painters_without_significant_difference(site: Site) -> None:
    exam = exam_of(site.folder)
    way = next(way for way in exam["ways"] if way["name"] == "fake/judge")
    names = [painter["row"] for painter in exam["painters"]]
    with Store(site.store, create=False) as store:
        (found,) = compare.painters("genexam", store=store, judges=["fake/judge"], score=way["by"])
    apart = {frozenset((pair.first, pair.second)) for pair in found.pairs if pair.winner}
    order = [names[row["p"]] for row in way["rows"]]
    runs = [[names[p] for p in run] for run in way["untold"]]
    for run in runs:
        start = order.index(run[0])
        assert run == order[start : start + len(run)], "a line joins neighbours"
    joined = {frozenset(pair) for run in runs for pair in combinations(run, 2)}
    neighbours = {frozenset(pair) for pair in pairwise(order)}
    assert not joined & apart
    assert neighbours - apart <= joined, "neighbours who cannot be told apart are joined"


def test_costs_are_separate_and_unknown_cost_is_not_zero(site: Site, odd: Site) -> None:
    exam = exam_of(site.folder)
    rows = {exam["painters"][row["p"]]["row"]: row["costs"] for row in exam["ways"][0]["rows"]}
    assert rows["openai/gpt-image-1"]["drawing"] > 0.16
    assert rows["dashscope/qwen-image"]["drawing"] is None
    assert all(costs["marking"] is not None for costs in rows.values())
    odd_rows = exam_of(odd.folder)["ways"][0]["rows"]
    assert all(row["costs"]["marking"] == pytest.approx(0.01) for row in odd_rows if row["n"])
