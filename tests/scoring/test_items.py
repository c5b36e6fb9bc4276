from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from scipy import stats

from limner import exams
from limner.scoring.groups import find_groups
from limner.scoring.items import FLAGS, item_statistics
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
    for name, given in marks.items():
        mine[name] = given[row.question, str(row.criterion)]
        others[name] = sum(given[key] for key in everyone) / len(everyone)
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
def test_flags_are_what_was_planted(two_judges: tuple[Path, SmallExam], tmp_path: Path) -> None:
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

    told = limner("exam", "stats", "genexam", "--store", place, "--format", "csv").out
    lines = list(csv.DictReader(io.StringIO(told)))
    assert len(lines) == sum(len(judge["criteria"]) + len(judge["questions"]) for judge in body["judges"])
    assert {row["item_total"] for row in lines if row["flags"] == "never"} == {""}

    page = tmp_path / "items.html"
    said = limner("exam", "stats", "genexam", "--store", place, "--flagged", "-o", page)
    assert "no painter meets it" in said.out
    html = page.read_text("utf-8")
    assert html.count("<img") > 8
    assert "<script" not in html
    assert str(place.parent) not in html, "no path of this machine"
    assert "replay/one.jsonl" in html


def test_one_judge_and_few_painters_are_told(two_judges: tuple[Path, SmallExam]) -> None:
    place, _ = two_judges
    words = ("exam", "stats", "genexam", "--store", place, "--painter", "a", "--painter", "b")
    judge = limner(*words, "--format", "json").json()["judges"][0]
    assert {row["item_total"]["reason"] for row in judge["criteria"]} == {"fewer than 3 painters"}
    assert not any("never" in row["flags"] or "negative" in row["flags"] for row in judge["criteria"])
    assert "only 2: numbers of so few painters say little" in limner(*words).out
