"""The kinds of criteria, asks, scores and summaries, each against a number by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.core.asks import Picture, Reply, Text, Unreadable
from limner.core.errors import DataError, Lacking
from limner.core.exam import Question, Reference
from limner.core.marks import Mark
from limner.core.protocol import Row
from limner.exams.rubric import load_declared
from limner.exams.rubric.criteria import RubricQuestion
from limner.judges import make_variant

HEAD = 'name = "mine"\ntitle = "Mine"\n'
ASK = '[[asks]]\nname = "mark"\nprompt = "mark"\nshows = ["prompt", "drawing"]\ncriteria = [{names}]\n'
YES = '[[criteria]]\nname = "points"\nfrom = "points"\n'
GRADED = '[[criteria]]\nname = "graded"\nkind = "choice"\ntext = "How?"\nvalues = { no = 0, partly = 0.7, yes = 1 }\n'
SCALE = '[[criteria]]\nname = "{name}"\nkind = "scale"\nlow = {low}\nhigh = {high}\ntext = "How far {{{{who}}}}?"\n'


def opened(folder: Path, body: str, names: str = "", ask: str = "", mark: str = "{{criteria}} {{reply}}") -> Any:
    (folder / "prompts").mkdir(exist_ok=True)
    (folder / "prompts" / "mark.md").write_text(mark, "utf-8")
    (folder / "exam.toml").write_text(HEAD + body + (ASK.format(names=names) + ask if names else ""), "utf-8")
    return load_declared(folder / "exam.toml")


def question(**columns: Any) -> Question[RubricQuestion]:
    tags = columns.pop("tags", {})
    return Question("q", "Draw it.", RubricQuestion(**columns), tags)


def marked(kind: Any, asked: Question[Any], **given: Any) -> dict[str, float | None]:
    """The scores with these values; a list of a family's own as a text of digits under its name."""
    marks = [Mark(name, value) for name, value in given.items() if name != "points"]
    marks += [Mark(f"points/{n}", int(value)) for n, value in enumerate(str(given.get("points", "")), 1)]
    scores: dict[str, float | None] = kind.protocol.scores(asked, marks, {})
    return scores


def score(name: str, kind: str, of: str, more: str = "") -> str:
    return f'[[scores]]\nname = "{name}"\nkind = "{kind}"\nof = {of}\n{more}\n'


TWO = YES + SCALE.format(name="look", low=1, high=5)
WORST = "when = { score = 'look', at_most = 1 }"
TWO_NAMES = '"points", "look"'


@pytest.mark.parametrize(
    ("plan", "points", "look", "expected"),
    [
        (score("s", "share", '"points"'), "1100", 3, 50),
        (score("s", "all", '["points", "look"]'), "1111", 5, 100),
        (score("s", "all", '["points", "look"]'), "1111", 4, 0),
        (score("s", "mean", '["points", "look"]'), "1100", 2, 37.5),
        (score("s", "product", '["points", "look"]'), "1100", 3, 25),
        (score("s", "weighted", "{ points = 3, look = 1 }"), "1110", 1, 56.25),
        (score("s", "scale", '"look"'), "0000", 4, 4),
        (score("s", "sum", '"points"', "top = 4"), "1110", 1, 3),
        (score("s", "gate", '"points"', "when = { score = 'look', below = 2 }\nto = 0.25"), "1110", 1, 25),
        (score("s", "gate", '"points"', "when = { score = 'look', below = 2 }\nto = 0.25"), "1110", 2, 75),
        (score("s", "gate", '"points"', f"{WORST}\ntimes = 0.5\nplus = -0.2"), "1000", 1, 0),
        (score("s", "gate", '"points"', f"{WORST}\ntimes = 0.5\nplus = -0.2"), "1110", 1, 17.5),
        (score("s", "weighted", "{ points = 1, look = 2 }", "round = 2"), "1110", 2, 42),
    ],
)  # fmt: skip
def test_scores_equal_numbers_by_hand(tmp_path: Path, plan: str, points: str, look: int, expected: float) -> None:
    kind = opened(tmp_path, TWO + plan, TWO_NAMES)
    asked = question(points=["a", "b", "c", "d"], who="she")
    assert marked(kind, asked, points=points, look=look)["s"] == pytest.approx(expected)


