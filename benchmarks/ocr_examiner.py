"""How much does the OCR examiner decide, and how often is it wrong? ``python -m benchmarks.ocr_examiner DATA``.

DATA is a folder with GenExam's ``annotations`` and the references that are there under ``images``. Every point is true
of its own reference, so "not met" is wrong there. On the reference of another question, and on the own one with its
labels erased, "met" counts as wrong: a few of these are right by chance, so that share is an upper bound.

The rules are tuned on one half of the references and reported on the other; the hash of a question's id says which half
it is in. Readings are kept in a folder (``--cache``), so that a second run only marks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from limner.core.evidence import TextLine
from limner.core.exam import Question
from limner.core.images import decode
from limner.evidence.ocr import RapidOcr
from limner.exams import read, resolve
from limner.exams.genexam import GENEXAM
from limner.judges.ocr.judge import examine, wants_second
from limner.painters.controls.images import erase
from limner.scoring.stats.resample import wilson

HALVES = ("tune", "report")


def half_of(question: str) -> str:
    """The half that a question is in, by the hash of its id."""
    return HALVES[hashlib.sha256(question.encode()).digest()[0] % 2]


class Readings:
    """What OCR read, kept in files named after picture and engine."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._ocr = folder, RapidOcr()
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, data: bytes, again: bool = False, erased: bool = False) -> list[TextLine]:
        """The lines of a picture; with `erased`, of what is left of it when the lines of its first reading are gone."""
        name = [hashlib.sha256(data).hexdigest(), self._ocr.second if again else self._ocr.version, str(erased)]
        path = self._folder / f"{hashlib.sha256(json.dumps(name).encode()).hexdigest()}.json"
        if not path.exists():
            image = decode(data)
            if erased:
                image = erase(image, self.of(data))
            path.write_text(json.dumps([line.to_json() for line in self._ocr.read(image, again)]), "utf-8")
        return [TextLine.from_json(line) for line in json.loads(path.read_text("utf-8"))]


Pictures = dict[str, bytes]


def sets(questions: list[Question[Any]], pictures: Pictures) -> dict[str, list[tuple[Question[Any], str, bool]]]:
    """What is marked, by name: questions with the picture they are held against, and whether its labels are erased."""
    circle = sorted(pictures, key=lambda id: hashlib.sha256(id.encode()).hexdigest())
    after = dict(zip(circle, circle[1:] + circle[:1], strict=True))
    return {
        "own reference": [(q, q.id, False) for q in questions],
        "another's reference": [(q, after[q.id], False) for q in questions],
        "own, labels erased": [(q, q.id, True) for q in questions],
        "every other reference": [(q, other, False) for q in questions for other in circle if other != q.id],
    }


def marked(
    held: list[tuple[Question[Any], str, bool]], pictures: Pictures, readings: Readings
) -> Iterator[tuple[str, str, int | None, str]]:
    """Question, point, mark and its reason, of every point; the second reading is made as the judge makes it."""
    protocol = GENEXAM.protocol
    for question, picture, erased in held:
        data = pictures[picture]
        criteria = [one for one in protocol.criteria(question) if one.kind in protocol.label_kinds]
        lines = readings.of(data, erased=erased)
        marks = examine(criteria, lines, protocol.label_kinds, False)
        if wants_second(marks):
            second = readings.of(data, again=True, erased=erased)
            marks = examine(criteria, lines, protocol.label_kinds, False, second)
        for criterion, mark in zip(criteria, marks, strict=True):
            yield question.id, criterion.text, mark.value, mark.reason


def main() -> None:
    """Print, for one half, how much is decided and how much of that wrongly."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder for readings")
    parser.add_argument("--half", choices=HALVES, default="tune", help="the other one is for the report")
    parser.add_argument("--show", action="store_true", help="print what is decided wrongly; not for the report")
    args = parser.parse_args()
    exam = read(resolve("genexam", args.data))
    asked = [q for q in exam.questions if half_of(q.id) == args.half]
    pictures = {q.id: data for q in asked if q.reference and (data := q.reference.read())}
    questions = [q for q in asked if q.id in pictures]
    readings = Readings(args.cache)
    print(f"half {args.half!r}: {len(questions)} references")
    for name, held in sets(questions, pictures).items():
        wrong_value = 0 if name == "own reference" else 1
        found = list(marked(held, pictures, readings))
        decided = [one for one in found if one[2] is not None]
        wrong = [one for one in decided if one[2] == wrong_value]
        met = sum(one[2] or 0 for one in decided)
        print(
            f"  {name:22} decided {len(decided):4} of {len(found):5} ({len(decided) / len(found):.1%}): "
            f"{met} met, {len(decided) - met} not met; wrong {len(wrong)}{_share(len(wrong), len(decided))}"
        )
        for id, text, _, reason in wrong if args.show else ():
            print(f"    {id}: {text} | {reason}")


def _share(hits: int, n: int) -> str:
    if not n:
        return ""
    ends = wilson(hits, n)
    return f" ({hits / n:.1%}, Wilson {ends.low:.1%} to {ends.high:.1%})"


if __name__ == "__main__":
    main()
