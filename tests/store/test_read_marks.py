"""What was read of markings is found beside them while it holds, in every database."""

from __future__ import annotations

from dataclasses import replace

from limner.core.marks import Mark
from limner.store import Store
from limner.store.markings import Marking, MarksReader, ReadMarks, keep_read, save_marking, some_markings
from limner.store.records import Drawing, add_exam, save_drawing, save_setup
from tests.store.places import NO_BUCKET
from tests.tables import synthetic

CAREFUL = MarksReader("careful", "programs")


@NO_BUCKET
def test_what_was_read_stands_in_the_place_of_texts_while_it_holds(store: Store) -> None:
    exam = synthetic.exam("genexam", 1)
    add_exam(store, exam)
    save_setup(store, "s", {"judge": "fake/judge"})
    (question,) = exam.questions
    of = exam.name, question.id, question.hash
    save_drawing(store, Drawing("d", *of, "mine", "folder/x", "direct", 0, "done", image="i")).result()
    marked = Marking("m", "d", question.hash, "i", "s", 0, "done", marks=[Mark("a", 1).to_json()], created=5.25)
    replied = replace(marked, id="n", marks=None, replies=[["mark", "key"]], repeat=1, created=6.5)
    for one in (marked, replied):
        save_marking(store, one).result()

    def found(by: MarksReader | None) -> dict[str, tuple[bool, list[list[str]], str | None]]:
        rows = (row for some in some_markings(store, exam.name, ["s"], brief=True, by=by) for row in some)
        return {marking.id: (text is not None, marking.replies, read) for marking, text, read in rows}

    unread = {"m": (True, [], None), "n": (False, [["mark", "key"]], None)}
    assert found(None) == found(CAREFUL) == unread
    keep_read(store, CAREFUL, [ReadMarks("m", 5.25, "[1]"), ReadMarks("n", 6.5, "[2]")])
    store.write(lambda _: None)
    assert found(CAREFUL) == {"m": (False, [], "[1]"), "n": (False, [], "[2]")}
    assert found(None) == found(MarksReader("paper", "programs")) == found(MarksReader("careful", "others")) == unread
    keep_read(store, CAREFUL, [ReadMarks("n", 6.5, "[3]")])
    save_marking(store, replace(marked, created=7.0)).result()
    assert found(CAREFUL) == {"m": unread["m"], "n": (False, [], "[3]")}
