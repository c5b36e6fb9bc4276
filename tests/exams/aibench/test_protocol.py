"""From questions to asks, from replies to marks, from marks to scores; and what is said beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core import settings
from limner.core.asks import Picture, Reply, Text
from limner.core.marks import Mark
from limner.core.protocol import READINGS, Row
from limner.exams.aibench import AIBENCH
from limner.exams.aibench.data import ChoiceQuestion
from limner.exams.aibench.protocol import ComponentName, asked, criterion, strip_latex, yes_letter
from limner.judges import make_variant
from tests.exams.aibench.rows import CHECKLIST, item, question, replies, variant

PROTOCOL = AIBENCH.protocol
RATED = {"aesthetics": {"value": 51.0, "backend": "imported"}}


def row(values: Sequence[int | None], evidence: dict[str, Any] | None = None) -> Row:
    """A row of the usual checklist; None is an unread answer."""
    asked = question()
    marks = [
        Mark.unread(one.id, "?") if value is None else Mark(one.id, value)
        for one, value in zip(PROTOCOL.criteria(asked), values, strict=True)
    ]
    scores = PROTOCOL.scores(asked, marks, evidence or {})
    return Row(asked, tuple(marks), scores, evidence or {})


def test_each_question_is_one_call_with_image_first() -> None:
    asks = PROTOCOL.asks(question(), "ab" * 32, {}, variant())
    assert [ask.name for ask in asks] == ["component/1", "component/2", "topology/3", "phase/4", "semantics/5"]
    for ask, one in zip(asks, CHECKLIST, strict=True):
        picture, text = ask.shown
        assert picture == Picture("ab" * 32)
        assert isinstance(text, Text)
        assert one["question"] in text.text
        assert [text.text.count(f"{letter}. {words}") for letter, words in one["options"].items()] == [1] * len(
            one["options"]
        )
        assert ask.system == "You are a plain, helpful assistant."
        assert (ask.contract.required, ask.contract.schema) == (False, None)
        assert [criterion.id for criterion in ask.criteria] == [ask.name]


def test_solver_sees_neither_method_nor_answer() -> None:
    for name in PROTOCOL.variants:
        for ask in PROTOCOL.asks(question(), "0" * 64, {}, variant(name)):
            text = "".join(part.text for part in ask.shown if isinstance(part, Text))
            assert r"A \emph{method}" not in text
            assert "Level" not in text
            assert "correct" not in text


def test_batched_variant_asks_all_questions_in_one_call() -> None:
    (ask,) = PROTOCOL.asks(question(), "ab" * 32, {}, variant("batched"))
    assert (ask.name, ask.shown[0], len(ask.criteria)) == ("all", Picture("ab" * 32), 5)
    assert isinstance(ask.shown[1], Text)
    for number, one in enumerate(CHECKLIST, 1):
        assert f"{number}. {one['question']}\nA. {one['options']['A']}\n" in ask.shown[1].text
    assert ask.contract.schema is not None
    assert list(ask.contract.schema["properties"]) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("reading", READINGS)
def test_answers_become_marks(reading: Any) -> None:
    marks = PROTOCOL.marks(question(), replies("B", "B", "C.", "d", "A"), reading)
    assert [mark.value for mark in marks] == [1, 0, 1, 1, 1]
    assert marks[1].reason == "answered B; right is A"


def test_unreadable_answer_is_unread_or_wrong_depending_on_reading() -> None:
    given = replies("B", "I cannot say", "C", "D", "A")
    careful, release, paper = (
        PROTOCOL.marks(question(), given, reading) for reading in ("careful", "release", "paper")
    )
    assert [mark.verdict for mark in careful] == ["answer", "unread", "answer", "answer", "answer"]
    assert release == paper
    assert (release[1].value, release[1].verdict) == (0, "answer")
    assert release[1].reason.startswith("no answer, which counts as wrong: ")


@pytest.mark.parametrize("text", ["no JSON", '{"1": "B"}', "[]"])
def test_questions_missing_from_batched_reply_are_unread(text: str) -> None:
    marks = PROTOCOL.marks(question(), [Reply("all", text)], "careful")
    assert [mark.value for mark in marks] == [1 if '"1"' in text else None, None, None, None, None]


def test_scores_of_one_drawing_are_computed() -> None:
    found = row([1, 0, 1, 1, 0], RATED).scores
    expected = {"component": 50, "topology": 100, "phase": 100, "semantics": 0, "aesthetics": 51}
    assert found == {**expected, "overall": pytest.approx((50 + 100 + 100 + 0 + 51) / 5)}


def test_unanswered_questions_stay_in_denominator() -> None:
    assert row([1, None, None, 1, 1]).scores == {
        "component": 50, "topology": 0, "phase": 100, "semantics": 100, "aesthetics": None, "overall": 62.5,
    }  # fmt: skip


def test_abstention_leaves_level_undecided() -> None:
    asked = question()
    marks = [Mark(one.id, 1) for one in PROTOCOL.criteria(asked)]
    marks[2] = Mark.abstain("topology/3", "needs eyes")
    found = PROTOCOL.scores(asked, marks, {})
    assert (found["component"], found["topology"], found["overall"]) == (100, None, None)


def test_level_without_questions_has_no_score() -> None:
    asked = question(CHECKLIST[:3])
    found = PROTOCOL.scores(asked, [Mark(one.id, 1) for one in PROTOCOL.criteria(asked)], RATED)
    assert found == {
        "component": 100, "topology": 100, "phase": None, "semantics": None, "aesthetics": 51, "overall": None,
    }  # fmt: skip


CHECKLISTS = st.lists(
    st.tuples(st.sampled_from(["component", "topology", "phase", "semantics"]), st.sampled_from([0, 1, None])),
    max_size=12,
)


@given(st.lists(st.tuples(CHECKLISTS, st.none() | st.floats(0, 100)), min_size=1, max_size=6))
def test_every_question_weighs_the_same_across_drawings(drawings: list[Any]) -> None:
    """Micro averages, worked out by counting."""
    rows, ratings = [], []
    counts: dict[str, tuple[int, int]] = {}
    for number, (answers, rating) in enumerate(drawings):
        every = [*answers, ("component", 1), ("topology", 0), ("phase", 1), ("semantics", 1)]
        checklist = [item(level, n) for n, (level, _) in enumerate(every)]
        asked = question(checklist, f"V/{number}")
        marks = tuple(
            Mark.unread(one.id, "?") if value is None else Mark(one.id, value)
            for one, (_, value) in zip(PROTOCOL.criteria(asked), every, strict=True)
        )
        evidence = {} if rating is None else {"aesthetics": {"value": rating, "backend": "imported"}}
        rows.append(Row(asked, marks, {}, evidence))
        ratings += [] if rating is None else [rating]
        for level, value in every:
            right, asked_for = counts.get(level, (0, 0))
            counts[level] = (right + (value == 1), asked_for + 1)
    found = PROTOCOL.summary(rows)
    expected = {level: 100 * right / asked_for for level, (right, asked_for) in counts.items()}
    if ratings:
        expected["aesthetics"] = sum(ratings) / len(ratings)
    expected["overall"] = sum(expected.values()) / len(expected)
    assert found == pytest.approx(expected)


def test_remarks_list_unread_answers_and_ratings() -> None:
    assert PROTOCOL.remarks([]) == []
    assert PROTOCOL.remarks([row([1] * 5, RATED)]) == []
    rows = [row([1, None, 1, None, 1], RATED), row([1] * 5), row([1] * 5)]
    assert PROTOCOL.remarks(rows) == [
        "2 of 15 questions have no readable answer; they count as not right",
        "aesthetics is known of 1 of 3 drawings: overall counts the mean of those",
    ]
    assert PROTOCOL.remarks(rows[1:]) == [
        "no aesthetics rating: overall is the mean of the four levels, not of five numbers"
    ]


def test_remarks_name_aesthetics_backend() -> None:
    def told(backend: str) -> list[str]:
        return PROTOCOL.remarks([row([1] * 5, {"aesthetics": {"value": 51.0, "backend": backend}})])

    assert told("unipercept/1.0.3 iaa model=x") == ["aesthetics rated by unipercept, as in the paper"]
    (said,) = told("model:openai/gpt-5 prompt=0123")
    assert said.startswith("aesthetics rated by model:openai/gpt-5, not by UniPercept as in the paper")


METHOD = r"""We~\cite{a,b} map $x$ to $z$. % not sure yet
% a whole line
It keeps 5\% of them.\\% end
\begin{figure*}[t]\centering
  \includegraphics[width=\linewidth]{a.pdf}
