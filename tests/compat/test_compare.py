"""The comparison itself: nothing slips through, and what is meant can be said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compat import goldens, runs
from tests.compat.compare import differences, written
from tests.compat.goldens import GOLDENS, SITE
from tests.compat.intended import Entry, Renamed, complaints, matches, parts


def found(old: Any, new: Any) -> list[tuple[str, str]]:
    return [(one.place, one.change) for one in differences(old, new)]


ROW = {"painter": "a", "strategy": "direct", "judge": "x", "value": 1.0}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1 + 1e-12}, []),
        ({"a": 1}, {"a": 1 + 1e-6}, [("a", "changed")]),
        ({"a": 1}, {"a": True}, [("a", "changed")]),
        ({"a": 0}, {"a": None}, [("a", "changed")]),
        ({"a": "1.50"}, {"a": "1.5"}, []),
        ({"a": "x"}, {"a": "y"}, [("a", "changed")]),
        ({"a": {}}, {"a": []}, [("a", "changed")]),
        ({"a": 1}, {"a": 1, "b": 2}, [("b", "added")]),
        ({"a": {"b.c": 1}}, {"a": {}}, [('a."b.c"', "removed")]),
        ([1, 2], [1, 3, 4], [("[1]", "changed"), ("[2]", "added")]),
    ],
)
def test_values(old: Any, new: Any, expected: list[tuple[str, str]]) -> None:
    assert found(old, new) == expected


def test_records_are_matched_by_what_they_are_about() -> None:
    other = ROW | {"painter": "b"}
    assert found([ROW, other], [other, ROW]) == []
    assert found([ROW, other], [other, ROW | {"value": 2}, ROW | {"painter": "c"}]) == [
        ("[painter=a,strategy=direct,judge=x].value", "changed"),
        ("[painter=c,strategy=direct,judge=x]", "added"),
    ]
    assert found([ROW, other], [ROW]) == [("[painter=b,strategy=direct,judge=x]", "removed")]


def test_a_setup_tells_rows_apart_where_the_judge_alone_does_not() -> None:
    low, high = ROW | {"setup": {"effort": "low"}}, ROW | {"setup": {"effort": "high"}}
    assert found([low], [low | {"value": 2}]) == [("[painter=a,strategy=direct,judge=x].value", "changed")]
    (one,) = differences([low], [high, low])
    assert (one.change, one.new) == ("added", high)
    assert found([low, high], [high, low]) == []


def test_records_that_nothing_tells_apart_are_numbered() -> None:
    assert found([ROW, ROW], [ROW, ROW | {"value": 2}]) == [("[painter=a,strategy=direct,judge=x,#2].value", "changed")]


def test_in_what_is_kept_the_order_of_rows_does_not_matter() -> None:
    lists = 0
    for golden in (one for one in GOLDENS if one.file != SITE):
        kept = goldens.read(runs.V1 / "goldens", golden.file)
        if isinstance(kept, list):
            lists += 1
            assert found(kept, kept[::-1]) == [], golden.file
    assert lists > 40


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("[*].coverage", ("[judge=x]", "coverage"), True),
        ("*.coverage", ("[judge=x]", "coverage"), True),
        ("[*].coverage", ("rows", "coverage"), False),
        ("[*].coverage", ("[0]", "common", "coverage"), False),
        ("**.coverage", ("[0]", "common", "coverage"), True),
        ("**.coverage", ("coverage",), True),
        ("**", (), True),
        ("[judge=studio/*,*].scores.*", ("[judge=studio/eye,setup=1]", "scores", "strict"), True),
        ("[judge=ocr,*]", ("[judge=studio/eye,setup=1]",), False),
        ('"a.b".mmmg_*', ("a.b", "mmmg_exact"), True),
        ("a.b", ("a", "b", "c"), False),
        ("[painter=p[1].x].n", ("[painter=p[1].x]", "n"), True),
    ],
)
def test_patterns(pattern: str, path: tuple[str, ...], fits: bool) -> None:
    assert matches(parts(pattern), path) is fits


def test_a_place_is_a_pattern_of_itself() -> None:
    for path in (("[painter=p,judge=a.b]", "by", "x.y", "[3]"), ("exams/a/data/q.js", "[0]"), ("a b", 'say "so"')):
        assert parts(written(path)) == list(path)


def test_what_is_not_meant_is_told_with_the_entry_that_would_mean_it() -> None:
    old, new = [ROW], [ROW | {"value": 2.0, "more": 1}]
    seen = [("scores/a.json", one) for one in differences(old, new)]
    entry = Entry("scores/*.json", "[*].value", "changed", "It is counted otherwise.")
    (said,) = complaints(seen, [entry])
    place = "[painter=a,strategy=direct,judge=x].more"
    for words in ("goldens/scores/a.json", place, "is added", "new: 1", "[[change]]", f'path = "{place}"'):
        assert words in said
    assert complaints(seen, [entry, Entry("scores/*", "**.more", "added", "It is told too.")]) == []


def test_an_entry_that_nothing_uses_is_told() -> None:
    entry = Entry("scores/*.json", "[*].value", "changed", "It is counted otherwise.")
    (said,) = complaints([], [entry])
    assert "is not seen any more" in said
    assert complaints([], [entry], stale=False) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"golden": "*/a.json"},
        {"change": "new"},
        {"why": "Because."},
    ],
)
def test_an_entry_is_checked(wrong: dict[str, str]) -> None:
    good = {"golden": "scores/a.json", "path": "**", "change": "added", "why": "It is told too."}
    Entry(**good)
    with pytest.raises(AssertionError):
        Entry(**{**good, **wrong})


def test_what_is_renamed_is_compared_under_its_new_name() -> None:
    one = Renamed("agree/*", ["first"], "lab/", "", "Labels are short now.")
    old = [{"first": "lab/a", "judge": "lab/a", "n": 1}, {"first": "ocr", "judge": "ocr", "n": 2}]
    assert one.apply(old) == [{"first": "a", "judge": "lab/a", "n": 1}, {"first": "ocr", "judge": "ocr", "n": 2}]
    with pytest.raises(AssertionError):
        Renamed("*/a.json", ["first"], "lab/", "", "Labels are short now.")