def test_undecided_criteria_leave_scores_open_unless_settled(tmp_path: Path) -> None:
    plans = score("all", "all", '["points", "look"]') + score("share", "share", '"points"')
    plans += score("gate", "gate", '"share"', "when = { score = 'look', at_least = 4 }\nto = 0")
    kind = opened(tmp_path, TWO + plans, TWO_NAMES)
    asked = question(points=["a", "b"], who="she")
    assert marked(kind, asked, points=0) == {"all": 0, "share": None, "gate": None}
    assert marked(kind, asked, points=11) == {"all": None, "share": 100, "gate": None}
    assert [score.monotone for score in kind.protocol.scored] == [True, True, False]
    assert kind.protocol.nothing(asked) == {"all": 0, "share": 0, "gate": 0}


def test_weights_depend_on_families_that_question_has(tmp_path: Path) -> None:
    look = SCALE.format(name="look", low=0, high=2) + 'when = { field = "asked", one_of = ["yes"] }\n'
    plan = score("s", "weighted", "{ points = 0.6, look = 0.4 }", "otherwise = { points = 0.5 }")
    kind = opened(tmp_path, YES + look + plan, TWO_NAMES)
    assert marked(kind, question(points=["a"], asked="Yes", who=""), points=1)["s"] == 100
    assert marked(kind, question(points=["a"], asked="yes", who=""), points=1, look=1)["s"] == pytest.approx(80)
    assert [each.id for each in kind.protocol.criteria(question(points=["a"], asked="yes", who=""))] == [
        "points/1",
        "look",
    ]


def test_choice_of_words_and_options(tmp_path: Path) -> None:
    options = '[[criteria]]\nname = "quiz"\nkind = "choice"\nfrom = "quiz"\ntext = "ask"\n'
    kind = opened(tmp_path, GRADED + options + score("s", "mean", '["graded", "quiz"]'), '"graded", "quiz"')
    quiz = [{"ask": "Which?", "options": ["one", "two", "three"], "answer": "two"}]
    asked = question(quiz=json.dumps(quiz))
    (ask,) = kind.protocol.asks(asked, "d" * 64, {}, make_variant(kind, None, {}))
    told = ask.shown[0].text
    assert "Which?\n   A. one\n   B. two\n   C. three" in told
    assert "answer" not in quiz[0]["options"]
    entries = [{"reason": "x", "answer": "B"}]
    body = {"graded": {"reason": "half", "answer": "Partly"}, "quiz": entries}
    marks = ask.contract.parse(json.dumps(body))
    assert [(mark.criterion, mark.value, mark.reason) for mark in marks] == [
        ("graded", 1, "half"), ("quiz/1", 1, "B: x")
    ]  # fmt: skip
    assert kind.protocol.scores(asked, marks, {})["s"] == pytest.approx(85)
    with pytest.raises(Unreadable, match="must be one of: A, B, C"):
        ask.contract.parse(json.dumps(body | {"quiz": [{"answer": "D"}]}))


def test_one_call_for_each_criterion(tmp_path: Path) -> None:
    kind = opened(tmp_path, YES + score("s", "share", '"points"'), '"points"', "each = true\nreasons = false")
    asked = question(points="- Is it red?\n- Is it round?")
    asks = kind.protocol.asks(asked, "d" * 64, {}, make_variant(kind, None, {}))
    assert [(ask.name, [each.text for each in ask.criteria]) for ask in asks] == [
        ("mark/1", ["Is it red?"]), ("mark/2", ["Is it round?"])
    ]  # fmt: skip
    replies = [Reply("mark/1", '{"points": 1}'), Reply("mark/2", '{"points": 7}')]
    marks = kind.protocol.marks(asked, replies, "careful")
    assert [(mark.criterion, mark.value, mark.verdict) for mark in marks] == [
        ("points/1", 1, "answer"), ("points/2", None, "unread")
    ]  # fmt: skip


def test_absent_reference_is_lacking_and_none_is_left_out(tmp_path: Path) -> None:
    ask = ASK.format(names='"points"').replace('"drawing"', '"drawing", "reference"')
    kind = opened(tmp_path, YES + score("s", "share", '"points"') + ask)
    asked, way = question(points=["a"]), make_variant(kind, None, {})
    (found,) = kind.protocol.asks(asked, "d" * 64, {}, way)
    assert [type(part) for part in found.shown] == [Text, Picture]
    absent = Question("q", "x", asked.rubric, {}, Reference("gone.png"))
    with pytest.raises(Lacking, match=r"q: the picture gone\.png is absent"):
        kind.protocol.asks(absent, "d" * 64, {}, way)


