from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limner.report.site import build, leaderboard, pair_data
from limner.scoring import MET, Comparable
from limner.scoring.compare import painters
from limner.store import Store
from tests.report.site.conftest import Site
from tests.report.site.reading import keys, parts
from tests.report.tables import synthetic


def rows_of(site: Site, exam: str) -> list[str]:
    return [painter["row"] for painter in parts(site.data(exam), "exam")[0]["painters"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exam", "way", "judge"), [("genexam", 0, "fake/judge"), ("genexam", 1, "ocr"), ("mmmg", 0, "")]
)
def test_page_numbers_match_compare_command(site: Site, exam: str, way: int, judge: str) -> None:
    names = rows_of(site, exam)
    (body,) = parts(site.data(exam), f"pairs/{way}")
    for score, pairs in body["pairs"].items():
        (wanted,) = painters(exam, store=site.store, score=score, judges=[judge] if judge else [])
        told = {frozenset((pair.first, pair.second)): pair for pair in wanted.pairs}
        assert {frozenset((names[row[0]], names[row[1]])) for row in pairs} == set(told)
        for one, other, value, low, high, n, *tested in pairs:
            pair = told[frozenset((names[one], names[other]))]
            sign = 1 if pair.first == names[one] else -1
            ends = sorted(sign * end for end in (pair.difference.low, pair.difference.high) if end is not None)
            assert value == pytest.approx(sign * (pair.difference.value or 0), abs=1e-6)
            assert [low, high] == pytest.approx(ends, abs=1e-6) if ends else low is high is None
            assert n == pair.difference.n
            if tested:
                assert tested == [
                    pytest.approx(pair.deciding_p, abs=1e-6),
                    pair.differing,
                    pair.verdict,
                    pair.corrected,
                ]
        worth = {place.name: place.score.value for place in wanted.places}
        assert body["values"][score] == {
            str(names.index(name)): pytest.approx(value, abs=1e-6) for name, value in worth.items() if value is not None
        }
    assert body["tested"]
    assert all(len(row) == 10 for row in body["pairs"][body["score"]])
    assert body["score"] == painters(exam, store=site.store, judges=[judge] if judge else [])[0].score.name


def test_met_is_reported_per_question_where_it_is_the_score(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Comparable, "score", lambda *_: MET)
    build(tmp_path / "out", ["mmmg"], store=site.store, images=False)
    data = tmp_path / "out" / "exams" / "mmmg" / "data"
    (body,) = parts(data, "pairs/0")
    assert body["score"] == "met"
    (wanted,) = painters("mmmg", store=site.store, score="met")
    values = {str(rows_of(site, "mmmg").index(place.name)): place.score.value for place in wanted.places}
    assert body["values"]["met"] == {place: pytest.approx(value) for place, value in values.items()}
    for painter in parts(data, "exam")[0]["painters"]:
        (mine,) = parts(data, f"rows/{painter['key']}")
        assert sum(value is not None for value in mine["scores"]["met"]["all"]) == len(body["common"])


def test_two_judges_are_compared_on_the_drawings_both_marked(site: Site) -> None:
    (body,) = parts(site.data(), "judges")
    assert {(one, other) for _, one, other, *_ in body["pairs"]["met"]} == {(0, 1)}
    place, _, _, value, low, high, n, mine, theirs = body["pairs"]["met"][0]
    assert value == pytest.approx(mine - theirs, abs=1e-5)
    assert low <= value <= high
    assert 0 < n <= 12
    assert place == 0


def _two_seeds(folder: Path) -> Path:
    """A store in which every painter drew every question with two seeds."""
    from limner.store.records import load_drawings
    from limner.store.schema import drawings

    with Store(folder / "store") as store:
        synthetic.fill(store, "genexam", painters=2, questions=8, strategies=("direct", "edit"), faults=False)
        ids = [one.id for one in load_drawings(store, "genexam") if one.strategy == "edit"]
        changed = drawings.update().where(drawings.c.id.in_(ids)).values(strategy="direct", seed=7)
        store.write(lambda connection: connection.execute(changed))
    return folder / "store"


def test_two_seeds_of_a_painter_are_compared(tmp_path: Path) -> None:
    build(tmp_path / "out", store=_two_seeds(tmp_path), images=False)
    data = tmp_path / "out" / "exams" / "genexam" / "data"
    (body,) = parts(data, "pairs/0")
    assert {tuple(row[1:3]) for row in body["seeds"]["strict"]} == {(0, 7)}
    (mine,) = parts(data, f"rows/{parts(data, 'exam')[0]['painters'][0]['key']}")
    columns = mine["scores"]["strict"]
    assert {*columns} == {"all", "0", "7"}
    gaps = [one - other for one, other in zip(columns["0"], columns["7"], strict=True)]
    row = next(row for row in body["seeds"]["strict"] if row[0] == 0)
    assert row[3] == pytest.approx(sum(gaps) / len(gaps), abs=1e-3)
    assert row[3] == pytest.approx(row[7] - row[8], abs=1e-5)
    assert columns["all"] == pytest.approx([(a + b) / 2 for a, b in zip(columns["0"], columns["7"], strict=True)])


@pytest.mark.slow
def test_tests_and_intervals_are_skipped_above_limits(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(name: str) -> dict[str, Any]:
        build(tmp_path / name, ["genexam"], store=site.store, images=False, judges=["fake/judge"])
        body: dict[str, Any] = parts(tmp_path / name / "exams" / "genexam" / "data", "pairs/0")[0]
        return body

    (whole,) = parts(site.data(), "pairs/0")
    monkeypatch.setattr(leaderboard, "MAX_TESTS", 5)
    body = built("untested")
    assert not body["tested"]
    plain = {frozenset(row[:2]): [abs(number or 0) for number in row[2:3]] for row in body["pairs"]["strict"]}
    assert plain == {frozenset(row[:2]): [abs(row[2])] for row in whole["pairs"]["strict"]}
    assert all(len(row) == 6 for row in body["pairs"]["strict"])
    monkeypatch.setattr(pair_data, "MAX_INTERVAL_ROWS", 3)
    body = built("unpaired")
    assert not any(body["pairs"].values())
    assert body["values"] == whole["values"]


def test_question_boxes_are_stored_without_size(site: Site) -> None:
    found = [
        part["boxes"]
        for key in keys(site.data()).values()
        for part in parts(site.data(), f"q/{key}")
        if "boxes" in part
    ]
    assert found
    assert all("size" not in box for box in found)
