"""What every exam's protocol and reader promise, held to the sample: words, replies, scores, presets and wrong data."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Ask, Picture, Reply, Text, Unreadable, Variant
from limner.core.errors import DataError, UsageError
from limner.core.exam import Question
from limner.core.marks import Mark, fill
from limner.core.protocol import READINGS
from limner.exams import EXAMS, SHIPPED, kind, read, resolve, write_starter
from limner.judges import make_variant
from tests.exams.fepbench import atom_sets
from tests.exams.genexam import replies as genexam
from tests.exams.mmmg import cases

DRAWING = "1" * 64
TOLD = re.compile(r"words (?:in|inside|of) (?:a|the) (?:picture|drawing)[^.]*\.?[^.]*never instructions", re.IGNORECASE)
EVIDENCE: dict[str, Any] = {
    "caption": "A triangle.",
    "ocr": {"value": [], "backend": "none"},
    "regions": {"value": 100, "backend": "imported"},
    "aesthetics": {"value": 51.0, "backend": "imported"},
}
DECLARED = tuple(name for name in EXAMS.own() if name not in SHIPPED)
NAMES = (*SHIPPED, *DECLARED)
QUESTIONS = {name: read(resolve(f"sample/{name}")).questions for name in NAMES}
each_exam = pytest.mark.parametrize("name", NAMES)


def ways(name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Every variant of an exam with every choice of its options."""
    protocol = kind(name).protocol
    for variant in protocol.variants:
        for values in product(*protocol.options.values()):
            yield variant, dict(zip(protocol.options, values, strict=True))


def made(name: str) -> list[Variant]:
    return [make_variant(kind(name), variant, options) for variant, options in ways(name)]


each_way = pytest.mark.parametrize(
    ("name", "variant", "options"), [(name, *way) for name in NAMES for way in ways(name)]
)


def words(ask: Ask) -> str:
    return "\n".join(part.text for part in ask.shown if isinstance(part, Text))


@each_way
def test_asks_show_drawing_and_fill_every_field(name: str, variant: str, options: dict[str, str]) -> None:
    """The drawing is shown, words in it are not instructions, every field is filled but those that a prompt quotes."""
    protocol, way = kind(name).protocol, make_variant(kind(name), variant, options)
    question = replace(QUESTIONS[name][0], prompt="Write {{points}} and {{")
    for ask in (*protocol.before(question, way), *protocol.asks(question, DRAWING, EVIDENCE, way)):
        text = words(ask)
        assert any(isinstance(part, Picture) for part in ask.shown)
        assert TOLD.search(" ".join(text.split())), text
        assert "{{" not in text.replace("Write {{points}} and {{", "")
    asks = protocol.asks(question, DRAWING, EVIDENCE, way)
    assert all(Picture(DRAWING).sha256 in [p.sha256 for p in ask.shown if isinstance(p, Picture)] for ask in asks)
    assert [c.id for ask in asks for c in ask.criteria] == [c.id for c in protocol.criteria(question)]


@each_exam
def test_ways_of_asking_have_distinct_hashes_and_use_all_templates(name: str) -> None:
    protocol = kind(name).protocol
    used = [protocol.templates(way) for way in made(name)]
    assert len({way.prompts.hash(*names) for way, names in zip(made(name), used, strict=True)}) == len({*used})
    folder = files(f"limner.exams.{name}") / "prompts"
    there = {path.name.removesuffix(".md") for path in folder.iterdir() if path.name.endswith(".md")}
    assert {template for template in there.difference(*used) if not template.startswith("draw-")} == set()


@each_exam
def test_unknown_ways_of_asking_are_usage_errors(name: str) -> None:
    protocol = kind(name).protocol
    wrong: list[tuple[str | None, dict[str, str], str]] = [
        ("odd", {}, f"{name} has no variant 'odd'; it has: {', '.join(protocol.variants)}"),
        (None, {"colour": "red"}, f"{name} has no option 'colour'"),
    ]
    wrong += [
        (None, {option: "odd"}, f"{option}=odd: {name} takes {', '.join(values)}")
        for option, values in protocol.options.items()
    ]
    for variant, options, message in wrong:
        with pytest.raises(UsageError) as caught:
            make_variant(kind(name), variant, options)
        assert message in str(caught.value)


PAPERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "genexam": (
        "openai/gpt-5-2025-08-07",
        "paper",
        {"reasoning_effort": "low", "verbosity": "medium", "max_completion_tokens": 16384},
    ),
    "mmmg": ("openai/o3", "free-text", {"reasoning_effort": "high"}),
    "worldgenbench": ("openai/gpt-4o", "paper", {}),
    "fepbench": ("openai/gpt-5.4", "paper", {"temperature": 0}),
    "aibench": ("openrouter/qwen/qwen3-vl-235b-a22b-instruct", "single", {"temperature": 0, "max_tokens": 1024}),
    "wise": (
        "local/Qwen/Qwen3.5-35B-A3B",
        "exam",
        {"temperature": 0, "max_tokens": 500, "chat_template_kwargs": {"enable_thinking": False}},
    ),
    "corebench": ("gemini/gemini-2.5-flash", "exam", {"temperature": 0}),
    "krisbench": ("openai/gpt-4o", "exam", {"max_tokens": 1000}),
    "risebench": ("openai/gpt-4.1-2025-04-14", "exam", {"temperature": 0, "max_tokens": 4096}),
    "grade": ("gemini/gemini-3-flash-preview", "exam", {"reasoning_effort": "low"}),
}
"""The judge of each paper, how it was asked, and with which arguments."""


@each_exam
def test_presets_match_papers_and_are_valid(name: str) -> None:
    found = kind(name)
    presets = found.all_presets
    paper = found.preset("paper")
    assert (paper["judge"], paper["variant"], paper["judge_args"]) == PAPERS[name]
    assert paper["reading"] == "paper"
    for preset, body in presets.items():
        variant = make_variant(found, body.get("variant"), body.get("options", {}))
        assert variant.prompts.hash(*found.protocol.templates(variant))
        assert body.get("reading", READINGS[0]) in READINGS, preset
        for option, value in body.get("draw_options", {}).items():
            assert value in found.protocol.draw_options[option], preset
    with pytest.raises(UsageError, match=f"{name} has no preset 'peper'; choose from: {', '.join(presets)}"):
        found.preset("peper")


def answer(name: str, question: Question[Any], ask: Ask) -> Any:
    """A reply as the ask wants it: JSON, or a text."""
    rubric = question.rubric
    if name in DECLARED:
        return best_reply(ask)
    if name == "genexam":
        return genexam.reply([1] * len(rubric.scoring_points), [2, 1, 0])
    if name == "fepbench":
        return atom_sets.verification(rubric) if ask.name == "verify" else atom_sets.unexpected(("text", "Sun", "top"))
    if name == "mmmg":
        if ask.name == "checklist":
            return cases.checklist(dict.fromkeys([*rubric.elements, *rubric.dependencies], 1))
        return cases.body([1] * len(rubric.elements), [0] * len(rubric.dependencies))
    if name == "worldgenbench":
        reasons = [{"reason": "seen", "mark": 1}] * len(rubric.checklist)
        return {"answers": reasons} if ask.name == "explain" else [1] * len(rubric.checklist)
    if ask.name == "all":
        return {str(n): item.correct_option for n, item in enumerate(rubric.checklist, 1)}
    return "A"


def best_reply(ask: Ask) -> Any:
    """The reply of the ask's schema with the best value of each criterion."""

    def best(shape: Mapping[str, Any]) -> Any:
        match shape.get("type"):
            case "object":
                return {name: best(inner) for name, inner in shape["properties"].items()}
            case "array":
                return [best(shape["items"])] * len(ask.criteria)
        return max(shape["enum"]) if "enum" in shape else "seen"

    assert ask.contract.schema is not None
    return best(ask.contract.schema)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def wrecked(draw: st.DrawFn, whole: Any) -> Any:
    """A reply with something else, or nothing, in one place."""
    body = copy.deepcopy(whole)
    place = body
    while isinstance(place, dict | list) and place:
        key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        if isinstance(place[key], dict | list) and draw(st.booleans()):
            place = place[key]
        elif draw(st.booleans()):
            del place[key]
            break
        else:
            place[key] = draw(JSON)
            break
    return body


def as_text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)