\end{figure*}
As \citet[see][]{c} say \citep*{d}, \includegraphics{b}."""


def solve(name: str) -> str:
    asks = PROTOCOL.asks(question(), "0" * 64, {}, variant(name))
    return "".join(part.text for part in asks[0].shown if isinstance(part, Text))


def test_own_wording_is_used(tmp_path: Path) -> None:
    (tmp_path / "solve.md").write_text("Q: {{question}}\n{{options}}", "utf-8")
    own = make_variant(AIBENCH, None, {}, tmp_path)
    ask = PROTOCOL.asks(question(), "0" * 64, {}, own)[0]
    assert ask.shown[1] == Text("Q: Is the 'Gate 1' component present?\nA. No\nB. Yes")


def test_closed_and_unknown_painters_get_short_instruction() -> None:
    closed = PROTOCOL.drawing_prompt(question(), "closed", {})
    assert closed == PROTOCOL.drawing_prompt(question(), None, {}) == PROTOCOL.drawing_prompt(question(), "other", {})
    instruction, _, method = closed.partition("\n\n")
    assert len(instruction.split()) < 20
    assert "framework figure" in instruction
    assert method.strip() == question().prompt


def test_open_painters_get_long_instruction() -> None:
    text = PROTOCOL.drawing_prompt(question(), "open", {})
    for fact in ("architecture diagram", "feature maps", "layers", "blocks", "flowchart of bare boxes",
                 "do not just print the text", "clean style of vector graphics"):  # fmt: skip
        assert fact in text
    assert text.strip().endswith(question().prompt)


def test_method_texts_are_sent_unchanged_unless_stripped() -> None:
    asked_for = replace(question(), prompt=METHOD)
    assert METHOD in PROTOCOL.drawing_prompt(asked_for, "open", {"latex": "keep"})
    stripped = PROTOCOL.drawing_prompt(asked_for, "open", {"latex": "strip"})
    assert r"\cite" not in stripped
    assert METHOD not in stripped


def test_strip_latex_removes_only_known_commands() -> None:
    assert strip_latex(METHOD) == "We map $x$ to $z$. \nIt keeps 5\\% of them.\\\\\nAs say, ."
    assert strip_latex(strip_latex(METHOD)) == strip_latex(METHOD)
    assert strip_latex(r"\begin{figure} never ends") == r"\begin{figure} never ends"
    plain = "Nothing\n\nto take out: \\emph{a} {{b}} $c_1$."
    assert strip_latex(plain) == plain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Is the 'Gate' component present?", ComponentName("Gate", ())),
        ('Is there a component named "Memory Bank" in the diagram?', ComponentName("Memory Bank", ())),
        ("Does the diagram depict the 'Teacher Model (TM)' component?", ComponentName("Teacher Model", ("TM",))),
        (
            "Does the figure show the 'Guide' module (by its name, an abbreviation like GD, or 'Helper Net')?",
            ComponentName("Guide", ("Helper Net", "GD")),
        ),
        ("Does the diagram show the model’s ‘Depth Head’?", None),
        ("Is the 'Gate' missing from the diagram?", None),
        ("Is the 'Gate' joined to the 'Sum'?", None),
        ("Is the 'Gate' shown in red?", None),
        ("Is there a gate?", None),
        ("(as in 'Gate') Is the component present?", None),
    ],
)
def test_component_name_is_extracted_from_question(text: str, found: ComponentName | None) -> None:
    assert asked(text) == found


def test_yes_letter_is_recognised() -> None:
    def made(options: dict[str, str], right: str = "A") -> ChoiceQuestion:
        return ChoiceQuestion.model_validate(item("component", 1, right, options=options))

    assert yes_letter(made({"A": "No", "B": "Yes"})) == "B"
    assert yes_letter(made({"A": "Yes, it is", "B": "No, it is not"})) == "A"
    assert yes_letter(made({"A": "Yes", "B": "Perhaps"})) is None
    assert yes_letter(made({"A": "Yes", "B": "No", "C": "Unclear"})) is None
    assert criterion(made({"A": "One", "B": "Two"})).kind == "choice"
    present = criterion(made({"A": "No", "B": "Yes"}, "B"))
    assert (present.kind, present.labels, present.present_means) == ("component", ("Gate 1",), 1)
    assert criterion(made({"A": "No", "B": "Yes"}, "A")).present_means == 0


def test_known_painters_draw_at_least_at_paper_size() -> None:
    for name, facts in settings.load().painters.items():
        size = facts.sizes.get("square")
        if facts.prompt_group and size and size[-1:].isdigit() and ":" not in size:
            shorter = min(map(int, size.replace("*", "x").split("x")))
            # Some services take an aspect with the same sign.
            assert shorter >= 1024 or shorter < 10, name
