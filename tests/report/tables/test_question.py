"""One question for a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from limner.report.tables.question import print_question


def body(**fields: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "exam": "exam",
        "id": "q",
        "prompt": "Draw a [red] thing.",
        "tags": {"subject": "Art"},
        "reference": None,
        "reference_path": None,
        "inputs": [],
        "input_paths": [],
        "criteria": [{"id": "point/1", "text": "Is it [red]?", "kind": "point", "top": 1, "weight": 0.25}],
        "drawings": [],
        "markings": [],
    }
    return plain | fields


def drawing(**fields: Any) -> dict[str, Any]:
    return {
        "painter": "mine",
        "image": None,
        "path": None,
        "width": None,
        "height": None,
        "fault": None,
        "detail": None,
    } | fields


def marking(**fields: Any) -> dict[str, Any]:
    return {
        "painter": "mine",
        "evaluator": "judge",
        "status": "done",
        "detail": None,
        "scores": {},
        "marks": [],
    } | fields


def printed(capsys: pytest.CaptureFixture[str], **fields: Any) -> str:
    print_question(body(**fields))
    return capsys.readouterr().out


def test_question_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys)
    assert "q · exam" in out
    assert "Draw a [red] thing." in out
    assert "subject: Art" in out
    assert "reference image: absent" in out
    assert "reference image: image abcdefabcdef" in printed(capsys, reference="abcdef" * 10)
    assert "reference image: /ab.png" in printed(capsys, reference="abcdef" * 10, reference_path="/ab.png")
    both = printed(capsys, inputs=["abcdef" * 10, None], input_paths=["/in.png", None])
    assert "input picture: /in.png\n" in both
    assert "input picture: absent\n" in both


def test_drawings_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    made = drawing(image="f" * 64, width=8, height=9)
    failed = drawing(painter="[other]", fault="refusal", detail="no [way]")
    out = printed(capsys, drawings=[made, failed, drawing(painter="third"), {**made, "path": "/store/ff/ff.png"}])
    assert "drawing by mine: 8 x 9, /store/ff/ff.png" in out
    assert "drawing by mine: 8 x 9, image ffffffffffff" in out
    assert "drawing by [other]: refusal: no [way]" in out
    assert "drawing by third: imported" in out


def test_marks_are_shown_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    marks = [
        {"criterion": "point/1", "value": 1, "verdict": "answer", "reason": "it is \x1b[31m[red]"},
        {"criterion": "extra", "value": None, "verdict": "abstain", "reason": "cannot tell"},
    ]
    out = printed(capsys, markings=[marking(scores={"strict": 100.0, "relaxed": None}, marks=marks)])
    assert "mine marked by judge: strict 100" in out
    assert "relaxed" not in out
    assert "Is it [red]? (0.25)" in out
    assert "1/1" in out
    assert r"\u001b[31m[red]" in out
    assert "\x1b" not in out
    assert "abstain" in out


def test_reason_for_missing_marks_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, markings=[marking(status="unreadable", detail="no [JSON]"), marking(evaluator="other")])
    assert "mine marked by judge: unreadable no [JSON]" in out
    assert "no score known" in out
