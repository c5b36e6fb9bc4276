"""An unexpected exception is a stored fault of its item; several identical ones in a row stop the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Attempt, Calls, Fault, Request, Result
from limner.core.errors import StopRun
from limner.core.marks import Mark
from limner.evidence.probe import Finding
from limner.exams.genexam.data import read
from limner.judges import JudgeResult, Subject
from limner.painters import Painting, PaintRequest
from limner.painters.base import FreePainter
from limner.running.plan import Plan
from limner.running.progress import Progress
from limner.running.runner import Runner
from limner.store import Store
from limner.store.markings import load_markings
from limner.store.records import load_drawings
from limner.store.schema import attempts, calls
from tests.support import SmallExam, picture


class Ink(FreePainter):
    name, spec, changeable = "ink", "ink", False

    def __init__(self, troubles: Mapping[str, Exception] | None = None) -> None:
        self.troubles, self.drawn = troubles or {}, 0

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        self.drawn += 1
        if request.question in self.troubles:
            raise self.troubles[request.question]
        return Painting(picture(self.drawn), request.prompt)


class Eye:
    name, unpriced, check = "eye", lambda _self: None, lambda _self: None

    def __init__(self, troubles: Mapping[str, Exception] | None = None) -> None:
        self.setup: dict[str, Any] = {"judge": "eye"}
        self.troubles, self.seen = troubles or {}, 0

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        self.seen += 1
        if subject.question.id in self.troubles:
            raise self.troubles[subject.question.id]
        return JudgeResult(marks=(Mark("point/1", 1),), cost=0.5)


class Rule:
    evidence, name, unpriced, check = "ocr", "rule", lambda _self: None, lambda _self: None

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        raise RecursionError("too deep")


def carry_out(store: Store, exam: SmallExam, painter: Ink, *judges: Eye, **how: Any) -> Progress:
    return Runner(Plan(read(exam.data), [painter], judges, **how), store).run()


def test_exception_in_marking_fails_only_that_marking(store: Store, small_exam: SmallExam) -> None:
    broken = small_exam.ids[1]
    progress = carry_out(store, small_exam, Ink(), Eye({broken: ZeroDivisionError("a slip")}))
    assert (progress.failures, progress.done) == ({"internal": 1}, 7)
    (failed,) = (marking for marking in load_markings(store, "genexam") if marking.status == "failed")
    assert failed.fault == "internal"
    assert failed.detail is not None
    assert failed.detail.startswith("ZeroDivisionError: a slip")
    assert "tests.chaos.test_unexpected:" in failed.detail
    assert "in mark" in failed.detail
    # A mistake would come again: it is tried again when asked to.
    healed = Eye()
    assert (carry_out(store, small_exam, Ink(), healed).failed, healed.seen) == (1, 0)
    assert (carry_out(store, small_exam, Ink(), healed, retry_failed=True).failed, healed.seen) == (0, 1)


def test_exception_in_drawing_fails_only_that_drawing(store: Store, small_exam: SmallExam) -> None:
    progress = carry_out(store, small_exam, Ink({small_exam.ids[0]: KeyError("nowhere")}), Eye())
    assert (progress.failures, progress.done) == ({"internal": 1}, 6)
    (failed,) = (drawing for drawing in load_drawings(store, "genexam") if drawing.status == "failed")
    assert (failed.question_id, failed.fault) == (small_exam.ids[0], "internal")
    assert "in paint" in str(failed.detail)


def test_exception_in_probe_does_not_prevent_marking(store: Store, small_exam: SmallExam) -> None:
    progress = carry_out(store, small_exam, Ink(), Eye(), probes=[Rule()])
    assert (progress.failures, progress.done) == ({"internal": 4}, 8)


@pytest.mark.parametrize("error", [ZeroDivisionError("a slip"), RecursionError("too deep"), UnicodeError("odd")])
def test_repeated_identical_exceptions_stop_run(
    store: Store, make_exam: Callable[[int], SmallExam], error: Exception
) -> None:
    exam = make_exam(30)
    eye = Eye(dict.fromkeys(exam.ids, error))
    with pytest.raises(StopRun, match=rf"{type(error).__name__}: {error}.*in a row") as caught:
        carry_out(store, exam, Ink(), eye, concurrency=1)
    assert "--retry-failed" in str(caught.value)
    assert eye.seen == 5
    stored = list(load_markings(store, "genexam"))
    assert [marking.fault for marking in stored] == ["internal"] * 5


def test_different_or_scattered_exceptions_do_not_stop_run(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    exam = make_exam(30)
    troubles: dict[str, Exception] = {}
    for number, id in enumerate(exam.ids):
        if number % 5 != 4:
            troubles[id] = ZeroDivisionError(f"number {number}")
    progress = carry_out(store, exam, Ink(), Eye(troubles), concurrency=1)
    assert progress.failures == {"internal": 24}


def test_exception_in_call_is_stored_with_its_location(store: Store) -> None:
    async def perform(_attempt: Attempt) -> Result:
        raise AttributeError("'NoneType' object has no attribute 'text'")

    request = Request("chat", "service/model", {"n": 1})
    for _ in range(2):
        with pytest.raises(Fault) as caught:
            asyncio.run(Calls(store).do(request, perform))
        assert (caught.value.kind, caught.value.calls) == ("internal", (request.key,))
    with store.reading() as connection:
        call = connection.execute(sa.select(calls)).one()
        (tried,) = connection.execute(sa.select(attempts)).all()
    assert (call.status, call.fault, tried.cost) == ("failed", "internal", None)
    assert "in perform" in tried.detail
