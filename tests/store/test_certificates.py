from __future__ import annotations

from limner.core.evaluator import Evaluator
from limner.store import Store
from limner.store.markings import (
    CERTIFICATE,
    DRIFT,
    count_drift_sessions,
    load_certificates,
    newest_certificates,
    save_certificate,
)
from limner.store.records import add_exam, save_setup
from tests.store.places import NO_BUCKET
from tests.support import SmallExam


def prepared(store: Store, small: SmallExam) -> None:
    from limner.exams import read, resolve

    add_exam(store, read(resolve("genexam", small.data)))
    save_setup(store, "s", {"judge": "ocr"})


def test_unchanged_certificate_keeps_its_date(store: Store, small_exam: SmallExam) -> None:
    prepared(store, small_exam)
    body = {"kind": CERTIFICATE, "seed": 0, "flagged": []}
    first = save_certificate(store, "s", "genexam", body)
    assert save_certificate(store, "s", "genexam", body) == first
    changed = save_certificate(store, "s", "genexam", {**body, "flagged": ["unseen"]})
    assert changed.id == first.id
    assert changed.created > first.created
    assert load_certificates(store, "genexam") == [changed]


@NO_BUCKET
def test_seeds_have_separate_certificates_and_newest_counts(store: Store, small_exam: SmallExam) -> None:
    prepared(store, small_exam)
    save_certificate(store, "s", "genexam", {"kind": CERTIFICATE, "seed": 0})
    newest = save_certificate(store, "s", "genexam", {"kind": CERTIFICATE, "seed": 1})
    save_certificate(store, "s", "genexam", {"kind": DRIFT, "session": 0})
    save_certificate(store, "s", "genexam", {"kind": DRIFT, "session": 1})
    assert newest_certificates(store, "genexam") == {"s": newest}
    assert count_drift_sessions(store, "genexam", "s") == 2
    assert len(load_certificates(store, "genexam")) == 4


def test_judge_label_includes_examination_date() -> None:
    assert Evaluator("a", {"judge": "ocr"}).told == "ocr (not examined)"
    assert Evaluator("a", {"judge": "ocr"}, examined="2026-11-16").told == "ocr (examined 2026-11-16)"
    assert Evaluator("a", {"judge": "person/anna"}, kind="person").told == "person/anna"
