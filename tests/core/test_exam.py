"""Questions, and the selection of questions."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from limner import exams
from limner.core.errors import UsageError
from limner.core.exam import Exam, Question, Reference, Selection, allocate_proportionally, sample_stratified
from limner.exams.aibench.data import balance_letters
from limner.running.setup import load_exam_or_data


class Plain(BaseModel):
    answer: str = "yes"


def make(tags: list[dict[str, str]], subsets: dict[str, frozenset[str]] | None = None) -> Exam[Plain]:
    questions = tuple(Question(f"q{n}", f"Draw {n}.", Plain(), each) for n, each in enumerate(tags))
    return Exam("exam", "plain", questions, subsets or {})


EXAM = make(
    [
        {"subject": "Biology", "level": "easy"},
        {"subject": "biology", "level": "hard"},
        {"subject": "Music", "level": "easy"},
        {"subject": "Music", "level": "hard", "extra": "yes"},
    ],
    {"mini": frozenset({"q1", "q3"})},
)


def chosen(**words: object) -> list[str]:
    selection = Selection.parse(**words)  # type: ignore[arg-type]
    return [question.id for question in EXAM.select(selection).questions]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, ["q0", "q1", "q2", "q3"]),
        ({"subset": "mini"}, ["q1", "q3"]),
        ({"ids": "q3,q0"}, ["q0", "q3"]),
        ({"ids": " q3 , q0\n"}, ["q0", "q3"]),
        ({"where": ["subject=Biology"]}, ["q0", "q1"]),
        ({"where": ["subject=BIOLOGY", "subject=Music"]}, ["q0", "q1", "q2", "q3"]),
        ({"where": ["subject=Music", "level=hard"]}, ["q3"]),
        ({"where": ["extra=yes"]}, ["q3"]),
        ({"where": ["extra="]}, ["q0", "q1", "q2"]),
        ({"limit": 2}, ["q0", "q1"]),
        ({"subset": "mini", "where": ["level=hard"], "ids": "q0,q3", "limit": 1}, ["q3"]),
        ({"where": ["subject=Chemistry"]}, []),
        ({"sample": 9}, ["q0", "q1", "q2", "q3"]),
        ({"sample": 1, "where": ["extra=yes"]}, ["q3"]),
    ],
)
def test_selection_picks_expected_questions(words: dict[str, object], expected: list[str]) -> None:
    assert chosen(**words) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"subset": "maxi"}, r"no subset 'maxi' in this exam; it has: mini"),
        ({"ids": "q1,nope,never"}, r"no question with id never, nope"),
        ({"ids": " , "}, r"--ids names no id"),
        ({"ids": "@/nowhere/at/all"}, r"--ids @/nowhere/at/all: cannot be read"),
        ({"where": ["colour=red"]}, r"no tag 'colour' in this exam; it has: extra, level, subject"),
        ({"where": ["subject"]}, r"--where takes TAG=VALUE, not 'subject'"),
        ({"where": ["=Music"]}, r"--where takes TAG=VALUE, not '=Music'"),
        ({"limit": 0}, r"--limit must be at least 1, not 0"),
        ({"limit": -3}, r"--limit must be at least 1, not -3"),
        ({"sample": 0}, r"--sample must be at least 1, not 0"),
        ({"sample_seed": 3}, r"--sample-seed needs --sample N"),
    ],
)
def test_invalid_selection_is_usage_error(words: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen(**words)


@pytest.mark.parametrize("seed", range(8))
def test_sample_is_stratified_by_breakdown(seed: int) -> None:
    selection = Selection.parse(sample=2, sample_seed=seed)
    found = EXAM.select(selection, ("subject",)).questions
    assert [question.tags["subject"] for question in found] == ["Biology", "Music"]
    assert len(EXAM.select(Selection(sample=3, limit=2)).questions) == 2


def test_ids_are_read_from_file(tmp_path: Path) -> None:
    file = tmp_path / "ids.txt"
    file.write_bytes("\ufeffq3\r\nq1\r\n\r\n q0 ,\n".encode())
    assert chosen(ids=f"@{file}") == ["q0", "q1", "q3"]


NAMES = st.sampled_from(["a", "b", "c"])
TAGS = st.lists(st.dictionaries(st.sampled_from(["x", "y"]), NAMES), max_size=12)


@given(
    tags=TAGS,
    subset=st.none() | st.sets(st.integers(0, 11)),
    ids=st.none() | st.sets(st.integers(0, 11), min_size=1),
    where=st.lists(st.tuples(st.sampled_from(["x", "y"]), NAMES), max_size=3),
    limit=st.none() | st.integers(1, 12),
)
def test_selection_conditions_combine_and_keep_order(
    tags: list[dict[str, str]],
    subset: set[int] | None,
    ids: set[int] | None,
    where: list[tuple[str, str]],
    limit: int | None,
) -> None:
    known = {tag for each in tags for tag in each}
    where = [pair for pair in where if pair[0] in known]
    wanted = None if ids is None else {n for n in ids if n < len(tags)}
    exam = make(tags, {"some": frozenset(f"q{n}" for n in subset or ())})
    selection = Selection(
        None if subset is None else "some",
        None if wanted is None else tuple(f"q{n}" for n in sorted(wanted, reverse=True)),
        tuple(where),
        limit,
    )
    expected = []
    for n, each in enumerate(tags):
        fits = (subset is None or n in subset) and (wanted is None or n in wanted)
        for tag in {tag for tag, _ in where}:
            fits = fits and each.get(tag, "") in {value for name, value in where if name == tag}
        if fits:
            expected.append(f"q{n}")
    assert [question.id for question in exam.select(selection).questions] == expected[:limit]


def test_question_hash_depends_on_content(tmp_path: Path) -> None:
    image = tmp_path / "a.png"
    image.write_bytes(b"one")
    plain = Question("q", "Draw.", Plain(), {"a": "b"}, Reference("a.png", image))
    others = [
        Question("p", "Draw.", Plain(), {"a": "b"}, Reference("a.png", image)),
        Question("q", "Draw!", Plain(), {"a": "b"}, Reference("a.png", image)),
        Question("q", "Draw.", Plain(answer="no"), {"a": "b"}, Reference("a.png", image)),
        Question("q", "Draw.", Plain(), {"a": "c"}, Reference("a.png", image)),
        Question("q", "Draw.", Plain(), {"a": "b"}, Reference("b.png", image)),
        Question("q", "Draw.", Plain(), {"a": "b"}, Reference("a.png")),
        Question("q", "Draw.", Plain(), {"a": "b"}),
    ]
    assert len({plain.hash, *(other.hash for other in others)}) == len(others) + 1
    again = Question.from_json(plain.to_json(), Plain, hashlib.sha256(b"one").hexdigest())
    assert again.hash == plain.hash
    assert again.reference is not None
    assert again.reference.path is None


def test_input_pictures_are_part_of_question(tmp_path: Path) -> None:
    for name, content in (("a", b"one"), ("b", b"two")):
        (tmp_path / name).write_bytes(content)
    one, two = (Reference(name, tmp_path / name) for name in "ab")
    plain, edit = Question("q", "Draw.", Plain()), Question("q", "Draw.", Plain(), inputs=(one, two))
    # The hash and JSON of questions without inputs do not change; stores refer to them.
    assert plain.hash == "a6c890446b80c969c78bdc30106f7b70ea236f78db8ed9b983c28d0eed005477"
    assert "inputs" not in plain.to_json()
    others = [replace(edit, inputs=inputs) for inputs in ((two, one), (one,), (Reference("c", one.path), two))]
    assert len({plain.hash, edit.hash, *(other.hash for other in others)}) == 5
    again = Question.from_json(json.loads(json.dumps(edit.to_json())), Plain, None)
    assert [picture.sha256 for picture in again.inputs] == [hashlib.sha256(x).hexdigest() for x in (b"one", b"two")]
    assert again.hash == edit.hash
    assert [picture.name for picture in replace(edit, reference=Reference("r")).pictures] == ["a", "b", "r"]


def test_known_hash_is_not_computed_again() -> None:
    unread = Question("q", "Draw.", Plain(), reference=Reference("a", load=lambda: pytest.fail("the image was read")))
    unread.know_hash("ab")
    assert unread.hash == "ab"
    assert unread == Question("q", "Draw.", Plain(), reference=Reference("a"))


SIZES = st.dictionaries(st.text(max_size=4), st.integers(0, 60), max_size=9)
Item = tuple[int, str, str]
ITEMS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=60).map(
    lambda pairs: [(n, *pair) for n, pair in enumerate(pairs)]
)


def pick(items: list[Item], n: int, seed: int = 0) -> list[Item]:
    return sample_stratified(items, n, seed, [lambda one: one[1], lambda one: one[2]], lambda one: str(one[0]))


@given(SIZES, st.integers(0, 400))
def test_allocation_rounds_exact_shares_to_integers(sizes: dict[str, int], n: int) -> None:
    found, whole = allocate_proportionally(sizes, n), sum(sizes.values())
    assert sum(found.values()) == min(n, whole)
    for name, size in sizes.items():
        assert 0 <= found[name] <= size
        if whole:
            assert abs(found[name] - Fraction(size * min(n, whole), whole)) < 1


@given(ITEMS, st.integers(0, 80), st.integers(), st.randoms())
def test_sample_has_requested_size_and_ignores_input_order(
    items: list[Item], n: int, seed: int, chance: object
) -> None:
    found = pick(items, n, seed)
    assert len(found) == min(n, len(items))
    assert found == sorted(set(found))  # In the order of the exam, none twice.
    mixed = list(items)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert sorted(pick(mixed, n, seed)) == found


@given(ITEMS, st.integers(0, 80), st.integers())
def test_nested_groups_keep_their_shares(items: list[Item], n: int, seed: int) -> None:
    found = pick(items, n, seed)
    taken = Counter(one[1] for one in found)
    assert +taken == +Counter(allocate_proportionally(Counter(one[1] for one in items), n))
    for outer, room in taken.items():
        inner = Counter(one[2] for one in found if one[1] == outer)
        assert +inner == +Counter(allocate_proportionally(Counter(one[2] for one in items if one[1] == outer), room))


@pytest.mark.parametrize("sample", ["genexam", "mmmg", "worldgenbench", "fepbench", "aibench"])
def test_every_exam_declares_breakdowns_for_sampling(sample: str) -> None:
    named, whole = load_exam_or_data(f"sample/{sample}", None, "nowhere")
    breakdowns = exams.kind(named.kind).protocol.breakdowns
    assert breakdowns
    assert len(whole.select(Selection(sample=3), breakdowns).questions) == 3


LETTERS = "ABCD"


def row(id: int, size: int, right: str) -> dict[str, Any]:
    return {
        "id": id,
        "options": {letter: f"{letter.lower()}{id}" for letter in LETTERS[:size]},
        "correct_option": right,
    }


ROWS = st.lists(st.integers(2, 4).flatmap(lambda size: st.tuples(st.just(size), st.sampled_from(LETTERS[:size]))),
                max_size=30).map(lambda found: [row(n, *one) for n, one in enumerate(found)])  # fmt: skip


@given(ROWS, st.text(max_size=5))
def test_balancing_evens_letters_and_keeps_answers(rows: list[dict[str, Any]], key: str) -> None:
    done = balance_letters(rows, key)
    for before, after in zip(rows, done, strict=True):
        assert after["options"][after["correct_option"]] == before["options"][before["correct_option"]]
        assert sorted(after["options"].values()) == sorted(before["options"].values())
        assert list(after["options"]) == sorted(after["options"])
    for size in (2, 3, 4):
        counts = Counter(one["correct_option"] for one in done if len(one["options"]) == size)
        if counts:
            assert max(counts.values()) - min(counts[letter] for letter in LETTERS[:size]) <= 1
    assert balance_letters(done, key) == done, "what is even stays"
    assert balance_letters(rows, key) == done
