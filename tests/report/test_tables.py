"""Tables: what a reader must know stands with the numbers, and names are shown as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import pytest

from limner.report.console import escape
from limner.report.tables import COLUMNS, notes, print_standings, standings_csv
from limner.scoring import Standing
from limner.stats import Interval

SETUP = {"judge": "judge", "variant": "release", "options": {"reference": "image"}, "templates": "abc"}
ALL = ("strict", "relaxed", "semantic", "spelling", "readability", "logic")


def standing(painter: str = "mine", value: float | None = 50.0, **fields: Any) -> Standing:
    interval = Interval(value, value, value, 4) if value is not None else Interval(None, None, None, 0)
    plain: dict[str, Any] = {
        "exam": "exam", "reading": "careful", "painter": painter, "strategy": "direct", "judge": "judge",
        "setup": SETUP, "n": 4, "expected": 4, "coverage": 1.0, "failures": {},
        "scores": dict.fromkeys(ALL, interval), "bounds": {}, "decided": {"share": 1.0, "met": 0.5},
        "pessimistic": {}, "by": {}, "cost": 0.0,
    }  # fmt: skip
    return Standing(**plain | fields)


def common(n: int, value: float) -> Mapping[str, Any]:
    number = {"value": value, "low": value, "high": value, "n": n}
    return {"n": n, "scores": dict.fromkeys(ALL, number), "bounds": {}, "decided": {"share": 1.0}}


def printed(capsys: pytest.CaptureFixture[str], *standings: Standing) -> str:
    print_standings(standings, "genexam")
    return capsys.readouterr().out


def test_nothing_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == "nothing is marked yet; `limner run` draws and marks\n"


def test_one_painter(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, standing(failures={"missing": 2}, coverage=0.5714))
    assert "exam · judge judge · reading careful" in out
    assert "50.0 [50.0, 50.0]" in printed(capsys, standing())
    assert "57%" in out
    assert "2 missing" in out
    assert "failures are left out, never zeros" in out
    assert "asked: variant release, options reference=image, templates abc" in out


def test_several_painters_are_shown_on_common_questions(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, standing("a", 50.0, common=common(3, 20.0)), standing("b", 60.0, n=3, common=common(3, 60.0)))
    assert "20.0 [20.0, 20.0]" in out
    assert "50.0" not in out
    assert "compared on the 3 questions that all painters have; alone: --painter NAME" in out


def test_no_question_in_common(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, standing("a", 50.0, common=common(0, 0.0)), standing("b", 60.0, common=common(0, 0.0)))
    assert "50.0 [50.0, 50.0]" in out
    assert "no question is common to all painters: each row stands for itself" in out


def test_ways_of_asking_have_tables_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, standing("a"), standing("b", setup={**SETUP, "variant": "paper"}), standing("c"))
    assert out.count("exam · judge judge") == 2
    first, second = out.split("asked: variant release")
    assert "│ a " in first
    assert "│ c " in first
    assert "│ b " not in first
    assert "│ b " in second
    assert "asked: variant paper" in second


def test_what_could_not_be_decided_is_shown_as_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    found = standing(value=None, bounds={"strict": (0.0, 75.0)}, decided={"share": 0.4, "met": 0.9})
    out = printed(capsys, found)
    assert "0.0 … 75.0" in out
    assert "40%" in out
    assert "90%" in out
    assert "nothing is known of relaxed, semantic, spelling, readability, logic: this judge decides none of it" in out
    assert "least … most shows what it could be" in out
    assert "bootstrap" not in out


def test_a_score_that_only_some_painters_have(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, standing("a"), standing("b", None))
    (row,) = [line for line in out.splitlines() if line.startswith("│ b ")]
    assert row.count("–") == len(ALL)
    assert "nothing is known" not in out


@pytest.mark.parametrize(("width", "scores"), [(100, ALL[:2]), (160, ALL)])
def test_a_narrow_screen_gets_the_leading_scores(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, scores: tuple[str, ...]
) -> None:
    monkeypatch.setattr("limner.report.console.PLAIN_WIDTH", width)
    out = printed(capsys, standing())
    assert [name for name in ALL if f" {name} " in out] == list(scores)
    assert ("more scores on a wider screen, or with --format csv" in out) == (scores != ALL)
    assert max(map(len, out.splitlines())) <= width
    assert out.count("50.0 [50.0, 50.0]") == 2


def test_bounds_on_common_questions(capsys: pytest.CaptureFixture[str]) -> None:
    blank = {"value": None, "low": None, "high": None, "n": 0}
    shared = {"n": 2, "scores": {"strict": blank}, "bounds": {"strict": {"low": 5.0, "high": 25.0}}, "decided": {}}
    rows = [standing(name, None, bounds={"strict": (0.0, 75.0)}, common=shared) for name in ("a", "b")]
    assert printed(capsys, *rows).count("5.0 … 25.0") == 2


def test_a_breakdown_says_when_it_covers_more_than_the_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    number = {"value": 10.0, "low": 10.0, "high": 10.0, "n": 4}
    by = {"level": {"easy": {"n": 4, "scores": {"strict": number}, "decided": {}}}}
    out = printed(capsys, standing("a", by=by, common=common(3, 20.0)), standing("b", common=common(3, 20.0)))
    assert "a by level · all 4 questions it has a score for" in out
    alone = printed(capsys, standing("a", by=by))
    assert "a by level" in alone
    assert "it has a score for" not in alone


def test_names_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Square brackets in a name are no markup, and escape sequences do not reach the terminal."""
    number = {"value": 10.0, "low": 10.0, "high": 10.0, "n": 4}
    by = {"[bold]": {"[red]x[/red]": {"n": 4, "scores": {"strict": number}, "decided": {}}}}
    odd = standing("folder/[v2]", judge="re[1]", exam="\x1b[31mexam", by=by, setup={**SETUP, "args": {"stop": ["[a]"]}})
    out = printed(capsys, odd)
    for name in (
        "│ folder/[v2] ",
        "folder/[v2] by [bold]",
        "re[1]",
        "[bold]",
        "[red]x[/red]",
        "stop=['[a]']",
        "\N{REPLACEMENT CHARACTER}[31mexam",
    ):
        assert name in out
    assert "\x1b" not in out


