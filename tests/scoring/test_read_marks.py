"""Markings that were read once are not read again, and say the same; what may have changed is read anew."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

import limner
from limner import exams
from limner.core.marks import Mark
from limner.exams import marks_reader_id
from limner.scoring import entries
from limner.scoring.entries import MarkReader, brief_text
from limner.store import Store
from limner.store.markings import load_markings, save_marking
from limner.store.schema import markings, read_marks
from tests.report.tables import synthetic
from tests.report.tables.replied import as_replies

KEPT = ("genexam", "mmmg", "worldgenbench", "fepbench")
"""Exams whose numbers are not made of reasons."""
ANSWERS = st.builds(Mark, st.sampled_from("abc"), st.integers(0, 2), st.text(max_size=5), st.sampled_from(["", "j"]))
MARKS = st.lists(st.one_of(ANSWERS, st.builds(Mark.abstain, st.sampled_from("abc"), st.text(max_size=5))), max_size=6)


@given(MARKS)
def test_brief_text_round_trips_marks_without_reasons(marks: list[Mark]) -> None:
    reader, text = MarkReader(reasons=False), brief_text(marks)
    assert text is not None
    assert reader.brief(text) == tuple(replace(mark, reason="") for mark in marks)
    assert reader.brief(text) is reader.brief(text)


def test_unread_marks_have_no_brief_text() -> None:
    assert brief_text([Mark("a", 1), Mark.unread("b", "the reply ends here")]) is None


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even of few markings it is kept what was read."""
    monkeypatch.setattr(entries, "MIN_MARKINGS_KEPT", 1)


def told(store: Store, exam: str = "genexam", **how: Any) -> list[Any]:
    return [json.loads(json.dumps(row.to_json())) for row in limner.scores(exam, store=store, **how)]


def kept(store: Store) -> dict[tuple[str, str], str]:
    store.write(lambda _: None)  # What is kept in its own time is kept by now.
    with store.reading() as connection:
        return {(row.marking, row.reading): row.marks for row in connection.execute(sa.select(read_marks))}


def nobody_reads(patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was read before")

    patch.setattr(entries, "read_replies", refuse)
    patch.setattr(entries, "parse_json_column", refuse)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("exam", KEPT)
def test_cached_marks_give_same_scores_without_reading_again(
    exam: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthetic.fill(store, exam, painters=7, questions=8, images=False, judges=("fake/one", "ocr"))
    assert not exams.kind(exam).protocol.reasons
    first = told(store, exam)
    assert len(kept(store)) == sum(one.status == "done" for one in load_markings(store, exam))
    with monkeypatch.context() as patch:
        nobody_reads(patch)
        assert told(store, exam) == first


@pytest.mark.usefixtures("few")
def test_marks_read_from_replies_are_cached_per_reading(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    synthetic.fill(store, "genexam", painters=3, questions=8, images=False)
    marked = told(store)
    as_replies(store)
    store.write(lambda connection: connection.execute(read_marks.delete()))
    assert told(store) == marked
    careful = kept(store)
    released = told(store, reading="release")
    both = kept(store)
    assert {reading for _, reading in both} == {"careful", "release"}
    assert {key: text for key, text in both.items() if key[1] == "careful"} == careful
    nobody_reads(monkeypatch)
    assert told(store) == marked
    assert told(store, reading="release") == released


def test_external_protocols_have_no_marks_reader_id(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = type(exams.kind("genexam").protocol)
    own = type("Own", (shipped,), {"__module__": "elsewhere"})
    known = marks_reader_id(shipped)
    assert marks_reader_id(own) is None
    monkeypatch.setattr(sys.modules[marks_reader_id.__module__], "PACKAGES", ("numpy",))
    marks_reader_id.cache_clear()
    assert known is not None
    assert known != marks_reader_id(shipped)
    marks_reader_id.cache_clear()


@pytest.mark.usefixtures("few")
def test_new_marking_or_reader_invalidates_cache(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    synthetic.fill(store, "genexam", painters=1, questions=6, images=False, faults=False)
    (first,) = told(store)
    old = kept(store)
    one = next(iter(load_markings(store, "genexam")))
    assert one.marks
    wrong = [{**mark, "value": 0} for mark in one.marks]
    save_marking(store, replace(one, marks=wrong, created=one.created + 1)).result()
    (second,) = told(store)
    assert second["scores"]["relaxed"]["value"] < first["scores"]["relaxed"]["value"]
    new = kept(store)
    assert [key for key in old if old[key] != new[key]] == [(one.id, "careful")]
    # With other programs nothing of it counts, however wrong it may be.
    store.write(lambda connection: connection.execute(read_marks.update().values(reader="another", marks="[]")))
    assert told(store) == [second]
    assert kept(store) == new
    # Nor where the image was drawn anew, which its marking does not know.
    store.write(lambda connection: connection.execute(markings.update().values(image="other")))
    assert not any(row["scores"] for row in told(store))


@pytest.mark.usefixtures("few")
def test_unread_replies_are_not_cached(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=1, questions=6, images=False, faults=False)
    as_replies(store)
    one = next(iter(load_markings(store, "genexam")))
    save_marking(store, replace(one, replies=[])).result()
    told(store)
    found = kept(store)
    assert one.id not in {id for id, _ in found}
    assert len(found) == 5


@pytest.mark.usefixtures("few")
def test_readonly_store_caches_no_marks(store: Store) -> None:
    synthetic.fill(store, "genexam", painters=2, questions=6, images=False)
    store.readonly = True
    assert told(store)
    store.readonly = False
    assert kept(store) == {}
