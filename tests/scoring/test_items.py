"""."""

from __future__ import annotations

import csv
import io
import json
from math import sqrt
from pathlib import Path
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from limner import exams
from limner.scoring.groups import find_groups
from limner.scoring.items import (
    FLAGS,
    MIN_PAINTERS,
    ItemTable,
    discrimination,
    group_size,
    item_statistics,
    item_total,
)
from limner.scoring.numbers import shares
from limner.store import Store
from tests.cli.invoke import limner
from tests.conformance.verdicts import Verdict, write_replay
from tests.support import SmallExam, write_exam

KINDS = ("genexam", "mmmg", "worldgenbench", "fepbench", "aibench")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS])
def test_every_exam_has_item_statistics(filled: dict[str, Store], kind: str) -> None:
    store = filled[kind]
    protocol = exams.kind(kind).protocol
    _, groups = find_groups(kind, store=store)
    found = item_statistics(groups, protocol)
    assert found
    for one in found:
        assert len(one.painters) > 5
        assert not any(name.startswith("control/") for name in one.painters), "controls are no examinees"
        assert one.questions
        assert one.criteria
        assert any(row.item_total.value is not None for row in one.criteria)
        for row in (*one.questions, *one.criteria):
            assert row.item_total.value is None or -1 <= row.item_total.value <= 1
            assert (row.item_total.value is None) == (row.item_total.reason is not None)
            assert set(row.flags) <= set(FLAGS)
            assert ("never" in row.flags) == (row.right.value == 0)
        json.dumps(one.to_json(), allow_nan=False)
    # One number by another way: marks of one criterion against all others, painter by painter.
    one = found[0]
    row = next(
        row for row in one.criteria if row.item_total.value is not None and row.item_total.n == len(one.painters)
    )
    mine, others = {}, {}
    marks = {
        group.name: {
            (entry.question.id, id): value
            for entry in group.scored
            for id, value in shares(entry, protocol).items()
        }
        for group in one.groups
    }  # fmt: skip
    everyone = set.intersection(*(set(given) for given in marks.values()))
    common = {question.question for question in one.questions}
    everyone = {key for key in everyone if key[0] in common} - {(row.question, row.criterion)}
    for name, values in marks.items():
        mine[name] = values[row.question, str(row.criterion)]
        others[name] = sum(values[key] for key in everyone) / len(everyone)
    if set(mine.values()) <= {0.0, 1.0}:
        order = sorted(mine)
        oracle = stats.pointbiserialr([bool(mine[n]) for n in order], [others[n] for n in order]).statistic
        assert row.item_total.value == pytest.approx(float(oracle), abs=1e-6)


PAINTERS = ("a", "b", "c", "d", "e")


@pytest.fixture(scope="module")
def two_judges(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SmallExam]:
    """Five painters, the first the best. Nobody has point 1 of the first question, all have its point 2, its point 3 is
    for the weak; judges differ on point 1 of the second."""
    root = tmp_path_factory.mktemp("items")
    small = write_exam(root, 4)
    for turn, judge in enumerate(("one", "two")):
        sets = {}
        for place, painter in enumerate(PAINTERS):
            found = []
            for number, row in enumerate(small.rows):
                answers = [int(n + place < 4) for n in range(len(row["scoring_points"]))]
                if number == 0:
                    answers[:3] = [0, 1, int(place > 2)]
                if number == 1:
                    answers[0] = int(turn == 0 or place > 3)
                found.append(Verdict(row, tuple(answers), {"spelling": 2 - (place > 1), "readability": 2, "logic": 1}))
            sets[painter] = found
        replay = write_replay(root / f"{judge}.jsonl", sets)
        painters = [word for name in PAINTERS for word in ("--painter", f"{name}=folder/{small.drawings}")]
        words = ("--data", small.data, "--judge", f"replay/{replay}", "--store", root / "store")
        limner("run", "genexam", *painters, *words)
    return root / "store", small