def test_a_strategy_is_named_with_its_painter(capsys: pytest.CaptureFixture[str]) -> None:
    assert "mine + rewrite" in printed(capsys, standing(strategy="rewrite"))


def test_notes_only_where_they_matter() -> None:
    assert not any("coverage" in note for note in notes([standing()]))
    assert not any("compared" in note for note in notes([standing("a", common=common(4, 1.0))]))
    assert not any("asked" in note for note in notes([standing(setup={"judge": "human"})]))


def test_csv_holds_every_number() -> None:
    number = {"value": 10.0, "low": 5.0, "high": 15.0, "n": 2}
    by = {"subject": {"Art, or not": {"n": 2, "scores": {"strict": number}}}}
    unsure = standing("b", None, bounds={"strict": (5.0, 25.0)})
    rows = list(csv.DictReader(io.StringIO(standings_csv([standing(by=by), unsure]))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 2 * len(ALL) + 1
    (part,) = [row for row in rows if row["by"]]
    assert (part["category"], part["value"], part["low"], part["high"], part["n"]) == (
        "Art, or not",
        "10.0",
        "5.0",
        "15.0",
        "2",
    )
    assert {row["value"] for row in rows if row["painter"] == "b"} == {""}
    ends = {row["score"]: (row["least"], row["most"]) for row in rows if row["painter"] == "b"}
    assert (ends["strict"], ends["relaxed"]) == (("5.0", "25.0"), ("", ""))


def test_escape() -> None:
    assert escape("plain ✓ line\n") == "plain ✓ line\n"
    assert escape("[b]\x00\x07\x9b") == "\\[b]" + "\N{REPLACEMENT CHARACTER}" * 3
