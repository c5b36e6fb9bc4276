"""From marks in a store to standings: what is averaged, what is left out, and which way of asking counts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.calls import digest
from limner.core.errors import StoreError, UsageError
from limner.core.exam import Exam, Selection
from limner.core.marks import Mark
from limner.exams.genexam import GENEXAM
from limner.exams.genexam.data import read
from limner.scoring import Standing, load_groups
from limner.store import Store
from limner.store.markings import Marking
from limner.store.records import Drawing, add_exam, save_setup
from limner.store.schema import drawings, markings
from tests.support import SmallExam, write_exam

PROTOCOL = GENEXAM.protocol
RIGHT, WRONG = "right", "wrong"


class Desk:
    """Puts drawings and marks into a store, each later than the one before."""

    def __init__(self, store: Store, exam: Exam[Any]) -> None:
        self.store, self.exam, self.clock = store, exam, 1000.0
        add_exam(store, exam)

    def draw(
        self, painter: str, place: int, *, fault: str | None = None, seed: int = 0, cost: float | None = 0.0
    ) -> Drawing:
        question = self.exam.questions[place]
        status = "done" if fault is None else "not_applicable" if fault == "not_applicable" else "failed"
        self.clock += 1
        found = Drawing(
            digest(self.exam.name, question.hash, painter, seed), self.exam.name, question.id, question.hash, painter,
            f"folder/{painter}", "direct", seed, status, fault=fault, detail=fault and f"{fault} happened",
            image=None if fault else "a" * 64, cost=cost, created=self.clock,
        )  # fmt: skip
        self.store.write(lambda connection: self.store.upsert(connection, drawings, asdict(found)))
        return found

    def mark(
        self,
        drawing: Drawing,
        verdict: str | Iterable[int | None] = RIGHT,
        *,
        judge: str = "judge",
        variant: str = "release",
        fault: str | None = None,
        repeat: int = 0,
        cost: float | None = 0.0,
        **setup: Any,
    ) -> None:
        body = {"judge": judge, "variant": variant, **setup}
        save_setup(self.store, digest(body), body)
        self.clock += 1
        found = Marking(
            digest(drawing.id, body, repeat), drawing.id, drawing.question_hash, drawing.image, digest(body), repeat,
            "failed" if fault else "done", marks=None if fault else self._marks(drawing, verdict), fault=fault,
            detail=fault and f"{fault} happened", cost=cost, created=self.clock,
        )  # fmt: skip
        self.store.write(lambda connection: self.store.upsert(connection, markings, asdict(found)))

    def _marks(self, drawing: Drawing, verdict: str | Iterable[int | None]) -> list[dict[str, Any]]:
        question = next(q for q in self.exam.questions if q.hash == drawing.question_hash)
        criteria = PROTOCOL.criteria(question)
        if isinstance(verdict, str):
            values: list[int | None] = [criterion.top if verdict == RIGHT else 0 for criterion in criteria]
        else:
            values = list(verdict)
        return [
            (Mark.abstain(c.id, "cannot tell") if value is None else Mark(c.id, value)).to_json()
            for c, value in zip(criteria, values, strict=True)
        ]

    def both(self, painter: str, place: int, verdict: str | Iterable[int | None] = RIGHT, **how: Any) -> None:
        self.mark(self.draw(painter, place), verdict, **how)

    def scores(self, **which: Any) -> list[Standing]:
        return api.scores(self.exam.name, store=self.store, **which)

    def one(self, **which: Any) -> Standing:
        (found,) = self.scores(**which)
        return found


@pytest.fixture
def desk(store: Store, tmp_path: Path) -> Desk:
    """Six questions with three to five points; subjects and levels by turns."""
    return Desk(store, read(write_exam(tmp_path, 6).data, "exam"))


def value(standing: Standing, name: str = "strict") -> float | None:
    return standing.scores[name].value


def test_repeats_are_averaged_within_question(desk: Desk) -> None:
    first = desk.draw("p", 0)
    for repeat, verdict in enumerate([RIGHT, WRONG, WRONG, WRONG]):
        desk.mark(first, verdict, repeat=repeat)
    desk.both("p", 1, RIGHT)
    found = desk.one()
    assert value(found) == pytest.approx((25 + 100) / 2)
    assert (found.n, found.expected, found.undrawn, found.coverage) == (2, 6, 4, 0.3333)
    assert found.scores["strict"].n == 2


def test_worst_case_weighs_questions_like_mean(desk: Desk) -> None:
    for seed in range(3):
        desk.mark(desk.draw("p", 0, seed=seed), RIGHT)
    desk.both("p", 1, WRONG)
    found = desk.one(selection=Selection(ids=("Biology_0", "Mathematics_1")))
    assert value(found) == 50
    assert found.pessimistic.value("strict") == pytest.approx(50)
    assert desk.one().pessimistic.value("strict") == pytest.approx(100 / 6)


def test_failed_repeat_keeps_weight_of_question(desk: Desk) -> None:
    first = desk.draw("p", 0)
    desk.mark(first, RIGHT, repeat=0)
    desk.mark(first, fault="unreadable", repeat=1)
    desk.both("p", 1, WRONG)
    found = desk.one(selection=Selection(ids=("Biology_0", "Mathematics_1")))
    assert value(found) == 50
    assert (found.coverage, found.failures) == (1.0, {"unreadable": 1})
    assert found.pessimistic.value("strict") == pytest.approx(25)


def test_failures_are_counted_and_never_scored(desk: Desk) -> None:
    desk.both("p", 0, RIGHT)
    desk.mark(desk.draw("p", 1), fault="refusal")
    desk.draw("p", 2, fault="missing")
    desk.draw("p", 3)
    desk.draw("p", 4, fault="not_applicable")
    found = desk.one()
    assert value(found) == 100
    assert (found.n, found.expected, found.undrawn, found.coverage) == (1, 5, 1, 0.2)
    assert found.failures == {"refusal": 1, "missing": 1, "unmarked": 1}
    assert (found.failed, found.unmarked) == ({"refusal": 1, "missing": 1}, 1)
    assert found.pessimistic.value("strict") == 20
    assert found.pessimistic.value("relaxed") == 20


def test_painter_without_scores_has_zero_coverage(desk: Desk) -> None:
    desk.mark(desk.draw("p", 0), fault="unreadable")
    found = desk.one()
    assert (found.n, found.coverage, found.failures) == (0, 0.0, {"unreadable": 1})
    assert all(interval.value is None and interval.n == 0 for interval in found.scores.values())
    assert found.pessimistic.value("relaxed") == 0


def test_each_way_of_asking_is_separate_evaluator(desk: Desk) -> None:
    made = [desk.draw("p", place) for place in (0, 1)]
    for drawing in made:
        desk.mark(drawing, WRONG, variant="release", args={"effort": "low"})
        desk.mark(drawing, RIGHT, variant="release", args={"effort": "high"})
    desk.mark(made[0], RIGHT, variant="release", args={"effort": "high"}, options={"reference": "none"})
    standings = {found.evaluator.label: (value(found), found.n, found.failures) for found in desk.scores()}
    assert standings == {
        "judge · effort=low": (0.0, 2, {}),
        "judge · effort=high": (100.0, 2, {}),
        "judge · reference=none": (100.0, 1, {"unmarked": 1}),
    }
    assert value(desk.one(judges=["judge?effort=low"])) == 0.0
    assert desk.one(options={"reference": "none"}).n == 1


def test_variants_never_mix(desk: Desk) -> None:
    """Even where each way of asking covers another half of the drawings."""
    desk.both("p", 0, RIGHT, variant="paper")
    desk.both("p", 1, WRONG, variant="release")
    assert [(found.n, found.failures, value(found)) for found in desk.scores()] == [
        (1, {"unmarked": 1}, 100.0),
        (1, {"unmarked": 1}, 0.0),
    ]
    assert value(desk.one(variant="paper")) == 100


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ({"judges": ["nobody"]}, r"no judge 'nobody' in this store; it has: judge"),
        ({"variant": "odd"}, r"no variant 'odd' in this store; it has: release"),
        ({"painters": ["nobody"]}, r"has no drawing of exam by 'nobody'; it has: p"),
        ({"reading": "fast"}, r"no reading 'fast'; choose from: careful, paper, release"),
        (
            {"by": ["colour"]},
            r"--by colour: no such tag; available: difficulty, dimension, img_type, subject, taxonomy",
        ),
    ],
)
def test_unknown_names_are_usage_errors(desk: Desk, which: dict[str, Any], message: str) -> None:
    desk.both("p", 0)
    with pytest.raises(UsageError, match=message):
        desk.scores(**which)


def test_unknown_exam_is_store_error(desk: Desk) -> None:
    with pytest.raises(StoreError, match=r"has no exam 'exom'; it has: exam"):
        api.scores("exom", store=desk.store)


def test_abstentions_give_bounds_instead_of_value(desk: Desk) -> None:
    desk.both("p", 0, [1, None, 1, 2, 2, 2])
    desk.both("p", 1, [1, 1, 1, 1, 2, 2, 2])
    found = desk.one()
    assert value(found) is None
    assert value(found, "relaxed") is None
    assert value(found, "spelling") == 2
    assert found.bounds["strict"] == (50.0, 100.0)
    assert list(found.bounds["relaxed"]) == pytest.approx([(79.0 + 100) / 2, 100.0])
    assert found.decided == {"share": round(12 / 13, 4), "met": 1.0}
    assert found.pessimistic.value("strict") == pytest.approx(100 / 6)


def test_score_settled_for_only_some_drawings_is_not_averaged(desk: Desk) -> None:
    """Under abstention only failures settle the strict score: their mean would be a bias, whatever the seeds."""
    desk.mark(desk.draw("p", 0, seed=0), [0, None, 1, 2, 2, 2])
    desk.mark(desk.draw("p", 0, seed=1), [1, None, 1, 2, 2, 2])
    found = desk.one()
    assert value(found) is None
    assert found.bounds["strict"] == (0.0, 50.0)


@pytest.mark.parametrize("tag", ["subject", "difficulty", "img_type", "taxonomy", "taxonomy1", "taxonomy2"])
def test_any_tag_can_break_down_scores(desk: Desk, tag: str) -> None:
    for place in range(6):
        desk.both("p", place, RIGHT if place % 3 == 0 else WRONG)
    found = desk.one(by=[tag]).by[tag]
    for name, body in found.items():
        inside = [n for n, question in enumerate(desk.exam.questions) if question.tags[tag] == name]
        assert body.n == len(inside) > 0
        expected = 100 * sum(n % 3 == 0 for n in inside) / len(inside)
        assert body.value("strict") == pytest.approx(expected)
    assert sum(body.n for body in found.values()) == 6


def test_scores_break_down_by_dimension(desk: Desk) -> None:
    desk.both("p", 0, [1, 1, 0, 2, 1, 0])
    found = desk.one(by=["dimension"]).by["dimension"]
    numbers = {name: body.value(name) for name, body in found.items()}
    assert numbers == {"semantic": 0.8, "spelling": 2, "readability": 1, "logic": 0}
    assert all(body.n == 1 for body in found.values())


def test_question_without_tag_is_kept_in_breakdown(store: Store, tmp_path: Path) -> None:
    small = write_exam(tmp_path, 2)
    rows = [dict(row) for row in small.rows]
    rows[1]["taxonomy"] = "Biology"
    file = small.data / "annotations" / "All_Subjects.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    desk = Desk(store, read(small.data, "exam"))
    for place in (0, 1):
        desk.both("p", place)
    assert set(desk.one(by=["taxonomy2"]).by["taxonomy2"]) == {"Figures", "(none)"}


def test_cost_counts_failures_and_each_drawing_once(desk: Desk) -> None:
    drawing = desk.draw("p", 0, cost=0.5)
    desk.mark(drawing, repeat=0, cost=0.25)
    desk.mark(drawing, repeat=1, cost=0.25)
    desk.mark(desk.draw("p", 1, cost=0.5), fault="unreadable", cost=0.125)
    assert desk.one().cost == 1.625
    desk.both("p", 2, cost=None)
    assert desk.one().cost is None


def test_later_question_version_replaces_earlier(desk: Desk, tmp_path: Path) -> None:
    desk.both("p", 0, RIGHT)
    small = SmallExam(tmp_path / "data", tmp_path / "drawings", ())
    file = small.data / "annotations" / "All_Subjects.jsonl"
    file.write_text(file.read_text("utf-8").replace("Draw figure 0 ", "Sketch figure 0 "), "utf-8")
    later = Desk(desk.store, read(small.data, "exam"))
    later.clock = 2000.0
    later.both("p", 0, WRONG)
    found = later.one()
    assert (found.n, value(found)) == (1, 0.0)


def test_selection_narrows_standing(desk: Desk) -> None:
    for place in range(6):
        desk.both("p", place, RIGHT if place == 4 else WRONG)
    found = desk.one(selection=Selection(ids=("Mathematics_4", "Mathematics_1")))
    assert (found.n, value(found)) == (2, 50.0)
    with pytest.raises(UsageError, match="no question is selected"):
        desk.one(selection=Selection(where=(("subject", "Art"),)))


def test_standing_is_plain_json(desk: Desk) -> None:
    for painter in ("a", "b"):
        desk.both(painter, 0, [1, None, 1, 2, 2, 2])
    for found in desk.scores(by=["subject", "dimension"]):
        body = json.loads(json.dumps(found.to_json()))
        assert body["bounds"]["strict"] == {"low": 0.0, "high": 100.0} == body["common"]["bounds"]["strict"]
        assert body["scores"]["spelling"] == {"value": 2.0, "low": None, "high": None, "n": 1}


def test_entries_give_reason_for_missing_score(desk: Desk) -> None:
    desk.both("p", 0)
    desk.mark(desk.draw("p", 1), fault="refusal")
    desk.draw("p", 2, fault="not_applicable")
    (group,) = load_groups(desk.store, "exam")
    states = [(entry.question.id, entry.status, entry.detail) for entry in group.entries]
    assert states == [
        ("Biology_0", "done", None),
        ("Mathematics_1", "refusal", "refusal happened"),
        ("Physics_2", "not_applicable", "not_applicable happened"),
    ]