@pytest.mark.slow
def test_planted_flaws_are_flagged(two_judges: tuple[Path, SmallExam], tmp_path: Path) -> None:
    place, small = two_judges
    body = limner("exam", "stats", "genexam", "--store", place, "--format", "json").json()
    assert body["exam"] == "genexam"
    first, second = small.ids[:2]
    assert len(body["judges"]) == 2
    for judge in body["judges"]:
        assert judge["painters"] == list(PAINTERS)
        assert judge["groups"] == {"share": 0.27, "painters": 1}
        rows = {(row["question"], row["criterion"]): row for row in judge["criteria"]}
        assert rows[first, "point/1"]["flags"] == ["never"]
        assert rows[first, "point/1"]["item_total"]["value"] is None, "no number where there is none"
        assert rows[first, "point/2"]["flags"] == ["always"]
        assert "negative" in rows[first, "point/3"]["flags"]
        assert rows[first, "point/3"]["discrimination"]["value"] == -1.0
        assert "disputed" in rows[second, "point/1"]["flags"]
        assert rows[second, "point/1"]["differ"] == {"value": 0.8, "n": 5, "reason": None}
        assert rows[second, "point/2"]["flags"] == []
        assert {row["question"] for row in judge["questions"]} == set(small.ids)

    table = limner("exam", "stats", "genexam", "--store", place, "--format", "csv").out
    lines = list(csv.DictReader(io.StringIO(table)))
    assert len(lines) == sum(len(judge["criteria"]) + len(judge["questions"]) for judge in body["judges"])
    assert {row["item_total"] for row in lines if row["flags"] == "never"} == {""}

    page = tmp_path / "items.html"
    result = limner("exam", "stats", "genexam", "--store", place, "--flagged", "-o", page)
    assert "no painter meets it" in result.out
    html = page.read_text("utf-8")
    assert html.count("<img") > 8
    assert "<script" not in html
    assert str(place.parent) not in html, "no path of this machine"
    assert "replay/…/one.jsonl" in html


def test_too_few_painters_are_reported(two_judges: tuple[Path, SmallExam]) -> None:
    place, _ = two_judges
    words = ("exam", "stats", "genexam", "--store", place, "--painter", "a", "--painter", "b")
    judge = limner(*words, "--format", "json").json()["judges"][0]
    assert {row["item_total"]["reason"] for row in judge["criteria"]} == {"fewer than 3 painters"}
    assert not any("never" in row["flags"] or "negative" in row["flags"] for row in judge["criteria"])
    assert "only 2: numbers of so few painters say little" in limner(*words).out


names = st.lists(st.integers(0, 99), min_size=3, max_size=12, unique=True).map(lambda some: [f"p{n}" for n in some])


@st.composite
def marked(draw: st.DrawFn) -> tuple[dict[str, float], dict[str, float]]:
    """An item of yes and no, and the rest of the exam."""
    who = draw(names)
    item = {name: float(draw(st.booleans())) for name in who}
    return item, {name: draw(st.integers(0, 40)) / 40 for name in who}


@given(marked())
def test_item_total_is_point_biserial_correlation(given_: tuple[dict[str, float], dict[str, float]]) -> None:
    item, rest = given_
    found = item_total(item, rest)
    assert found.n == len(item)
    if len(set(item.values())) == 1 or len(set(rest.values())) == 1:
        assert (found.value, bool(found.reason)) == (None, True)
        return
    order = sorted(item)
    oracle = stats.pointbiserialr([bool(item[n]) for n in order], [rest[n] for n in order]).statistic
    assert found.value == pytest.approx(float(oracle), abs=1e-9)
    # By hand: the means of those who meet it and of those who do not, apart, in spreads of all.
    met, missed = ([rest[n] for n in order if item[n] == value] for value in (1.0, 0.0))
    share = len(met) / len(order)
    by_hand = (fmean(met) - fmean(missed)) / pstdev(rest.values()) * sqrt(share * (1 - share))
    assert found.value == pytest.approx(by_hand, abs=1e-9)


def test_discrimination_uses_extreme_groups_with_shared_ties() -> None:
    rest = {name: float(n) for n, name in enumerate("abcdefgh")}
    assert group_size(8) == 2
    assert discrimination({name: float(name in "fgh") for name in rest}, rest).value == 1.0
    assert discrimination({name: float(name in "ah") for name in rest}, rest).value == 0.0
    # Three are tied for the two lowest places: each has two thirds of one.
    tied = {**rest, "a": 1.0, "c": 1.0}
    assert discrimination({name: float(name == "a") for name in rest}, tied).value == pytest.approx(-1 / 3)


@pytest.mark.parametrize("count", range(MIN_PAINTERS))
def test_too_few_painters_give_reason(count: int) -> None:
    item = {f"p{n}": float(n % 2) for n in range(count)}
    rest = {f"p{n}": n / 7 for n in range(count)}
    assert item_total(item, rest).value is None
    assert discrimination(item, rest).value is None
    assert item_total(item, rest).reason == f"fewer than {MIN_PAINTERS} painters"


def test_rest_score_excludes_item_and_incomplete_items() -> None:
    table = ItemTable({"x": {"a": 1, "b": 0}, "y": {"a": 1, "b": 1}, "z": {"a": 0, "b": 1}, "part": {"a": 1}})
    assert table.complete == {"x", "y", "z"}
    assert table.rest(["x"]) == {"a": 0.5, "b": 1.0}
    assert table.rest(["part"]) == table.rest([]) == {"a": pytest.approx(2 / 3), "b": pytest.approx(2 / 3)}
    assert table.rest(["x", "y", "z"]) == {}
