"""Pages and data files of the site: what they let in, hold, are called, and say of differences and faults."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.core.evaluator import Evaluator
from limner.core.exam import Question
from limner.core.marks import Criterion, Mark
from limner.exams.genexam.data import ScoringPointsRubric
from limner.exams.views import view
from limner.report.site import build, chunks
from limner.report.site.builder import boxes_in, write_boxes
from limner.report.site.chunks import Chunks, encode, make_key, no_folders, without_folders
from limner.report.site.exam_data import differing
from limner.report.site.inventory import DrawingSlot, Terms
from limner.report.site.judge_data import Faults
from limner.report.site.leaderboard import BoardRows, JudgeTable
from limner.report.site.pages import PAGES, POLICY, Provenance, exam_page, index_page, store_name, text
from limner.scoring import Entry
from limner.store import Store
from limner.store.records import Drawing, evidence_row
from limner.store.schema import evidence
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.report.site.hostile import WORDS, probe
from tests.report.site.reading import parts
from tests.support import write_exam

anything = st.text(st.characters(exclude_categories=()), min_size=1, max_size=60)


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def foot(word: str) -> Provenance:
    setup = {"variant": word, "templates": word, "judge": word, word: word}
    table = JudgeTable(0, Evaluator("f", setup, word), boards=[BoardRows()], times=[0.0, 0.5, 1.0])
    inventory: Any = SimpleNamespace(name=word, kind=SimpleNamespace(name=word), terms=Terms(), questions=[1, 2])
    vars(inventory).update(painters=[1, 2, 3], slots={}, first=0.0, last=90.0)
    return Provenance(inventory, [table], {word: 7}, 0)


def shape(page: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(tag, tuple(attrs)) for tag, attrs in Tags(page).tags]


@pytest.mark.slow
@given(anything | st.sampled_from(WORDS))
def test_text_never_changes_page_structure(word: str) -> None:
    for page in PAGES:
        made = exam_page(page, foot(word), [(word, "a"), ("x", "b")], 0, word)
        assert shape(made) == shape(exam_page(page, foot("plain"), [("plain", "a"), ("x", "b")], 0, "plain"))
        made.encode("utf-8")
    assert shape(index_page([foot(word)], 0, word)) == shape(index_page([foot("plain")], 0, "plain"))


@given(anything)
def test_escaped_text_is_parsed_back_unchanged(word: str) -> None:
    parser = Tags(f"<p>{text(word)}</p>")
    wanted = (
        "".join("\ufffd" if ord(c) < 32 and c not in "\t\n" else c for c in word).encode("utf-8", "replace").decode()
    )
    assert "".join(parser.words) == wanted


@pytest.mark.parametrize("page", [*PAGES, "first"])
def test_page_complies_with_its_content_security_policy(page: str) -> None:
    made = index_page([foot("x")], 0, "s") if page == "first" else exam_page(page, foot("x"), [("x", "a")], 0, "s")
    for tag, attrs in Tags(made).tags:
        assert not any(name.startswith("on") or name == "style" for name in attrs)
        assert tag != "style"
        for name in ("src", "href"):
            assert not re.match(r"\w+:|//", attrs.get(name) or "")
        if tag == "script":
            assert attrs["src"]
    policies = [
        attrs["content"] for tag, attrs in Tags(made).tags if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [POLICY]
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


def test_public_page_names_no_folder_above_store(store: Store) -> None:
    assert store_name(store) == "store"


marked = st.dictionaries(st.sampled_from("abcde"), st.sampled_from([0, 1, 2]))


@given(st.lists(st.tuples(st.integers(0, 2), marked), max_size=5))
def test_differences_do_not_depend_on_order_of_markings(found: list[tuple[int, dict[str, int]]]) -> None:
    both, ids, between = differing(found)
    other = differing(found[::-1])
    assert (both, sorted(ids), between) == (other[0], sorted(other[1]), other[2])


def test_equally_split_repeats_are_not_judge_differences() -> None:
    split = [(0, {"a": 0}), (0, {"a": 1}), (1, {"a": 0}), (1, {"a": 1})]
    assert differing(split) == (1, ["a"], ["repeats"])
    assert differing([(0, {"a": 0}), (1, {"a": 1})]) == (1, ["a"], ["judges"])
    assert differing([(0, {"a": 0}), (1, {})]) == (0, [], [])


KIND = exams.kind("genexam")
QUESTION: Question[Any] = exams.read(exams.resolve("sample/genexam")).questions[0]
NODE = {"x": 60, "y": 20.5, "w": 100, "h": 30, "lines": ["red"], "name": "red", "entities": [0]}
EDGE = {"path": "M0 0", "from": 0, "to": 0, "dependency": 0, "both": False, "name": "red"}
GRAPH = {"width": 120, "height": 40, "nodes": [NODE], "edges": [EDGE], "lost": []}


def shown(found: Any) -> dict[str, Any]:
    return view(replace(KIND, view=lambda question: found), QUESTION)


def test_valid_graph_is_passed_through() -> None:
    assert shown({"graph": GRAPH}) == {"graph": GRAPH}
    assert shown({"graph": None}) == shown({}) == view(KIND, QUESTION) == {"graph": None}


@pytest.mark.parametrize(
    "found",
    [
        {"id": "another"},
        {"graph": {}},
        {"graph": {**GRAPH, "colour": "red"}},
        {"graph": {**GRAPH, "width": "120"}},
        {"graph": {**GRAPH, "width": float("nan")}},
        {"graph": {**GRAPH, "nodes": [{**NODE, "lines": "red"}]}},
        {"graph": {**GRAPH, "edges": [{**EDGE, "both": 1}]}},
    ],
)
def test_invalid_graph_is_refused(found: Any) -> None:
    with pytest.raises(ValueError, match=r"[Gg]raph"):
        shown(found)


name = st.text("abcxyz0189-_.", min_size=1, max_size=8)


@given(st.lists(name, min_size=2, max_size=5), st.sampled_from(["", "no file in ", "'", "replay/", "a=", "x: "]))
def test_paths_are_shortened_to_file_name(parts: list[str], before: str) -> None:
    path = "/" + "/".join(parts)
    assert no_folders(f"{before}{path}") == f"{before}…/{parts[-1]}"
    assert without_folders({"a": [path, 1, None]}) == {"a": [f"…/{parts[-1]}", 1, None]}


def test_site_contains_no_local_folder_names(tmp_path: Path) -> None:
    """A painter and a judge that are named by where they lie, and a drawing that is not there."""
    small = write_exam(tmp_path, 3)
    first, second, _ = small.ids
    small.drawing(second).unlink()
    judge = f"replay/{write_replay(tmp_path / 'replies.jsonl', {'one': verdicts(small.rows, 5)})}"
    place = tmp_path / "store"
    asked = ("--data", small.data, "--judge", judge, "--store", place)
    limner("run", "genexam", "--painter", f"one=folder/{small.drawings}", *asked, code=None)
    limner("run", "genexam", "--painter", f"folder/{small.drawings}", *asked, code=None)
    build(tmp_path / "site", store=place)
    files = [file for file in (tmp_path / "site").rglob("*") if file.suffix in (".html", ".js")]
    contents = "".join(file.read_text("utf-8") for file in files)
    assert "no file" in contents, "the failure itself is told"
    assert str(tmp_path) not in contents
    assert tmp_path.as_posix().replace("/", "\\/") not in contents
    assert first in contents


words = st.text(st.characters(exclude_categories=()), max_size=40)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
)


@given(plain)
def test_encoded_json_round_trips_and_is_safe_in_scripts(value: Any) -> None:
    encoded = encode(value)
    assert json.loads(encoded) == value
    assert encoded.isascii()
    assert not set(encoded) & set("<>&\n\r")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_non_finite_number_becomes_null(number: float) -> None:
    assert json.loads(encode({"a": [number, 1.5], "b": (number,)})) == {"a": [None, 1.5], "b": [None]}


def test_interleaved_parts_are_flushed_at_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_HELD", 200)
    writer = Chunks(tmp_path)
    wanted: dict[str, list[Any]] = {name: [] for name in ("q/a", "q/b", "list")}
    for number in range(30):
        for name, found in wanted.items():
            part = {"n": number, "word": WORDS[number % len(WORDS)]}
            writer.add(name, part)
            found.append(part)
            assert writer._held < 1000
    assert (tmp_path / "q" / "a.js").exists()
    writer.flush()
    assert {name: parts(tmp_path, name) for name in wanted} == wanted


any_text = st.text(st.characters(exclude_categories=()), max_size=300)


@given(any_text)
def test_key_is_plain_and_short(words: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_]{1,40}-[0-9a-f]{8}", make_key(words))


def test_keys_avoid_windows_device_names_and_parent_folders() -> None:
    found = [make_key(word) for word in ("con", "NUL", "aux", "..", ".", "", *WORDS)]
    assert len(set(found)) == len(found)
    assert not any(word in {"con", "nul", "aux"} or "." in word or "/" in word for word in map(str.casefold, found))


RUBRIC = ScoringPointsRubric.model_validate({"scoring_points": [{"question": "Is it there?", "score": 1.0}]})
CRITERIA = [
    Criterion("point/1", "a", "point", 1, 0.2),
    Criterion("point/2", "b", "point", 1, 0.8),
    Criterion("logic", "c", "rating", 2),
]


def entry(number: int, *values: int | None) -> tuple[DrawingSlot, Entry]:
    question = Question(f"q{number}", "Draw.", RUBRIC)
    drawing = Drawing(f"d{number}", "e", question.id, question.hash, "me", "x", "direct", 0, "done")
    pairs = zip(CRITERIA, values, strict=True)
    marks = [Mark(c.id, value, "why") if value is not None else Mark.abstain(c.id, "") for c, value in pairs]
    return (
        DrawingSlot(drawing.id, number, number, 0, 0, None, "done"),
        Entry(question, drawing, None, tuple(marks), status="done"),
    )


def test_fault_shares_and_worst_example_per_question() -> None:
    faults = Faults()
    for number, values in enumerate([(0, 0, 2), (1, 0, 1), (None, 1, 2)]):
        slot, one = entry(number, *values)
        faults.add(0, slot, one, CRITERIA)
    point, logic = faults.of(0, 0)
    assert (point["sort"], point["decided"], point["met"], point["failed"]) == ("point", 5, 2.0, 3)
    assert [(one["q"], one["text"]) for one in point["examples"]] in ([(0, "b"), (1, "b")], [(1, "b"), (0, "b")])
    assert (logic["met"], logic["failed"], logic["examples"][0]["value"]) == (2.5, 1, 1)
    assert faults.of(1, 0) == faults.of(0, 1) == []


LINE = {"text": "Sun", "box": [[1, 2], [5, 2], [5, 4], [1, 4]], "confidence": 0.5}
any_value = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["box", "lines", "boxes", "value", "text"]), inner)
    ),
)


@given(any_value)
def test_any_probe_value_is_read_without_error(value: Any) -> None:
    assert all(len(box[0]) == 8 for box in boxes_in(value))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"lines": [LINE]}, [[[1, 2, 5, 2, 5, 4, 1, 4], "Sun", 0.5]]),
        ([LINE], [[[1, 2, 5, 2, 5, 4, 1, 4], "Sun", 0.5]]),
        ({"value": {"count": 1, "lines": 0, "boxes": [[0, 0, 2, 3]]}}, [[[0, 0, 2, 0, 2, 3, 0, 3]]]),
        (17, []),
        ({"boxes": [["a", 0, 2, 3], [1, 2, 3], None]}, []),
    ],
)
def test_boxes_are_read_from_lines_and_regions(value: Any, found: list[Any]) -> None:
    assert boxes_in(value) == found


def test_newest_boxes_go_to_every_question_with_picture(tmp_path: Path, store: Store) -> None:
    probe(store, "a" * 64, "ocr/old", {"lines": []})
    probe(store, "a" * 64, "ocr/new", {"lines": [LINE]})
    probe(store, "b" * 64, "ocr/new", {"lines": [LINE]})
    row = evidence_row("a" * 64, "regions", "sam", {"count": 1, "boxes": [[0, 0, 9, 9]]})
    store.write(lambda connection: store.upsert(connection, evidence, row))
    chunks = Chunks(tmp_path)
    assert write_boxes(store, {"a" * 64: [(chunks, "one"), (chunks, "two")]}) == 1
    chunks.flush()
    assert not (tmp_path / "boxes" / "b.js").exists()
    for name in ("one", "two"):
        ocr, regions = parts(tmp_path, f"boxes/{name}")
        assert (ocr["sort"], ocr["backend"], ocr["boxes"][0][1]) == ("ocr", "new", "Sun")
        assert (regions["sort"], regions["count"]) == ("regions", 1)
        assert [part["boxes"]["sort"] for part in parts(tmp_path, f"q/{name}")] == ["ocr", "regions"]
