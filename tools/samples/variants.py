"""Draws damaged variants of every reference and writes the answer keys: ``python -m tools.samples.variants [EXAM…]``.

Each exam gets a folder ``key`` beside its sample, with ``NAME/*.png`` and ``key.jsonl``, which is written from the
record of what was drawn.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from PIL import Image

from limner.core.exam import Question
from limner.exams import SHIPPED, ExamSource, kind, read
from limner.exams.key import BLANK, PAINTERS, file_name, key_folder
from limner.painters.controls.painter import partners
from tools.samples.answers import RULES, Drawn, Look, Plan
from tools.samples.genexam.canvas import Canvas, Damage, damaged

COLOURS = 64
"""The palette of variants, which keeps them small."""
REFERENCE, MISSING, WRONG, SWAPPED, ERASED, OTHER, EMPTY = PAINTERS


def main() -> None:
    """Draw the variants of the exams named on the command line, or of all."""
    for name in sys.argv[1:] or SHIPPED:
        lines = write_variants(name)
        print(f"{name}: {lines} answers")


def write_variants(name: str, folder: Path | None = None) -> int:
    """Draw the variants of a sample into its folder or another one, write its key, and return its number of lines."""
    target = folder or key_folder(kind(name))
    assert target is not None
    lines = []
    for line, image in answers(name):
        lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
        if image is not None:
            path = target / line["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(image)
    (target / "key.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return len(lines)


def answers(name: str) -> Iterator[tuple[dict[str, Any], bytes | None]]:
    """Yield each line of a sample's key, with the picture that goes with it if it is a variant."""
    exam = read(ExamSource(f"sample/{name}", name, kind(name).sample))
    drawings: dict[str, Callable[[], Canvas]] = import_module(f"tools.samples.{name}.draw").DRAWINGS
    plans = tomllib.loads((Path(__file__).parent / name / "variants.toml").read_text("utf-8"))
    references = {drawing: record(drawing, make()) for drawing, make in drawings.items()}
    named, others = {question.id: drawing_name(question) for question in exam.questions}, partners(exam)
    files: dict[tuple[str, str], bytes] = {}
    for question in exam.questions:
        drawing = named[question.id]
        plan, reference = Plan.read(plans[drawing]), references[drawing]
        for painter, damage in damages(plan).items():
            with damaged(damage):
                canvas = drawings[drawing]()
            drawn = record(drawing, canvas)
            check(plan, painter, reference, drawn)
            data = files.setdefault((painter, drawing), encode(canvas.finish()))
            line = answer(name, Look(question, plan, reference, drawn), painter, hashlib.sha256(data).hexdigest())
            yield line | {"file": file_name(painter, drawing)}, data
        own, other = question.reference, exam.find(others[question.id])
        assert own
        assert other
        assert other.reference
        assert own.sha256
        assert other.reference.sha256
        shown = references[named[other.id]]
        yield answer(name, Look(question, plan, reference, reference), REFERENCE, own.sha256), None
        yield answer(name, Look(question, plan, reference, shown), OTHER, other.reference.sha256), None
        yield answer(name, Look(question, plan, reference, Drawn("")), EMPTY, BLANK), None


def damages(plan: Plan) -> dict[str, Damage]:
    """Return what each variant does wrong."""
    first, second = plan.swapped
    return {
        WRONG: Damage({plan.wrong[0]: plan.wrong[1]}),
        SWAPPED: Damage({first: second, second: first}),
        MISSING: Damage(missing=plan.missing),
        ERASED: Damage(erased=True),
    }


def check(plan: Plan, painter: str, reference: Drawn, drawn: Drawn) -> None:
    """Raise an error if a variant is not damaged as planned."""
    changed = sum(old != new for old, new in zip(reference.places, drawn.places, strict=True))
    count = {WRONG: 1, SWAPPED: 2, ERASED: len(reference.places)}.get(painter)
    if count not in (None, changed) or (painter == MISSING and drawn.missing != plan.missing):
        raise ValueError(f"{drawn.name}, {painter}: {changed} labels differ, missing {drawn.missing!r}")


def answer(exam: str, look: Look, painter: str, image: str) -> dict[str, Any]:
    """Return a line of the key."""
    protocol = kind(exam).protocol
    line = {"id": look.question.id, "painter": painter, "image": image, "what": what(look, painter)}
    faults = RULES[exam](look, protocol.criteria(look.question))
    return line | {"faults": faults} | ({"regions": look.drawn.regions} if protocol.needs else {})


def what(look: Look, painter: str) -> str:
    """Return what is wrong with a picture, in words."""
    if painter == OTHER:
        return f"drawn for {look.drawn.name}"
    if painter in (REFERENCE, ERASED, EMPTY):
        return {REFERENCE: "nothing is wrong", ERASED: "no label is written", EMPTY: "nothing is drawn"}[painter]
    if painter == MISSING:
        return f"missing: {look.drawn.missing}"
    wrong = [f"{text!r} is written in place of {label!r}" for label, text in look.drawn.places if text != label]
    return "; ".join(wrong)


def record(name: str, canvas: Canvas) -> Drawn:
    """Return what was drawn on a sheet."""
    return Drawn(name, tuple(canvas.places), frozenset(canvas.parts), canvas.missing, canvas.shapes + len(canvas.words))


def encode(image: Image.Image) -> bytes:
    """Return a picture as a small PNG file."""
    stream = io.BytesIO()
    image.quantize(COLOURS).save(stream, "PNG", optimize=True)
    return stream.getvalue()


def drawing_name(question: Question[Any]) -> str:
    """Return the name of the drawing that a question asks for; several questions may share one."""
    return question.tags.get("sample", question.id)


if __name__ == "__main__":
    main()
