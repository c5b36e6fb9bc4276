"""What baselines ask and how their replies are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Picture, Prompts, Text, Unreadable
from limner.core.errors import UsageError
from limner.judges.baselines import BASELINES, SHIPPED, find_baseline, read_choice, read_score, read_wiscore
from limner.report.paper import find

RATING = st.integers(0, 2)


@pytest.mark.parametrize(
    ("ratings", "value"),
    [((2, 2, 2), 1.0), ((0, 0, 0), 0.0), ((2, 0, 0), 0.7), ((0, 2, 0), 0.2), ((0, 0, 2), 0.1), ((1, 2, 0), 0.55)],
)
def test_wiscore_matches_hand_computed_values(ratings: tuple[int, int, int], value: float) -> None:
    """(0.7 consistency + 0.2 realism + 0.1 aesthetic quality) / 2, as WISE defines it."""
    body = dict(zip(("consistency", "realism", "aesthetic_quality"), ratings, strict=True))
    assert read_wiscore(json.dumps(body)) == {"wiscore": pytest.approx(value), **body}


@given(RATING, RATING, RATING)
def test_wiscore_lies_in_unit_interval_and_is_monotonic(a: int, b: int, c: int) -> None:
    def of(*ratings: int) -> float:
        return read_wiscore(json.dumps(dict(zip(("consistency", "realism", "aesthetic_quality"), ratings))))["wiscore"]  # noqa: B905

    assert 0 <= of(a, b, c) <= 1
    assert of(min(a + 1, 2), b, c) >= of(a, b, c)


@pytest.mark.parametrize(
    ("read", "reply", "message"),
    [
        (read_score, '{"rating": 11}', '"rating" must be a number from 0 to 10'),
        (read_score, '{"rating": true}', '"rating" must be'),
        (read_score, '{"rating": "7"}', '"rating" must be'),
        (read_score, "seven", "no JSON object"),
        (read_wiscore, '{"consistency": 1, "realism": 1}', '"aesthetic_quality" must be a number from 0 to 2'),
        (read_wiscore, '{"consistency": 1.5, "realism": 1, "aesthetic_quality": 1}', "whole number"),
        (read_choice, '{"choice": "A"}', '"choice" must be'),
        (read_choice, "{}", '"choice" must be'),
    ],
)
def test_replies_that_break_contract_are_unreadable(read: object, reply: str, message: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(reply)  # type: ignore[operator]
    assert message in str(caught.value)


@pytest.mark.parametrize("name", BASELINES)
def test_prompt_shows_request_and_drawings(name: str) -> None:
    baseline = find_baseline(name)
    shown = baseline.shown(Prompts(SHIPPED), "Draw a {{cell}}.", *["a" * 64, "b" * 64][: baseline.pictures])
    assert isinstance(shown[0], Text)
    assert "Draw a {{cell}}." in shown[0].text
    assert [part.sha256[0] for part in shown[1:] if isinstance(part, Picture)] == ["a", "b"][: baseline.pictures]
    example = shown[0].text.rpartition("\n\n")[2]
    assert baseline.parse(example), "the example in the prompt keeps the contract"


def test_unknown_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match="choose one of score, looks, arena, wiscore"):
        find_baseline("elo")


def test_looks_are_asked_without_content_and_fill_the_paper_column() -> None:
    looks = find_baseline("looks")
    assert looks.parse('{"reason": "neat", "rating": 6.5}') == {"vlm-looks": 6.5}
    (text,) = (part.text for part in looks.shown(Prompts(SHIPPED), "A tree") if isinstance(part, Text))
    assert "A tree" in text
    assert "Whether its content is right or complete does not count." in text
    table = find("aibench:table2")
    rated = [name for part in table.columns for figure in part.figures for name in figure.rated or ()]
    assert "vlm-looks" in rated
    assert "vlm-score" not in rated