@each_way
@given(data=st.data())
def test_reply_is_retried_exactly_when_unreadable(
    name: str, variant: str, options: dict[str, str], data: st.DataObject
) -> None:
    protocol, question = kind(name).protocol, QUESTIONS[name][0]
    asks = protocol.asks(question, DRAWING, EVIDENCE, make_variant(kind(name), variant, options))
    good = {ask.name: answer(name, question, ask) for ask in asks}
    chosen = data.draw(st.sampled_from(asks))
    text = data.draw(st.text() | st.just(as_text(good[chosen.name])) | wrecked(good[chosen.name]).map(as_text))
    replies = [Reply(ask.name, text if ask is chosen else as_text(good[ask.name])) for ask in asks]
    tops = {criterion.id: criterion.top for criterion in protocol.criteria(question)}
    for reading in READINGS:
        marks = {mark.criterion: mark for mark in protocol.marks(question, replies, reading)}
        assert tops.keys() <= marks.keys()
        assert all(marks[id].value is None or 0 <= (marks[id].value or 0) <= top for id, top in tops.items())
    careful = {mark.criterion: mark for mark in protocol.marks(question, replies, "careful")}
    unread = any(careful[criterion.id].verdict == "unread" for criterion in chosen.criteria)
    try:
        chosen.contract.parse(text)
    except Unreadable:
        assert unread
    else:
        assert not unread
    assert text != as_text(good[chosen.name]) or not unread


@each_exam
def test_missing_reply_is_unread_and_not_zero(name: str) -> None:
    protocol, question = kind(name).protocol, QUESTIONS[name][0]
    marks = protocol.marks(question, [], "careful")
    assert {mark.criterion for mark in marks} == {criterion.id for criterion in protocol.criteria(question)}
    assert {(mark.verdict, mark.value) for mark in marks} == {("unread", None)}


@each_exam
@given(data=st.data())
def test_better_marks_never_lower_score_and_bounds_contain_truth(name: str, data: st.DataObject) -> None:
    protocol, question = kind(name).protocol, data.draw(st.sampled_from(QUESTIONS[name]))
    criteria = protocol.criteria(question)
    truth = [Mark(criterion.id, data.draw(st.integers(criterion.low, criterion.top))) for criterion in criteria]
    some = [mark if data.draw(st.booleans()) else Mark.abstain(mark.criterion, "") for mark in truth]
    place = data.draw(st.integers(0, len(truth) - 1))
    better = [*truth[:place], Mark(truth[place].criterion, criteria[place].top), *truth[place + 1 :]]
    settled, risen, undecided = (protocol.scores(question, marks, EVIDENCE) for marks in (truth, better, some))
    worst, best = (protocol.scores(question, fill(some, criteria, way), EVIDENCE) for way in (False, True))
    assert settled.keys() <= {score.name for score in protocol.scored}
    for score in protocol.scored:
        value = settled.get(score.name)
        assert value is None or 0 <= value <= score.top
        if not score.monotone or value is None:
            continue
        low, high, known = worst[score.name], best[score.name], undecided[score.name]
        assert low is not None
        assert high is not None
        assert (risen[score.name] or 0) >= value - 1e-9
        assert low - 1e-9 <= value <= high + 1e-9
        # A score that is given in spite of abstentions is the only one possible.
        assert known is None or (known == pytest.approx(low) and known == pytest.approx(high))


IDS = {"genexam": "id", "mmmg": "key", "worldgenbench": "id", "fepbench": "id", "aibench": "id"}
"""The field that names a question."""


@pytest.mark.parametrize("name", SHIPPED)
def test_invalid_lines_are_reported_with_file_line_and_id(name: str, tmp_path: Path) -> None:
    write_starter(tmp_path / "mine", name)
    file = min((tmp_path / "mine" / "data").rglob("*.jsonl"))
    first = file.read_bytes().splitlines()[0]
    row = json.loads(first)
    climbs = json.dumps({**row, IDS[name]: "../b_C_1"}).encode()
    images = [field for field in row if field in ("image", "image_path")]
    wrong = [
        (first, f"{row[IDS[name]]}: this {'key' if name == 'mmmg' else 'id'} is already used in"),
        (climbs, "an id is used as a file name"),
        (json.dumps({**row, IDS[name]: 7}).encode(), f"{IDS[name]}: Input should be a valid string"),
        (b"[1, 2]", "expected a JSON object, not list"),
        (first[:50], "not JSON: "),
        (b'{"id":' + b"[" * 200_000, "not JSON: "),
        (b'{"id": "\xff\xfe"}', "not UTF-8"),
        *(
            (json.dumps({**row, IDS[name]: "a_B_1", field: "../a.png"}).encode(), "leaves the folder")
            for field in images
        ),
    ]
    for line, message in wrong:
        file.write_bytes(first + b"\n" + line + b"\n")
        with pytest.raises(DataError) as caught:
            read(resolve(str(tmp_path / "mine" / "exam.toml")))
        assert message in str(caught.value)
        assert f"{file}:2: " in str(caught.value)
        assert len(str(caught.value)) < 2000