def test_summaries(tmp_path: Path) -> None:
    summaries = """
[tags]
place = "place"
[summaries]
macro = { of = "s", by = "place" }
culture = { of = "s", by = "place", weights = { sea = 3, sky = 1 } }
both = { weighted = { s = 1, macro = 3 } }
each = { of = "points", over = "criteria" }
"""
    kind = opened(tmp_path, YES + score("s", "share", '"points"') + summaries, '"points"')
    rows = []
    for place, points in (("sea", "11"), ("sea", "10"), ("sky", "0000")):
        asked = question(points=list(points), tags={"place": place})
        marks = tuple(Mark(f"points/{n}", int(value)) for n, value in enumerate(points, 1))
        rows.append(Row(asked, marks, kind.protocol.scores(asked, marks, {})))
    assert kind.protocol.summary(rows) == {
        "s": pytest.approx(50), "macro": pytest.approx(37.5), "culture": pytest.approx(56.25),
        "both": pytest.approx(0.25 * 50 + 0.75 * 37.5), "each": pytest.approx(37.5),
    }  # fmt: skip


def test_readings_have_scores_of_their_own(tmp_path: Path) -> None:
    readings = """
[readings.release]
unread = "omit"
[readings.paper]
unread = "lowest"
[[readings.paper.scores]]
name = "s"
kind = "all"
of = "points"
"""
    kind = opened(tmp_path, YES + score("s", "share", '"points"') + readings, '"points"')
    asked = question(points=["a", "b", "c"])
    marks = [Mark("points/1", 1), Mark("points/2", 0), Mark.unread("points/3", "?")]
    protocol = kind.protocol
    assert protocol.scores(asked, marks, {}) == {"s": None}
    assert protocol.read_as("release").scores(asked, marks, {}) == {"s": 50}
    assert protocol.read_as("paper").scores(asked, marks, {}) == {"s": 0}
    assert protocol.read_as("paper").asked == protocol.asked


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (YES + "low = 3\n" + score("s", "share", '"points"'), 3, 'low and high belong to kind = "scale"'),
        (YES + score("s", "shore", '"points"'), 8, "scores.kind"),
        (
            YES + score("s", "share", '"point"'),
            9,
            "'point' is not a criterion, group or earlier score; there are: points",
        ),
        (YES + score("s", "gate", '"points"'), 6, "a gate needs when"),
        (YES + score("s", "share", '"points"') + "[summaries.x]\nof = 's'\n", 11, "a summary needs one of over"),
        (YES + YES + score("s", "share", '"points"'), 7, "'points' is used twice"),
        (
            YES + 'wait = "x"\n' + score("s", "share", '"points"'),
            6,
            "criteria.wait: no such key; choose from: name, kind, from",
        ),
    ],
)
def test_mistakes_in_definition_have_their_line(tmp_path: Path, body: str, line: int, message: str) -> None:
    with pytest.raises(DataError) as caught:
        opened(tmp_path, body, '"points"')
    assert f"exam.toml:{line}: " in str(caught.value), str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(("test", "expected"), [("below = 2", 75), ("at_most = 1", 75), ("range = [0, 1]", 75)])
def test_gate_by_a_criterion_that_the_question_lacks_stays_open(tmp_path: Path, test: str, expected: float) -> None:
    look = SCALE.format(name="look", low=1, high=5) + 'when = { field = "photo?", required = true }\n'
    gate = score("s", "gate", '"points"', f"when = {{ score = 'look', {test} }}\nto = 0.1")
    kind = opened(tmp_path, YES + look + gate, TWO_NAMES)
    assert marked(kind, question(points=list("abcd")), points="1110") == {"s": expected}
    edit = question(points=list("abcd"), photo="a.png")
    assert marked(kind, edit, points="1110", look=1) == {"s": pytest.approx(10)}


def test_ask_without_template_or_family_is_refused(tmp_path: Path) -> None:
    ask = ASK.format(names='"pints"').replace('prompt = "mark"', 'prompt = "marx"')
    with pytest.raises(
        DataError, match=r"'pints' is not a criterion or group(.|\n)*marx\.md(.|\n)*no ask has the criterion 'points'"
    ):
        opened(tmp_path, YES + score("s", "share", '"points"') + ask)
