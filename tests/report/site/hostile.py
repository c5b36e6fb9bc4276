"""A store in which every word that anybody could have written means harm."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image, ImageDraw

from limner.calls import digest
from limner.core.exam import Exam, Question, Reference
from limner.core.marks import Mark
from limner.exams.genexam.data import ScoringPointsRubric
from limner.running.plan import marking_id, slot_id
from limner.store import Store, now
from limner.store.markings import Marking, save_marking
from limner.store.records import Drawing, add_exam, evidence_row, save_drawing, save_setup
from limner.store.schema import attempts, calls, content_columns, evidence

WORDS = (
    "<script>window.pwned=1</script>",
    "</script><img src=x onerror=window.pwned=1>",
    "\"' onmouseover=\"window.pwned=1\" autofocus onfocus='window.pwned=1'",
    "javascript:window.pwned=1",
    "${window.pwned=1} {{constructor.constructor('window.pwned=1')()}} <%= 1 %>",
    "<svg onload=window.pwned=1>&lt;b&gt;",
    "مرحبا\u202egnp.exe\u202c שלום",
    "W" * 400,
    "\u2028\u2029]]>--><!-- end",
    "../../../etc/passwd%00.js",
    "__proto__",
)
"""Markup, quotes, template syntax, directions of writing, a very long word, paths."""
HALF = "\x07\ud800"
"""A control sign and half a letter: exams take neither, but replies may hold them."""
EXAM = "ev<i>l & \"co\"/'x'"


def bad(number: int, more: str = "") -> str:
    """One of the words, with something that tells it from others."""
    return f"{WORDS[number % len(WORDS)]} {more}".strip()


def picture(number: int, size: tuple[int, int] = (160, 120), form: str = "PNG") -> bytes:
    image = Image.new("RGB", size, (255, 255, 255 - number % 200))
    ImageDraw.Draw(image).rectangle((10 + number % 60, 10, 60 + number % 60, 60), fill=(number * 37 % 255, 90, 140))
    buffer = io.BytesIO()
    image.save(buffer, form)
    return buffer.getvalue()


def question(number: int) -> Question[ScoringPointsRubric]:
    points = [{"question": bad(number + n, f"point {number}.{n}"), "score": 0.5} for n in range(2)]
    tags = {
        "subject": bad(number, "subject"),
        "difficulty": bad(number + 1),
        bad(number, "tag"): bad(number + 2),
        "__proto__": bad(number),
    }
    reference = Reference(bad(number, "reference.png"), load=lambda: picture(900 + number))
    id = bad(number, f"question {number}")
    return Question(
        id,
        bad(number, f"prompt {number}"),
        ScoringPointsRubric.model_validate({"scoring_points": points}),
        tags,
        reference,
    )


def fill(store: Store) -> None:
    """Questions, painters, judges, marks, faults, steps and evidence, all of them hostile."""
    questions = tuple(question(number) for number in range(len(WORDS)))
    add_exam(store, Exam(EXAM, "genexam", questions))
    setups = []
    for number in range(2):
        setup: dict[str, Any] = {"judge": bad(number, "judge"), "variant": bad(3), "options": {bad(1): bad(2)}}
        setup |= {"args": {}, "templates": bad(5)}
        setups.append(digest("setup-1", setup))
        save_setup(store, setups[-1], setup)
    for painter in range(len(WORDS)):
        for place, one in enumerate(questions):
            _draw(store, one, place, painter, setups)
    store.write(lambda _: None)


def _draw(store: Store, one: Question[ScoringPointsRubric], place: int, painter: int, setups: list[str]) -> None:
    name, strategy, options = bad(painter, "painter"), bad(painter + 3, "strategy"), {bad(1, "o"): bad(2, "v")}
    id = slot_id(EXAM, one.hash, name, strategy, options, 0)
    blank = (id, EXAM, one.id, one.hash, name, bad(painter, "spec"), strategy, 0)
    if (place + painter) % 5 == 0:
        failed = Drawing(*blank, "failed", options, fault=f"<b>{painter}</b>", detail=bad(place, "detail"))
        save_drawing(store, failed).result()
        return
    sha256, info = store.blobs.put(picture(20 * painter + place))
    step = {"step": bad(1, "step"), "kind": bad(2), "text": bad(place, f"text {HALF}"), "image": sha256, "call": bad(0)}
    notes = {"steps": [step, {"step": "again", "image": bad(4)}], bad(3): bad(5)}
    drawing = Drawing(
        *blank, "done", options, sha256, info.width, info.height, bad(place, "sent"), notes, cost=0.5, calls=[bad(0)]
    )
    save_drawing(store, drawing).result()
    for number, setup in enumerate(setups):
        marking = marking_id(id, one.hash, sha256, setup, 0)
        head = (marking, id, one.hash, sha256, setup, 0)
        if number and place % 4 == 0:
            save_marking(store, Marking(*head, "failed", fault=f"<u>{place}", detail=bad(place, "why"))).result()
            continue
        values = [(place + painter + number) % 2, 1]
        marks = [Mark(f"point/{n + 1}", value, bad(painter + n, f"reason {HALF}")) for n, value in enumerate(values)]
        marks += [Mark(rating, (painter + place) % 3, bad(place, "rating")) for rating in ("spelling", "readability")]
        marks.append(Mark.abstain("logic", bad(painter, "cannot tell")))
        save_marking(store, Marking(*head, "done", marks=[mark.to_json() for mark in marks])).result()
    _measure(store, sha256)


def _measure(store: Store, image: str) -> None:
    lines = [{"text": bad(n, HALF), "box": [[5, 5], [60, 5], [60, 20], [5, 20]], "confidence": 0.9} for n in range(3)]
    probe(store, image, f"ocr/{bad(1)}", {"lines": lines})
    row = evidence_row(image, "regions", bad(2), 3) | {"created": now()}
    store.write(lambda connection: store.upsert(connection, evidence, row))


def probe(store: Store, image: str, target: str, result: Any) -> None:
    """A measurement as the journal keeps it."""
    key = digest(image, target)
    call: dict[str, Any] = {
        "key": key,
        "kind": "probe",
        "target": target,
        "request": {"body": {"image": image}},
        "status": "done",
    }
    call |= {"tries": 1, "accepted": 1, "created": now(), "updated": now()}
    nothing = dict.fromkeys(column.name for column in calls.columns if column.name not in call)
    attempt = {"call": key, "n": 1, "started": now(), "seconds": 0.1, "result": result}
    empty = dict.fromkeys(column.name for column in content_columns(attempts) if column.name not in attempt)

    def write(connection: Any) -> None:
        store.upsert(connection, calls, nothing | call)
        store.upsert(connection, attempts, empty | attempt)

    store.write(write)
