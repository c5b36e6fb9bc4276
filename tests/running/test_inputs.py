"""Questions that come with pictures: stored with the exam, given to painters, and refused by those that take none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Calls
from limner.core.errors import StoreError, UsageError
from limner.core.exam import Exam, Reference
from limner.core.settings import load as load_settings
from limner.evidence.probe import OcrProbe
from limner.exams.genexam.data import ScoringPointsRubric, read
from limner.painters import ControlPainter, Painter, Painting, PaintRequest, open_painter
from limner.running.backlog import Backlog
from limner.running.estimate import estimate
from limner.running.plan import Arm, Plan
from limner.running.runner import Runner
from limner.store import Store
from limner.store.records import Drawing, load_drawings, load_exam
from limner.store.verify import check_images
from limner.strategies import DIRECT_STRATEGY
from tests.painters.inputs import inputs
from tests.strategies.support import Brush, Mind, made, said_by_studio
from tests.support import picture, write_exam

BEFORE = picture(700), picture(701)
MODEL = "openai/gpt-image-1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def exam(tmp_path: Path) -> Exam[Any]:
    """Three questions: with two pictures, with one, and with none."""
    whole = read(write_exam(tmp_path, 3).data)
    pictures = []
    for n, data in enumerate(BEFORE):
        (tmp_path / f"before_{n}.png").write_bytes(data)
        pictures.append(Reference(f"before_{n}.png", tmp_path / f"before_{n}.png"))
    both, one, none = whole.questions
    changed = replace(both, inputs=tuple(pictures)), replace(one, inputs=(pictures[0],)), none
    return replace(whole, questions=changed)


def only(exam: Exam[Any], *places: int) -> Exam[Any]:
    return replace(exam, questions=tuple(exam.questions[place] for place in places))


def run(exam: Exam[Any], painter: Painter, store: Store, **how: Any) -> dict[str, Drawing]:
    Runner(Plan(exam, [painter], **how), store).run()
    return {drawing.question_id: drawing for drawing in load_drawings(store, exam.name, painter.name)}


def control(exam: Exam[Any], store: Store, name: str) -> ControlPainter:
    return ControlPainter(inputs(name, f"control/{name}", store.blobs, {}, exam=exam), name)


def opened(spec: str, exam: Exam[Any], store: Store) -> Painter:
    return open_painter(spec, exam, store.blobs, OcrProbe(), load_settings(), {})


def test_inputs_are_stored_and_given_to_painters(exam: Exam[Any], store: Store) -> None:
    brush = Brush()
    drawn = run(exam, brush, store)
    hashes = [str(each.sha256) for each in exam.questions[0].inputs]
    assert {each.question: list(each.inputs) for each in brush.drawn} == {
        exam.questions[0].id: hashes, exam.questions[1].id: hashes[:1], exam.questions[2].id: [],
    }  # fmt: skip
    assert {drawing.status for drawing in drawn.values()} == {"done"}
    again = load_exam(store, exam.name, ScoringPointsRubric)
    assert [question.hash for question in again.questions] == [question.hash for question in exam.questions]
    assert [store.blobs.get(str(each.sha256)) for each in again.questions[0].inputs] == list(BEFORE)
    # A later run needs no data folder, and draws nothing again.
    run(again, brush, store)
    assert len(brush.drawn) == 3


def test_other_input_is_another_question(exam: Exam[Any], store: Store, tmp_path: Path) -> None:
    brush = Brush()
    before = run(exam, brush, store)
    (tmp_path / "before_1.png").write_bytes(picture(702))
    fresh = tuple(Reference(each.name, each.path) for each in exam.questions[0].inputs)
    after = run(replace(exam, questions=(replace(exam.questions[0], inputs=fresh), *exam.questions[1:])), brush, store)
    assert len(brush.drawn) == 4
    changed = [id for id in before if before[id].image != after[id].image]
    assert changed == [exam.questions[0].id]


def test_absent_or_broken_input_fails_its_question(exam: Exam[Any], store: Store, tmp_path: Path) -> None:
    absent, brush = replace(exam.questions[0], inputs=(Reference("gone.png"),)), Brush()
    incomplete = replace(exam, questions=(absent, exam.questions[1]))
    for strategy in (DIRECT_STRATEGY, made("recaption", Mind(said_by_studio))):
        drawn = run(incomplete, brush, store, chosen_arms=[Arm(brush, strategy)])
        assert (drawn[absent.id].fault, "picture of the question is absent" in str(drawn[absent.id].detail)) == (
            "missing", True,
        )  # fmt: skip
    assert {each.question for each in brush.drawn} == {exam.questions[1].id}
    assert run(incomplete, control(exam, store, "blank"), store)[absent.id].status == "done"
    (tmp_path / "before_0.png").write_bytes(b"no image")
    with pytest.raises(StoreError, match=f"{exam.questions[1].id}: .*before_0.png: .*not an image"):
        run(only(exam, 1), Brush(), store)


def test_lost_input_is_found_by_verify(exam: Exam[Any], store: Store) -> None:
    run(exam, control(exam, store, "blank"), store)
    sha256 = str(exam.questions[0].inputs[1].sha256)
    (file,) = (Path(str(store.blobs.root)) / sha256[:2]).glob(f"{sha256}.*")
    file.unlink()
    (defect,) = check_images(store).defects
    assert (defect.subject, f"input of {exam.questions[0].id}" in defect.detail) == (sha256, True)


@pytest.mark.parametrize("word", ["direct", "best-of-2", "recaption"])
def test_painter_without_pictures_is_refused_before_anything_is_asked(exam: Exam[Any], store: Store, word: str) -> None:
    brush, mind = Brush("flat", edits=False), Mind(said_by_studio)
    plan = Plan(exam, [brush], chosen_arms=[Arm(brush, made(word, mind))])
    for work in (lambda: Runner(plan, store).run(), lambda: estimate(plan, store, load_settings())):
        with pytest.raises(UsageError, match="flat draws from text alone; it cannot start from a picture"):
            work()
    assert (brush.drawn, mind.heard) == ([], [])
    assert {each.status for each in run(only(exam, 2), brush, store).values()} == {"done"}


def test_question_with_too_many_pictures_is_its_own_fault(exam: Exam[Any], store: Store) -> None:
    class OnePicture(Brush):
        """A painter of one picture at most, like a service's."""

        async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
            from limner.painters.base import refuse_pictures

            refuse_pictures(self, request)
            return await super().paint(request, calls)

    brush = OnePicture("narrow")
    brush.most_pictures = 1
    drawn = run(exam, brush, store)
    two, one, none = (drawn[question.id] for question in exam.questions)
    assert (two.status, two.fault, one.status, none.status) == ("failed", "bad_request", "done", "done")
    assert "narrow starts from at most 1 pictures; 2 are given" in str(two.detail)
    with pytest.raises(UsageError, match="narrow starts from at most 1 pictures; 2 are given"):
        run(only(exam, 0), brush, store)
    with pytest.raises(UsageError, match="edit: narrow starts from at most 1 pictures; 2 are given; name an editor"):
        Plan(exam, [brush], chosen_arms=[Arm(brush, made("edit", None))]).check_painters()


