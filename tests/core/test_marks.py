"""Marks and asks, summaries of protocols, and panels that vote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from limner.core.asks import Ask, Reply, Unreadable, Variant, list_schema, object_schema, only_reply, text_in
from limner.core.exam import Question
from limner.core.marks import Criterion, Mark, PanelFacts, Rule, combine_marks, count_divided, fill, values
from limner.core.protocol import Evidence, Protocol, Reading, Row

TEXT = st.text(max_size=20)
MARKS = st.one_of(
    st.builds(Mark, TEXT, st.integers(0, 5), TEXT, TEXT),
    st.builds(Mark.abstain, TEXT, TEXT, TEXT),
    st.builds(Mark.unread, TEXT, TEXT, TEXT),
)


@pytest.mark.parametrize(("value", "verdict"), [(None, "answer"), (1, "abstain"), (0, "unread")])
def test_only_answers_have_values(value: int | None, verdict: str) -> None:
    with pytest.raises(ValueError, match="mark point/1: only an answer has a value"):
        Mark("point/1", value, verdict=verdict)  # type: ignore[arg-type]


@given(MARKS)
def test_marks_round_trip_through_json(mark: Mark) -> None:
    assert Mark.from_json(mark.to_json()) == mark


def test_values_omit_undecided_marks() -> None:
    assert values([Mark("a", 0), Mark.abstain("b", "why"), Mark.unread("c", "why"), Mark("d", 2)]) == {"a": 0, "d": 2}


@given(st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(0, 4)), max_size=8), st.booleans())
def test_filling_sets_undecided_marks_and_keeps_answers(given_: list[tuple[int, int | None]], best: bool) -> None:
    criteria = [Criterion(f"c{n}", "?", "kind", top) for n, (top, _) in enumerate(given_)]
    marks = [
        Mark.abstain(f"c{n}", "why") if value is None else Mark(f"c{n}", min(value, top))
        for n, (top, value) in enumerate(given_)
    ]
    filled = fill(marks, criteria, best)
    assert [mark.criterion for mark in filled] == [criterion.id for criterion in criteria]
    for mark, old, criterion in zip(filled, marks, criteria, strict=True):
        assert mark.value == (old.value if old.value is not None else criterion.top if best else 0)


def test_exactly_one_reply_per_ask_is_required() -> None:
    replies = [Reply("ocr", "words"), Reply("mark", "yes")]
    assert only_reply(replies, {"mark"}).text == "yes"
    for asks, count in (({"caption"}, 0), ({"mark", "ocr"}, 2)):
        with pytest.raises(Unreadable, match=f"expected one reply, not {count}"):
            only_reply(replies, asks)


def test_schemas_require_every_field_and_forbid_others() -> None:
    words = {"type": "string"}
    shape = {"type": "object", "properties": {"a": words}, "required": ["a"], "additionalProperties": False}
    assert object_schema({"a": words}) == shape
    assert list_schema({"a": words}) == {"type": "array", "items": shape}


def test_reason_that_is_not_text_is_read_as_empty() -> None:
    assert [text_in(entry, "reason") for entry in ({"reason": "so"}, {"reason": 3}, {})] == ["so", "", ""]


class Plain(BaseModel):
    pass


class Counting(Protocol[Plain]):
    """Scores that average over criteria rather than drawings, and one derived from another."""

    scored = ()
    variants = ("plain",)

    def criteria(self, question: Question[Plain]) -> list[Criterion]:
        return []

    def asks(self, question: Question[Plain], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        return []

    def templates(self, variant: Variant) -> tuple[str, ...]:
        return ()

    def marks(self, question: Question[Plain], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        return []

    def scores(self, question: Question[Plain], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        return {}


class Micro(Counting):
    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        answered = [mark.value for mark in row.marks if mark.value is not None]
        return {"share": (float(sum(answered)), float(len(answered)))}

    def derive(self, means: Mapping[str, float]) -> dict[str, float]:
        return {**means, "lacking": 1 - means["share"]}


def row(*marks: int, **scores: float | None) -> Row:
    question = Question("q", "Draw.", Plain())
    return Row(question, tuple(Mark(str(n), mark) for n, mark in enumerate(marks)), scores)


def test_default_summary_averages_rows_with_score() -> None:
    rows = [row(a=1.0, b=None), row(a=0.0, b=4.0), row(a=0.5, c=None)]
    assert Counting().summary(rows) == {"a": 0.5, "b": 4.0}


def test_summary_over_criteria_is_exact() -> None:
    found = Micro().summary([row(1), row(0, 0, 0), row()])
    assert found == {"share": 0.25, "lacking": 0.75}


def _one(rule: Rule, *votes: int | None, weights: list[float] | None = None) -> Mark:
    given = {f"m{n}": [Mark("x", v) if v is not None else Mark.abstain("x", "")] for n, v in enumerate(votes)}
    (found,) = combine_marks(given, rule, weights or [1.0] * len(votes), ["x"])
    return found


def test_majority_decides_and_reason_lists_votes() -> None:
    found = _one("majority", 1, 0, 1)
    assert (found.value, found.source, found.reason) == (1, "panel", "m0 1, m1 0, m2 1")


def test_tie_gives_abstention() -> None:
    found = _one("majority", 1, 0)
    assert (found.value, found.verdict, found.reason) == (None, "abstain", "m0 1, m1 0")
    assert _one("majority", 0, 1, 2).verdict == "abstain"


def test_median_takes_lower_middle_value() -> None:
    assert _one("median", 0, 2, 1).value == 1
    assert _one("median", 0, 2).value == 0
    assert _one("median", 2, 2, 0, 0, 1).value == 1


def test_weights_decide_vote() -> None:
    assert _one("weights", 1, 0, 0, weights=[3.0, 1.0, 1.0]).value == 1
    assert _one("weights", 1, 0, 0, weights=[1.5, 1.0, 1.0]).value == 0


def test_abstainers_do_not_vote_and_half_must_decide() -> None:
    assert _one("majority", 1, None).value == 1
    assert _one("majority", 1, None, None).verdict == "abstain"
    assert _one("majority", None, None).reason == "m0 abstain, m1 abstain"


def test_extra_criterion_of_single_panel_member_is_dropped() -> None:
    extra, plain = [Mark("x", 1), Mark("too/much", 0)], [Mark("x", 1)]
    assert [m.criterion for m in combine_marks({"a": extra, "b": plain, "c": plain}, "majority", [1] * 3, ["x"])] == [
        "x"
    ]
    both = combine_marks({"a": extra, "b": extra, "c": plain}, "majority", [1] * 3, ["x"])
    assert [m.criterion for m in both] == ["x", "too/much"]


def test_divided_marks_are_counted() -> None:
    marks = [
        _one("majority", 1, 0, 1),
        _one("majority", 1, 1, 1),
        _one("majority", 1, None, None),
        _one("median", 0, 2),
    ]
    assert count_divided(marks) == (2, 3)


def test_votes_round_trip_with_any_member_names() -> None:
    """Names with commas and figures in them would be votes to whoever reads the reason."""
    given = {"replay/a, 7": [Mark("x", 1)], "b 0, c": [Mark("x", 1)], "d": [Mark.unread("x", "")], "e": []}
    (found,) = combine_marks(given, "majority", [1.0] * 4, ["x"])
    again = Mark.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert found.votes == {"replay/a, 7": 1, "b 0, c": 1, "d": "unread", "e": "nothing"}
    assert count_divided([again]) == (0, 1)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"members": ["ocr"]}, "at least 2"),
        ({"members": ["ocr", "ocr"]}, "named twice"),
        ({"members": ["ocr", "panel/x"]}, "cannot be a member of a panel"),
        ({"members": ["a/b", "c/d"], "rule": "weights"}, "weights are used with"),
        ({"members": ["a/b", "c/d"], "weights": [1, 2]}, "weights are used with"),
        ({"members": ["a/b", "c/d"], "rule": "weights", "weights": [1]}, "one weight above 0"),
        ({"members": ["a/b", "c/d"], "rule": "weights", "weights": "luck"}, "not 'luck'"),
        ({"members": ["a/b", "c/d"], "rule": "lottery"}, "majority"),
    ],
)
def test_inconsistent_panel_is_rejected(body: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PanelFacts.model_validate(body)
