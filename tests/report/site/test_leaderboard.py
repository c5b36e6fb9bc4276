"""The papers' figures beside one's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from limner import exams
from limner.exams import SHIPPED, paper
from limner.exams.paper import rules
from limner.report.site.leaderboard import published

TAGS = {
    "genexam": {"subject": ["Computer_Science", "Music"], "difficulty": ["easy", "medium", "hard"]},
    "mmmg": {"level": ["preschool", "primaryschool", "secondaryschool", "highschool", "undergraduate", "PhD"]},
    "worldgenbench": {"domain": ["humanities", "nature"], "continent": ["Africa"], "discipline": ["Chemistry"]},
    "fepbench": {"regime": ["free", "structured"]},
    "aibench": {"venue": ["x"]},
}


def one(kind: str, model: str, tag: str = "", value: str = "", board: str = "") -> dict[str, float]:
    rows = [
        row
        for row in published(kind, TAGS[kind])
        if (row["model"], row["tag"], row["value"], row.get("board", "")) == (model, tag, value, board)
    ]
    assert len(rows) == 1
    return dict(rows[0]["scores"])


def test_published_values_are_converted_to_exam_scales() -> None:
    assert one("genexam", "Nano Banana Pro") == {"strict": 70.2, "relaxed": 93.0}
    assert one("genexam", "Nano Banana Pro", "subject", "Computer_Science") == {"strict": 65.7, "relaxed": 91.7}
    assert one("genexam", "Nano Banana Pro", board="2026-05-27") == {"strict": 72.7, "relaxed": 93.7}
    assert one("genexam", "GPT-Image-2", "subject", "Computer_Science", "2026-05-27") == {
        "strict": 73.5,
        "relaxed": 93.3,
    }
    assert one("genexam", "Seedream 5.0 Pro", board="2026-09-26") == {"strict": 54.3, "relaxed": 90.0}
    assert one("mmmg", "LlamaGen") == {"mmmg_release_avg": 0.0302}
    assert one("mmmg", "LlamaGen", "level", "primaryschool") == {"mmmg_release": 0.0377}
    assert one("worldgenbench", "FLUX.1-dev", "continent", "Africa") == {"checklist": 8.43}
    assert one("fepbench", "GPT Image 2", "regime", "free") == {"if": 0.663, "re": 0.334, "sp": 0.716}
    assert one("fepbench", "GPT Image 2")["if_layout"] == 0.886


def test_scores_of_two_instruments_share_one_row() -> None:
    scores = one("aibench", "Seedream 4.5")
    assert scores.keys() == {"overall", "component", "topology", "phase", "semantics", "aesthetics"}


@pytest.mark.parametrize("kind", SHIPPED)
def test_every_rule_matches_rows_and_names_scores_of_exam(kind: str) -> None:
    protocol = exams.kind(kind).protocol
    tops = {score.name: score.top for score in protocol.scored}
    rows = published(kind, TAGS[kind])
    named = {score for row in rows for score in row["scores"]}
    known = rules(kind).scores
    assert named == {score for rule in known for score in rule.metrics.values()}
    assert {(rule.tag or "") for rule in known} == {row["tag"] for row in rows}
    assert all(0 <= value <= tops[score] for row in rows for score, value in row["scores"].items())


def test_unknown_category_and_exam_without_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(row["tag"] != "subject" for row in published("genexam", {"subject": ["Alchemy"]}))
    monkeypatch.setattr(paper, "kind", lambda name: replace(exams.kind("genexam"), paper=None))
    assert published("genexam", TAGS["genexam"]) == []
