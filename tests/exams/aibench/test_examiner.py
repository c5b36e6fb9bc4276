"""The OCR examiner on components: what it decides, and that its yes can be relied on, against what eyes saw.

``seen.jsonl`` says of every control and component whether a person looking at the picture finds it there: by its
label, or because it is plainly drawn. Printed prose shows no component; two halves of exchanged labels show none.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from limner import api
from limner.core.evidence import TextLine
from limner.core.exam import Selection
from limner.core.marks import Criterion
from limner.exams import read, resolve
from limner.exams.aibench import AIBENCH
from limner.exams.aibench.protocol import yes_letter
from limner.judges.ocr.judge import examine

pytestmark = pytest.mark.slow

SEEN = [json.loads(line) for line in (Path(__file__).parent / "seen.jsonl").read_text("utf-8").splitlines()]
NAME = re.compile(r"'([^']+)'")


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], tuple[int | None, bool]]:
    """Painter, question and component -> the examiner's mark, and whether a person's answer would be right."""
    store = tmp_path_factory.mktemp("examiner") / "store"
    wanted: dict[tuple[str, ...], list[str]] = {}
    for painter in sorted({entry["painter"] for entry in SEEN}):
        wanted.setdefault(tuple(e["id"] for e in SEEN if e["painter"] == painter), []).append(painter)
    for ids, painters in wanted.items():
        chosen = Selection(ids=ids)
        progress = api.run(
            "sample/aibench", painters=painters, judges=["ocr"], data=AIBENCH.sample, store=store, selection=chosen
        )
        assert progress.failed == 0
    _, groups = api.groups("sample/aibench", store=store)
    seen = {(entry["painter"], entry["id"]): entry["shown"] for entry in SEEN}
    found: dict[tuple[str, str, str], tuple[int | None, bool]] = {}
    for group in groups:
        for entry in group.entries:
            marks = {mark.criterion: mark.value for mark in entry.marks}
            for item in entry.question.rubric.checklist:
                if item.dimension == "component":
                    (name,) = NAME.findall(item.question)
                    right = seen[group.painter, entry.question.id][name] == (item.correct_option == yes_letter(item))
                    found[group.painter, entry.question.id, name] = marks[item.key], right
                else:
                    assert marks[item.key] is None
    return found


def test_labels_cover_every_component() -> None:
    exam = read(resolve("sample/aibench"))
    names = {
        question.id: [
            NAME.findall(item.question)[0] for item in question.rubric.checklist if item.dimension == "component"
        ]
        for question in exam.questions
    }
    for entry in SEEN:
        assert list(entry["shown"]) == names[entry["id"]]
    assert {entry["id"] for entry in SEEN if entry["painter"] == "control/reference"} <= set(names)


@pytest.mark.slow
def test_examiner_decides_most_components(marked: dict[tuple[str, str, str], tuple[int | None, bool]]) -> None:
    ours = [value for (painter, _, _), (value, _) in marked.items() if painter == "control/reference"]
    assert len(ours) == 28
    assert sum(value is not None for value in ours) / len(ours) >= 0.8


@pytest.mark.slow
def test_examiner_yes_is_reliable(marked: dict[tuple[str, str, str], tuple[int | None, bool]]) -> None:
    met = [(key, right) for key, (value, right) in marked.items() if value == 1]
    assert len(met) >= 40
    assert sum(right for _, right in met) / len(met) >= 0.95, [key for key, right in met if not right]


@pytest.mark.slow
def test_printed_text_does_not_fool_examiner(marked: dict[tuple[str, str, str], tuple[int | None, bool]]) -> None:
    printed = [(value, right) for (painter, _, _), (value, right) in marked.items() if painter == "control/text"]
    assert printed
    assert not [right for value, right in printed if value == 1 and not right]


def line(text: str, top: float = 0) -> TextLine:
    return TextLine(text, ((0, top), (200, top), (200, top + 20), (0, top + 20)), 0.99)


@pytest.mark.parametrize(
    ("text", "also", "means", "expected"),
    [
        ("Gauge Encoder", (), 1, 1),
        ("Gauge Encoder", (), 0, 0),
        ("Something else", (), 1, 0),
        ("Something else", (), 0, 1),
        ("Depth Anything", ("Depth Anything",), 1, 1),
        ("GE", ("GE",), 1, None),
        ("GE", ("GE",), 0, None),
    ],
)
def test_presence_follows_meaning_of_criterion(
    text: str, also: tuple[str, ...], means: int, expected: int | None
) -> None:
    asked = Criterion("component/1", "?", "component", labels=("Gauge Encoder",), also=also, present_means=means)
    lines = [line(text), line("Unrelated words", 300)]
    (mark,) = examine([asked], lines, AIBENCH.protocol.label_kinds, False, lines)
    assert mark.value == expected
