"""Records what the OCR examiner decides about the samples' pictures: ``python -m tools.samples.readings [EXAM…]``.

OCR takes about a second a picture, too long for the demo, which only compares these marks with the answer key.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from limner.core.evidence import TextLine
from limner.core.images import decode
from limner.core.marks import values
from limner.evidence.ocr import RapidOcr
from limner.exams import SHIPPED, ExamSource, kind, read
from limner.exams.key import OCR_MARKS, OCR_PAINTERS, answer_key, key_folder
from limner.judges.ocr.judge import examine, wants_second


def main() -> None:
    """Record the marks for the exams named on the command line, or for all."""
    for name in sys.argv[1:] or SHIPPED:
        folder = key_folder(kind(name))
        assert folder is not None
        lines = [json.dumps(line, separators=(",", ":")) for line in ocr_marks(name)]
        (folder / OCR_MARKS).write_text("\n".join(lines) + "\n", "utf-8")
        print(f"{name}: {len(lines)} pictures")


def ocr_marks(name: str, ids: frozenset[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield what the examiner decides about each picture, of all questions or of some."""
    key, protocol = answer_key(kind(name)), kind(name).protocol
    exam = read(ExamSource(f"sample/{name}", name, kind(name).sample))
    for answer in key.answers:
        question = exam.find(answer.id)
        if question is None or answer.painter not in OCR_PAINTERS or (ids is not None and answer.id not in ids):
            continue
        path = key.picture(answer.id, answer.painter) or (question.reference and question.reference.path)
        assert path is not None
        criteria, kinds = protocol.criteria(question), protocol.label_kinds
        marks = examine(criteria, read_lines(path, False), kinds)
        if wants_second(marks):
            marks = examine(criteria, read_lines(path, False), kinds, second=read_lines(path, True))
        yield {"id": answer.id, "image": answer.image, "marks": values(marks)}


@cache
def read_lines(path: Path, again: bool) -> list[TextLine]:
    """Return the text that OCR reads in a picture, at its own or at another scale."""
    return _reader().read(decode(path.read_bytes()), again)


@cache
def _reader() -> RapidOcr:
    return RapidOcr()


if __name__ == "__main__":
    main()