def test_finished_images_and_controls_need_no_editing(exam: Exam[Any], store: Store, tmp_path: Path) -> None:
    folder = opened(f"folder/{tmp_path / 'drawings'}", exam, store)
    assert {each.status for each in run(exam, folder, store).values()} == {"done"}
    for name in ("blank", "text", "reference", "shuffled"):
        assert {each.status for each in run(exam, control(exam, store, name), store).values()} == {"done"}, name


def test_unchanged_hands_first_input_back(exam: Exam[Any], store: Store) -> None:
    drawn = run(exam, control(exam, store, "unchanged"), store)
    two, one, none = (drawn[question.id] for question in exam.questions)
    assert [store.blobs.get(str(each.image)) for each in (two, one)] == [BEFORE[0], BEFORE[0]]
    assert (none.status, none.detail) == ("not_applicable", "the question comes with no picture to hand back")
    assert two.cost == 0


@pytest.mark.parametrize(
    ("size", "aspect"), [((30, 20), "landscape"), ((20, 30), "portrait"), ((22, 20), "square"), ((20, 20), "square")]
)
def test_drawing_has_shape_of_first_input(
    exam: Exam[Any], store: Store, tmp_path: Path, size: tuple[int, int], aspect: str
) -> None:
    (tmp_path / "before_0.png").write_bytes(picture(9, size=size))
    brush = Brush()
    run(exam, brush, store)
    assert [each.aspect for each in brush.drawn] == [aspect, aspect, "square"]
    stored = load_exam(store, exam.name, ScoringPointsRubric)
    tall = replace(stored.questions[1], tags={**stored.questions[1].tags, "aspect": "portrait"})
    backlog = Backlog(Plan(replace(stored, questions=(stored.questions[0], tall)), [brush]), store)
    assert [backlog.request(slot).aspect for slot in backlog.slots()] == [aspect, "portrait"]


def test_estimate_counts_input_pictures(exam: Exam[Any], store: Store) -> None:
    settings = load_settings()
    painter = opened(MODEL, exam, store)
    plain, edited = (estimate(Plan(only(exam, place), [painter]), store, settings)[0].dollars for place in (2, 0))
    tokens = 2 * settings.models[MODEL].image_tokens
    more = settings.price(MODEL, tokens, 0, of_pictures=tokens)
    assert None not in (plain, edited, more)
    assert edited == pytest.approx(plain + more)  # type: ignore[operator]
    assert more > 0  # type: ignore[operator]


def test_estimate_counts_pictures_that_models_see(exam: Exam[Any], store: Store) -> None:
    brush, strategy = Brush(), made("recaption+best-of-2", Mind(said_by_studio))
    settings = load_settings()

    def tokens(place: int) -> dict[str, int]:
        lines = estimate(Plan(only(exam, place), [brush], chosen_arms=[Arm(brush, strategy)]), store, settings)
        return {line.role: line.tokens_in for line in lines}

    without, with_two = tokens(2), tokens(0)
    assert {role: round((with_two[role] - without[role]) / 800) for role in without} == {
        "painter": 0, "planner": 2, "chooser": 4,
    }  # fmt: skip
